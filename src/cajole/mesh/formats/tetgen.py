"""TetGen: a pair of files, name.node with the vertices and name.ele with the tets."""

from __future__ import annotations

from pathlib import Path

from cajole.errors import FileError
from cajole.mesh.formats.text_lines import (
    TextLine,
    convert_to_zero_base,
    find_index_base,
    parse_counted_block,
    parse_float_rows,
    parse_integer_rows,
    read_text_lines,
)
from cajole.mesh.tet import MeshTet


def read_tetgen(path: Path) -> MeshTet:
    """Read both files, whichever is named. Raises FileError with the line where one is wrong."""
    nodes = _read_rows(path.with_suffix(".node"), "vertices")
    vertices = parse_float_rows(nodes, 1, 3, "a vertex: its number and x y z")
    start = find_index_base(parse_integer_rows(nodes, 0, 1, "a vertex number"), nodes, "vertices")
    rows = _read_rows(path.with_suffix(".ele"), "tets")
    tets = parse_integer_rows(rows, 1, 4, "a tet: its number and four vertices")
    return MeshTet(vertices, convert_to_zero_base(tets, rows, start, len(vertices)))


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


def _read_rows(path: Path, what: str) -> list[TextLine]:
    if not path.exists():
        raise FileError(f"{path} does not exist; a TetGen mesh is a pair of files, name.node and name.ele")
    lines = read_text_lines(path)
    if not lines:
        raise FileError(f"{path} holds nothing but comments; expected the number of {what}")
    return parse_counted_block(lines, what, lines[-1])[1]
