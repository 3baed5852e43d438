"""Wavefront .obj: vertices and faces, or lines if there are no faces; all other statements are skipped."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from cajole.errors import FileError
from cajole.mesh.base import MeshTri
from cajole.mesh.formats.text_lines import TextLine, parse_float_rows, read_text_lines
from cajole.mesh.line import MeshLine
from cajole.mesh.repair import drop_degenerate_triangles


def read_obj(path: Path) -> MeshTri | MeshLine:
    """Read vertices and faces; polygons become triangle fans. Without faces, polylines are read.

    Raises FileError with the line of the error.
    """
    rows: list[TextLine] = []
    triangles: list[tuple[int, int, int]] = []
    segments: list[tuple[int, int]] = []
    for line in _join_continued_lines(read_text_lines(path)):
        kind, _, _ = line.text.partition(" ")
        if kind == "v":
            rows.append(line)
        elif kind == "f":
            ring = [_parse_vertex_index(word, len(rows), line) for word in line.text.split()[1:]]
            if len(ring) < 3:
                raise line.build_error(f"a face needs at least three vertices, found {line.quote()}")
            triangles += [(ring[0], one, two) for one, two in pairwise(ring[1:])]
        elif kind == "l":
            segments += pairwise(_parse_vertex_index(word, len(rows), line) for word in line.text.split()[1:])
    if not rows or not (triangles or segments):
        raise FileError(
            f"{path} holds {len(rows)} vertices and {len(triangles)} faces: it needs lines with 'v' and 'f'"
        )
    vertices = parse_float_rows(rows, 1, 3, "v x y z")
    elements = np.array(triangles or segments, dtype=np.int64)
    if elements.max() >= len(rows):
        raise FileError(
            f"{path}: a face or line names vertex {elements.max() + 1}, but the file holds {len(rows)}: is it cut off?"
        )
    return drop_degenerate_triangles(vertices, elements) if triangles else MeshLine(vertices, elements)


def write_obj(mesh: MeshTri | MeshLine, path: Path) -> None:
    """Write vertices with all their digits, and faces or lines."""
    kind = "l" if isinstance(mesh, MeshLine) else "f"
    with path.open("w", encoding="ascii") as out:
        out.writelines(f"v {x!r} {y!r} {z!r}\n" for x, y, z in mesh.vertices.tolist())
        out.writelines(f"{kind} {' '.join(map(str, row))}\n" for row in (mesh.elements + 1).tolist())


def _join_continued_lines(lines: list[TextLine]) -> list[TextLine]:
    """`lines` with those that end in a backslash joined to the next, and tabs replaced by spaces."""
    joined: list[TextLine] = []
    start: TextLine | None = None
    for line in lines:
        text = line.text.replace("\t", " ")
        whole = line._replace(text=text) if start is None else start._replace(text=f"{start.text} {text}")
        start = whole._replace(text=whole.text[:-1]) if text.endswith("\\") else None
        if start is None:
            joined.append(whole)
    if start is not None:
        raise start.build_error("the last line asks for a continuation: the file seems cut off")
    return joined


def _parse_vertex_index(word: str, count: int, line: TextLine) -> int:
    """The index, from 0, of `v`, `v/vt`, `v//vn` or `v/vt/vn`; negative numbers count back from the last vertex."""
    try:
        number = int(word.partition("/")[0])
    except ValueError:
        raise line.build_error(f"expected vertex numbers such as 3 or 3/1/2, found {line.quote(word)}") from None
    index = number - 1 if number > 0 else count + number
    if number == 0 or index < 0 or index >= 2**62:
        raise line.build_error(
            f"there is no vertex {number}: numbers start at 1, or at -1 for the last of {count} so far"
        )
    return index
