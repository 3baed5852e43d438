"""Helpers of the animation readers: errors of damaged files, units and axes, and mesh arguments."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from cajole.animation.animation import Animation
from cajole.animation.frame_blocks import iter_frame_blocks
from cajole.errors import CajoleError, FileError, InputError
from cajole.mesh import MeshLine, MeshTet, MeshTri, read_mesh
from cajole.mesh.files import convert_mesh_to_z_up_metres, convert_points_to_z_up_metres, is_z_up_metres
from cajole.parsers.child_process import summarise_error
from cajole.parsers.frame_rates import DEFAULT_FPS as DEFAULT_FPS
from cajole.parsers.frame_rates import estimate_frame_rate as estimate_frame_rate
from cajole.storage import READ_ERRORS, build_read_error, open_regular_file

AnyMesh = MeshTet | MeshTri | MeshLine


@contextlib.contextmanager
def wrap_read_errors(path: Path) -> Iterator[None]:
    """Convert every error of a damaged or missing file inside the block to a FileError with the name of the file.

    NumPy warnings are off inside: later checks find values that are not finite, and name their position.
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
        raise build_read_error(path, reason) from reason
    except READ_ERRORS as reason:
        kind = f"it is damaged or not a {path.suffix} file ({summarise_error(reason)})"
        raise FileError(f"cannot read {path}: {kind}; export it again") from reason


def require_regular_file(path: Path) -> int:
    """The size of a regular file in bytes. Raises FileError if there is none."""
    with open_regular_file(path) as stream:
        return os.fstat(stream.fileno()).st_size


def resolve_mesh(mesh: AnyMesh | str | os.PathLike[str] | None) -> AnyMesh | None:
    """`mesh`, or the mesh in the file of that name. Raises InputError for other types."""
    if mesh is None or isinstance(mesh, MeshTet | MeshTri | MeshLine):
        return mesh
    if isinstance(mesh, str | os.PathLike):
        return read_mesh(mesh)
    raise InputError(
        f"mesh must be a MeshTet, a MeshTri, a MeshLine or the path of a mesh file, not {type(mesh).__name__}"
    )


def apply_scale_and_up_axis(animation: Animation, scale: float, up: str) -> Animation:
    """Convert an animation, mesh included, to metres with z up.

    scale: metres per unit of the file; up: its upward axis, "z" or "y".
    """
    if is_z_up_metres(scale, up):
        return animation
    positions = np.empty_like(animation.positions, subok=False)
    for block in iter_frame_blocks(animation.frames, animation.n):
        positions[block] = convert_points_to_z_up_metres(
            np.asarray(animation.positions[block], dtype=np.float64), scale, up
        )
    return replace(animation, mesh=convert_mesh_to_z_up_metres(animation.mesh, scale=scale, up=up), positions=positions)
