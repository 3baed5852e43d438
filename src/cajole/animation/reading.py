"""What every reader needs: one answer to damaged files, and the mesh that a cache belongs to."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from cajole.animation.animation import Animation
from cajole.animation.blocks import blocks
from cajole.errors import CajoleError, FileError, InputError
from cajole.mesh import MeshLine, MeshTet, MeshTri, read_mesh
from cajole.mesh.files import is_upright, placed, upright
from cajole.parsers.child import first_line
from cajole.parsers.times import DEFAULT_FPS as DEFAULT_FPS
from cajole.parsers.times import rate_of as rate_of
from cajole.storage import READ_ERRORS, cannot_read, open_regular

AnyMesh = MeshTet | MeshTri | MeshLine


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
            f"cannot read {path}: it is damaged or not a {path.suffix} file ({first_line(reason)}); export it again"
        ) from reason


def file_size(path: Path) -> int:
    """The bytes of a regular file. Raises FileError where there is none."""
    with open_regular(path) as stream:
        return os.fstat(stream.fileno()).st_size


def mesh_given(mesh: AnyMesh | str | os.PathLike[str] | None) -> AnyMesh | None:
    """A mesh, or the mesh in the file of that name. Raises InputError for anything else."""
    if mesh is None or isinstance(mesh, MeshTet | MeshTri | MeshLine):
        return mesh
    if isinstance(mesh, str | os.PathLike):
        return read_mesh(mesh)
    raise InputError(
        f"mesh must be a MeshTet, a MeshTri, a MeshLine or the path of a mesh file, not {type(mesh).__name__}"
    )


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
