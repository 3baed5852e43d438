"""What every reader needs: one answer to damaged files, tidy rates, and the mesh that a cache belongs to."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.animation.animation import MOST_FRAMES, Animation
from cajole.animation.blocks import blocks
from cajole.errors import CajoleError, FileError, InputError
from cajole.mesh import MeshTet, MeshTri, read_mesh
from cajole.mesh.files import is_upright, placed, upright
from cajole.storage import READ_ERRORS, cannot_read, open_regular

AnyMesh = MeshTet | MeshTri

# assumed where a file does not say: the rate that simulations here use
DEFAULT_FPS = 60.0
# single precision times leave this much doubt about a rate that is a whole number or a broadcast rate
_RATE_TOLERANCE = 1e-4
# times that stray from an even spacing by more than this share of a frame are not one rate
_UNEVEN = 0.05
# more new frames than this for each stored one means that a time in the file is damaged
_MOST_BETWEEN = 1000


@contextlib.contextmanager
def guarded(path: Path) -> Iterator[None]:
    """Turn whatever a damaged or missing file raises inside the block into FileError with the file's name.

    NumPy's warnings are off inside: numbers that are none are found by the checks, which say where they are.
    """
    try:
        with np.errstate(all="ignore"):
            yield
    except FileError:
        raise
    except InputError as reason:
        raise FileError(f"{path}: {reason}") from reason
    except CajoleError:
        raise
    except OSError as reason:
        raise cannot_read(path, reason) from reason
    except READ_ERRORS as reason:
        raise FileError(
            f"cannot read {path}: it is damaged or not a {path.suffix} animation ({said(reason)}); export it again"
        ) from reason


def said(reason: BaseException) -> str:
    """The reason in one line: USD's messages speak of its own source files, and may hold bytes that are no text."""
    try:
        text = str(reason).strip()
    except UnicodeDecodeError:
        text = ""
    quoted = re.search(r" : '(.*?)'\s*$", text, re.MULTILINE)
    return (quoted[1] if quoted else text.splitlines()[0] if text else type(reason).__name__)[:200]


def file_size(path: Path) -> int:
    """The bytes of a regular file. Raises FileError where there is none."""
    with open_regular(path) as stream:
        return os.fstat(stream.fileno()).st_size


def tidy_rate(fps: float) -> float:
    """`fps` rounded to the whole or broadcast (1000/1001 of whole) rate it is within single precision of, if any."""
    for unit in (1.0, 1000 / 1001):
        near = round(fps / unit) * unit
        if abs(near - fps) < _RATE_TOLERANCE * min(fps, 1.0):
            return near
    return fps


def rate_of(times: NDArray[np.floating[Any]], path: Path) -> float | None:
    """The frames per second of rising sample times [s], or None where they are not evenly spaced (or only one)."""
    if not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise FileError(
            f"{path}: its times do not rise from frame to frame; pass fps= to ignore them, or export it again"
        )
    if len(times) < 2:
        return None
    step = float(times[-1] - times[0]) / (len(times) - 1)
    uneven = np.abs(times - (times[0] + step * np.arange(len(times)))).max() > _UNEVEN * step
    return None if uneven else tidy_rate(1 / step)


def even_times(times: NDArray[np.floating[Any]], fps: float, path: Path) -> NDArray[np.float64]:
    """Times at `fps` from the first of `times` to the last [s]. Raises FileError where they would be absurdly many."""
    frames = float(times[-1] - times[0]) * fps + 1
    if not frames <= min(MOST_FRAMES, _MOST_BETWEEN * len(times)):
        raise FileError(f"{path}: {len(times)} samples spread over {frames:.3g} frames; its times are damaged")
    return times[0] + np.arange(round(frames)) / fps


def mesh_given(mesh: AnyMesh | str | os.PathLike[str] | None) -> AnyMesh | None:
    """A mesh, or the mesh in the file of that name. Raises InputError for anything else."""
    if mesh is None or isinstance(mesh, MeshTet | MeshTri):
        return mesh
    if isinstance(mesh, str | os.PathLike):
        return read_mesh(mesh)
    raise InputError(f"mesh must be a MeshTet, a MeshTri or the path of a mesh file, not {type(mesh).__name__}")


def stood_up(animation: Animation, scale: float, up: str) -> Animation:
    """What a file held that does not say its unit or its axes, in metres and with z up, its mesh included.

    scale: metres in the file's unit; up: the axis that points up in it, "z" or "y".
    """
    if is_upright(scale, up):
        return animation
    positions = np.empty_like(animation.positions, subok=False)
    for block in blocks(animation.frames, animation.n):
        positions[block] = upright(np.asarray(animation.positions[block], dtype=np.float64), scale, up)
    return replace(animation, mesh=placed(animation.mesh, scale=scale, up=up), positions=positions)
