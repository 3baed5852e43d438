"""Formats left to meshio: .vtk .vtu .mesh, and writing .msh."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cajole.arrays import Array, IndexArray
from cajole.errors import FileError
from cajole.mesh.formats.text import file_bytes
from cajole.mesh.repair import repaired
from cajole.mesh.tet import MeshTet
from cajole.mesh.tri import MeshTri
from cajole.parsers.cells import CELLS, parse_cells, quiet_meshio
from cajole.parsers.child import run_in_child

# meshio's names; of those it knows for a suffix, the one people mean
FORMATS = {".msh": "gmsh", ".vtk": "vtk", ".vtu": "vtu", ".mesh": "medit"}


def read_foreign(path: Path) -> MeshTet | MeshTri:
    """Read tets, or triangles where there are none; other cells are noted. Raises FileError for anything else."""
    file_bytes(path)
    found = run_in_child(parse_cells, path, FORMATS[path.suffix.lower()])
    cells = {name.removeprefix(CELLS): rows for name, rows in found.items() if name.startswith(CELLS)}
    return mesh_of_cells(path, found["points"], cells)


def mesh_of_cells(path: Path, points: Array, cells: Mapping[str, IndexArray]) -> MeshTet | MeshTri:
    """The tets among cells by name, else the triangles; others are noted. Raises FileError where there is neither."""
    for kind in ("tetra", "triangle"):
        if kind in cells:
            mesh = MeshTet(points, cells[kind]) if kind == "tetra" else repaired(points, cells[kind])
            others = [f"{len(rows)} {name}" for name, rows in cells.items() if name != kind]
            return mesh.noted(f"other cells were passed over: {', '.join(others)}") if others else mesh
    found = ", ".join(cells) or "no cells at all"
    raise FileError(f"{path} holds no tets or triangles, only {found}; export it with linear tets or triangles")


def write_foreign(mesh: MeshTet | MeshTri, path: Path) -> None:
    """Write tets or triangles."""
    import meshio

    kind = "tetra" if isinstance(mesh, MeshTet) else "triangle"
    with quiet_meshio(f"cannot write {path.suffix}"):
        content = meshio.Mesh(mesh.vertices.copy(), [(kind, mesh.elements.copy())])
        meshio.write(path, content, file_format=FORMATS[path.suffix.lower()])
