"""TetGen's pair of files: name.node with the vertices, name.ele with the tets."""

from __future__ import annotations

from pathlib import Path

from cajole.errors import FileError
from cajole.mesh.formats.text import Line, counted, first_index, float_rows, text_lines, whole_rows, within
from cajole.mesh.tet import MeshTet


def read_tetgen(path: Path) -> MeshTet:
    """Read both files, whichever is named. Raises FileError with the line where one is wrong."""
    nodes = _rows(path.with_suffix(".node"), "vertices")
    vertices = float_rows(nodes, 1, 3, "a vertex: its number and x y z")
    start = first_index(whole_rows(nodes, 0, 1, "a vertex number"), nodes, "vertices")
    rows = _rows(path.with_suffix(".ele"), "tets")
    tets = whole_rows(rows, 1, 4, "a tet: its number and four vertices")
    return MeshTet(vertices, within(tets, rows, start, len(vertices)))


def write_nodes(mesh: MeshTet, path: Path) -> None:
    """Write the vertices, numbered from 1, with all their digits."""
    with path.open("w", encoding="ascii") as out:
        out.write(f"{len(mesh.vertices)} 3 0 0\n")
        out.writelines(f"{i} {x!r} {y!r} {z!r}\n" for i, (x, y, z) in enumerate(mesh.vertices.tolist(), start=1))


def write_tets(mesh: MeshTet, path: Path) -> None:
    """Write the tets, numbered from 1."""
    with path.open("w", encoding="ascii") as out:
        out.write(f"{len(mesh.tets)} 4 0\n")
        rows = enumerate((mesh.tets + 1).tolist(), start=1)
        out.writelines(f"{i} {a} {b} {c} {d}\n" for i, (a, b, c, d) in rows)


def _rows(path: Path, what: str) -> list[Line]:
    if not path.exists():
        raise FileError(f"{path} does not exist; a TetGen mesh is a pair of files, name.node and name.ele")
    lines = text_lines(path)
    if not lines:
        raise FileError(f"{path} holds nothing but comments; expected the number of {what}")
    return counted(lines, what, lines[-1])[1]
