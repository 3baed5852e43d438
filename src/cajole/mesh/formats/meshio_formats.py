"""Formats that meshio reads, .vtk .vtu .mesh, and writes, these and .msh."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cajole.arrays import Array, IndexArray
from cajole.errors import FileError
from cajole.mesh.base import MeshTri
from cajole.mesh.formats.text_lines import read_file_bytes
from cajole.mesh.repair import drop_degenerate_triangles
from cajole.mesh.tet import MeshTet
from cajole.parsers.child_process import run_in_child
from cajole.parsers.meshio_cells import CELLS_PREFIX, capture_meshio_errors, parse_cells

# meshio's format names; it knows several for some suffixes
MESHIO_FORMATS = {".msh": "gmsh", ".vtk": "vtk", ".vtu": "vtu", ".mesh": "medit"}


def read_with_meshio(path: Path) -> MeshTet | MeshTri:
    """Read tets or triangles, see `build_mesh_from_cells`, in a child process."""
    read_file_bytes(path)
    found = run_in_child(parse_cells, path, MESHIO_FORMATS[path.suffix.lower()])
    cells = {name.removeprefix(CELLS_PREFIX): rows for name, rows in found.items() if name.startswith(CELLS_PREFIX)}
    return build_mesh_from_cells(path, found["points"], cells)


def build_mesh_from_cells(path: Path, points: Array, cells: Mapping[str, IndexArray]) -> MeshTet | MeshTri:
    """The tets, or the triangles if there are no tets; other cells are listed in `notes`. Raises FileError."""
    for kind in ("tetra", "triangle"):
        if kind in cells:
            mesh = MeshTet(points, cells[kind]) if kind == "tetra" else drop_degenerate_triangles(points, cells[kind])
            others = [f"{len(rows)} {name}" for name, rows in cells.items() if name != kind]
            return mesh.with_notes(f"other cells were passed over: {', '.join(others)}") if others else mesh
    found = ", ".join(cells) or "no cells at all"
    raise FileError(f"{path} holds no tets or triangles, only {found}; export it with linear tets or triangles")


def write_with_meshio(mesh: MeshTet | MeshTri, path: Path) -> None:
    """Write tets or triangles."""
    import meshio

    kind = "tetra" if isinstance(mesh, MeshTet) else "triangle"
    with capture_meshio_errors(f"cannot write {path.suffix}"):
        content = meshio.Mesh(mesh.vertices.copy(), [(kind, mesh.elements.copy())])
        meshio.write(path, content, file_format=MESHIO_FORMATS[path.suffix.lower()])
