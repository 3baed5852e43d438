"""Formats left to meshio: .vtk .vtu .mesh, and writing .msh."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cajole.errors import FileError
from cajole.mesh.base import Floats, Indices
from cajole.mesh.formats.text import file_bytes
from cajole.mesh.repair import repaired
from cajole.mesh.tet import MeshTet
from cajole.mesh.tri import MeshTri

# meshio's names; of those it knows for a suffix, the one people mean
FORMATS = {".msh": "gmsh", ".vtk": "vtk", ".vtu": "vtu", ".mesh": "medit"}


def read_foreign(path: Path) -> MeshTet | MeshTri:
    """Read tets, or triangles where there are none; other cells are noted. Raises FileError for anything else."""
    file_bytes(path)
    import meshio

    with _quiet(f"cannot read {path} as {path.suffix}"):
        content = meshio.read(path, file_format=FORMATS[path.suffix.lower()])
        points = _points(content)
        cells = _cells(content)
    return mesh_of_cells(path, points, cells)


def mesh_of_cells(path: Path, points: Floats, cells: Mapping[str, Indices]) -> MeshTet | MeshTri:
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
    with _quiet(f"cannot write {path.suffix}"):
        content = meshio.Mesh(mesh.vertices.copy(), [(kind, mesh.elements.copy())])
        meshio.write(path, content, file_format=FORMATS[path.suffix.lower()])


def _points(content: Any) -> Floats:
    points = np.asarray(content.points, dtype=np.float64)
    if points.ndim == 2 and points.shape[1] == 2:
        points = np.column_stack([points, np.zeros(len(points))])
    return points


def _cells(content: Any) -> dict[str, Indices]:
    kinds = dict.fromkeys(block.type for block in content.cells)
    rows = {kind: [np.asarray(b.data) for b in content.cells if b.type == kind] for kind in kinds}
    return {kind: np.concatenate(blocks).astype(np.int64) for kind, blocks in rows.items() if sum(map(len, blocks)) > 0}


@contextlib.contextmanager
def _quiet(what: str) -> Iterator[None]:
    """Turn whatever meshio does about a bad file, printing and leaving Python included, into a FileError."""
    said = io.StringIO()
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            warnings.simplefilter("ignore")
            yield
    except (Exception, SystemExit) as reason:
        # damaged files surface as any exception at all in its parsers, down to IndexError and UnicodeDecodeError
        why = " ".join(said.getvalue().split()) or f"{type(reason).__name__} {reason}".strip()
        raise FileError(f"{what}: {why[:200]}; is it damaged, or its suffix wrong?") from None
