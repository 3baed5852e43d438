"""Read and write mesh files; the suffix of the path selects the format."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import numpy as np

from cajole import checks
from cajole.arrays import Array, IndexArray
from cajole.errors import FileError, InputError
from cajole.mesh.base import MeshTri
from cajole.mesh.formats import meshio_formats, msh, obj, ply, stl, tetgen, veg
from cajole.mesh.formats.veg import VegFile
from cajole.mesh.line import MeshLine
from cajole.mesh.tet import MeshTet
from cajole.storage import as_path, replace_atomically, require_not_input

ReadResult = TypeVar("ReadResult")
MeshType = TypeVar("MeshType", bound=MeshTet | MeshTri | MeshLine)

READERS: dict[str, Callable[[Path], MeshTet | MeshTri | MeshLine]] = {
    ".veg": veg.read_veg_mesh,
    ".obj": obj.read_obj,
    ".ply": ply.read_ply,
    ".stl": stl.read_stl,
    ".node": tetgen.read_tetgen,
    ".ele": tetgen.read_tetgen,
    **dict.fromkeys(meshio_formats.MESHIO_FORMATS, meshio_formats.read_with_meshio),
    ".msh": msh.read_msh,
}
TET_WRITERS: dict[str, Callable[[MeshTet, Path], None]] = {
    ".veg": veg.write_veg_mesh,
    ".node": tetgen.write_nodes,
    ".ele": tetgen.write_tets,
    **dict.fromkeys(meshio_formats.MESHIO_FORMATS, meshio_formats.write_with_meshio),
}
TRI_WRITERS: dict[str, Callable[[MeshTri, Path], None]] = {
    ".obj": obj.write_obj,
    ".ply": ply.write_ply,
    ".stl": stl.write_stl,
    **dict.fromkeys(meshio_formats.MESHIO_FORMATS, meshio_formats.write_with_meshio),
}
LINE_WRITERS: dict[str, Callable[[MeshLine, Path], None]] = {".obj": obj.write_obj}


def read_mesh(path: str | os.PathLike[str], *, scale: float = 1.0, up: str = "z") -> MeshTet | MeshTri | MeshLine:
    """Read a mesh: .veg .node .ele contain tets, .obj .ply .stl triangles, .msh .vtk .vtu .mesh either.

    An .obj with lines and without faces is a MeshLine.
    scale: metres per unit of the file, 0.001 for millimetres; up: the upward axis of the file, "z" or "y"; with "y",
    (x, y, z) becomes (x, -z, y).
    `notes` of the mesh lists unusual properties. Raises FileError, with the line if possible, for a file that is
    missing, cut off, damaged, of an unknown suffix, or without a valid mesh.
    """
    file = as_path(path)
    suffix = file.suffix.lower()
    if suffix not in READERS:
        raise FileError(f"{file}: unknown suffix {file.suffix!r}; meshes are read from {' '.join(READERS)}")
    return convert_mesh_to_z_up_metres(_read_with_file_errors(READERS[suffix], file), scale=scale, up=up)


def convert_mesh_to_z_up_metres(mesh: MeshType, *, scale: float = 1.0, up: str = "z") -> MeshType:
    """`mesh` in metres with z up, from units of `scale` metres with the upward axis `up` ("y" or "z")."""
    if is_z_up_metres(scale, up):
        return mesh
    moved = mesh.moved(convert_points_to_z_up_metres(mesh.vertices, scale, up))
    return moved.with_notes(*(note for note in mesh.notes if note not in moved.notes))  # type: ignore[return-value]


def is_z_up_metres(scale: float, up: str) -> bool:
    """True if no conversion is needed. Raises InputError for an invalid scale or axis."""
    unit, axis = checks.require_positive(scale, "scale"), checks.require_choice(up, "up", ("y", "z"))
    return unit == 1.0 and axis == "z"


def convert_points_to_z_up_metres(points: Array, scale: float, up: str) -> Array:
    """(..., 3) points in metres with z up: (x, y, z) becomes (x, -z, y) if y is up."""
    x, y, z = np.moveaxis(scale * points, -1, 0)
    return np.stack([x, -z, y] if up == "y" else [x, y, z], axis=-1)


def read_veg(path: str | os.PathLike[str]) -> VegFile:
    """Read mesh, materials per tet and named sets of a .veg file.

    Raises FileError with the line of the error, also for materials other than ENU (Young and Poisson).
    """
    return _read_with_file_errors(veg.read_veg, as_path(path))


def read_bou(path: str | os.PathLike[str]) -> IndexArray:
    """Read a .bou file of fixed vertices, counted from 1 in the file, as sorted indices from 0.

    Raises FileError for anything but numbers.
    """
    return _read_with_file_errors(veg.read_bou, as_path(path))


def write_mesh(mesh: MeshTet | MeshTri | MeshLine, path: str | os.PathLike[str]) -> None:
    """Write a mesh in the format of the suffix; .node and .ele are written as a pair, whichever is named.

    A file is replaced as a whole or not at all. Raises FileError for a suffix that cannot hold this mesh.
    """
    file = as_path(path)
    suffix = file.suffix.lower()
    if not isinstance(mesh, MeshTet | MeshTri | MeshLine):
        raise InputError(f"write_mesh needs a MeshTet, a MeshTri or a MeshLine, not {type(mesh).__name__}")
    by_kind: dict[type, Mapping[str, Callable[..., None]]]
    by_kind = {MeshTet: TET_WRITERS, MeshTri: TRI_WRITERS, MeshLine: LINE_WRITERS}
    writers = by_kind[type(mesh)]
    if suffix not in writers:
        known = " ".join(writers)
        if isinstance(mesh, MeshLine):
            why = f"{file.suffix or 'a name without suffix'} holds no lines; lines are written to {known}"
        elif isinstance(mesh, MeshTet) and suffix in TRI_WRITERS:
            why = f"{file.suffix} holds triangles, not tets; write mesh.surface, or the tets to one of {known}"
        elif isinstance(mesh, MeshTri) and suffix in TET_WRITERS:
            why = f"{file.suffix} holds tets, not triangles; write to one of {known}, or voxelise the surface first"
        else:
            kind = "tets" if isinstance(mesh, MeshTet) else "triangles"
            why = f"unknown suffix {file.suffix!r}; {kind} are written to {known}"
        raise FileError(f"{file}: {why}")
    targets = list_written_files(file)
    for target in targets:
        require_not_input(target)
    for target in targets:
        with replace_atomically(target) as temporary:
            writers[target.suffix.lower()](mesh, temporary)


def list_written_files(path: Path) -> list[Path]:
    """The files that `write_mesh` writes for a path: both of a .node and .ele pair."""
    pair = (".node", ".ele")
    return [path.with_suffix(ending) for ending in pair] if path.suffix.lower() in pair else [path]


def _read_with_file_errors(read: Callable[[Path], ReadResult], path: Path) -> ReadResult:
    """Call a reader; errors of the mesh checks become FileErrors that name the file."""
    try:
        return read(path)
    except FileError:
        raise
    except InputError as reason:
        raise FileError(f"{path}: {reason}") from None
    except MemoryError:
        raise FileError(f"{path}: there is not enough memory for what the file promises; is it damaged?") from None
