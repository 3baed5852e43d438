"""Gmsh's .msh, versions 2.2 and 4.1, as text or binary.

Read here and not by meshio, which reserves memory for the largest node number that a damaged file names.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.arrays import Array, IndexArray
from cajole.errors import FileError
from cajole.mesh.formats.foreign import mesh_of_cells
from cajole.mesh.formats.text import file_bytes
from cajole.mesh.tet import MeshTet
from cajole.mesh.tri import MeshTri

# nodes of each element type, from Gmsh's reference manual; position 0 is type 1
NODES = (2, 3, 4, 4, 8, 6, 5, 3, 6, 9, 10, 27, 18, 14, 1, 8, 20, 15, 13, 9, 10, 12, 15, 15, 21, 4, 5, 6, 20, 35, 56)
NAMES = {2: "triangle", 4: "tetra"}


class Cursor:
    """Numbers of one section, taken in order, whether they are written as text or binary."""

    def __init__(self, path: Path, name: str, body: bytes, order: str):
        self.path, self.name, self.body, self.order, self.at = path, name, body, order, 0
        self.words = body.split() if not order else []

    def take(self, kind: str, count: int) -> NDArray[Any]:
        """The next `count` numbers of a numpy kind such as i4."""
        step = np.dtype(kind).itemsize if self.order else 1
        left = (len(self.body) if self.order else len(self.words)) - self.at
        if not 0 <= count * step <= left:
            raise FileError(f"{self.path}: section ${self.name} promises more than it holds: it is damaged or cut off")
        start, self.at = self.at, self.at + count * step
        if self.order:
            raw = np.frombuffer(self.body, self.order + kind, count, start)
            return raw.astype(np.float64 if kind[0] == "f" else np.int64)
        return self._parsed(self.words[start : self.at], kind)

    def whole(self, kind: str, count: int) -> IndexArray:
        """The next `count` whole numbers."""
        return self.take(kind, count).astype(np.int64, copy=False)

    def line(self) -> int:
        """A number on a line of its own, which is text even in binary files of version 2."""
        if not self.order:
            return int(self.whole("i8", 1)[0])
        end = self.body.find(b"\n", self.at)
        start, self.at = self.at, end + 1
        return int(self._parsed([self.body[start : max(end, start)]], "i8")[0])

    def _parsed(self, words: list[bytes], kind: str) -> NDArray[Any]:
        try:
            if kind[0] == "f":
                return np.array([float(word) for word in words], dtype=np.float64)
            return np.array([int(word) for word in words], dtype=np.int64)
        except (ValueError, OverflowError):
            found = b" ".join(words[:8]).decode("ascii", errors="replace")
            raise FileError(f"{self.path}: expected numbers in section ${self.name}, near {found!r}") from None


def read_msh(path: Path) -> MeshTet | MeshTri:
    """Read tets, or triangles where there are none. Raises FileError for other versions and damaged files."""
    data = file_bytes(path)
    version, order, size = _format(path, data)
    nodes = Cursor(path, "Nodes", _section(path, data, "Nodes"), order)
    elements = Cursor(path, "Elements", _section(path, data, "Elements"), order)
    tags, points = _nodes_4(nodes, size) if version == "4.1" else _nodes_2(nodes)
    cells = _elements_4(elements, size) if version == "4.1" else _elements_2(elements)
    return mesh_of_cells(path, points, {name: _numbered(path, tags, rows) for name, rows in cells.items()})


def _section(path: Path, data: bytes, name: str) -> bytes:
    start = data.find(b"$" + name.encode())
    end = data.find(b"$End" + name.encode(), start)
    newline = data.find(b"\n", start)
    if start < 0 or end < 0 or not start < newline < end:
        raise FileError(f"{path}: expected a section ${name} to ${'End' + name}: the file is cut off or no .msh")
    return data[newline + 1 : end]


def _format(path: Path, data: bytes) -> tuple[str, str, str]:
    """Version, byte order ("" for text), and the kind of its sizes."""
    body = _section(path, data, "MeshFormat")
    line, _, rest = body.partition(b"\n")
    words = line.decode("ascii", errors="replace").split()
    if len(words) != 3 or words[0] not in ("2.2", "4.1") or words[1] not in "01" or words[2] not in ("4", "8"):
        raise FileError(
            f"{path}: the format is {' '.join(words)[:40]!r}, but versions 2.2 and 4.1 are read; "
            "export the mesh again from Gmsh"
        )
    if words[1] == "0":
        return words[0], "", f"i{words[2]}"
    return words[0], "<" if rest[:4] == b"\x01\0\0\0" else ">", f"i{words[2]}"


def _nodes_2(nodes: Cursor) -> tuple[IndexArray, Array]:
    count = nodes.line()
    if nodes.order:
        kind = np.dtype([("tag", nodes.order + "i4"), ("point", nodes.order + "f8", 3)])
        raw = nodes.take("u1", count * kind.itemsize).astype(np.uint8).tobytes()
        rows = np.frombuffer(raw, kind)
        return rows["tag"].astype(np.int64), rows["point"].astype(np.float64)
    table = nodes.take("f8", 4 * count).reshape(-1, 4)
    tags = np.where(np.abs(table[:, 0]) < 2**53, table[:, 0], -1)  # false for nan; no element names node -1
    return tags.astype(np.int64), table[:, 1:]


def _elements_2(elements: Cursor) -> dict[str, IndexArray]:
    """Cells by name; each with its node tags."""
    parts: dict[str, list[IndexArray]] = {}
    left = elements.line()
    while left > 0:
        # text has one element after another; binary runs of one type with as many tags
        if elements.order:
            kind, run, tags = (int(n) for n in elements.whole("i4", 3))
        else:
            _, kind, tags = (int(n) for n in elements.whole("i8", 3))
            run = 1
        nodes, lead = _nodes_of(elements, kind), tags + (1 if elements.order else 0)
        if run < 1 or tags < 0:
            raise FileError(f"{elements.path}: section $Elements counts {run} elements with {tags} tags: it is damaged")
        rows = elements.whole("i4", run * (lead + nodes)).reshape(run, -1)[:, lead:]
        parts.setdefault(NAMES.get(kind, f"cells of type {kind}"), []).append(rows)
        left -= run
    return {name: np.concatenate(rows) for name, rows in parts.items()}


def _nodes_4(nodes: Cursor, size: str) -> tuple[IndexArray, Array]:
    blocks = int(nodes.whole(size, 4)[0])
    tags, points = [np.zeros(0, dtype=np.int64)], [np.zeros((0, 3))]
    for _ in range(blocks):
        dimension, _, parametric = (int(n) for n in nodes.whole("i4", 3))
        count = int(nodes.whole(size, 1)[0])
        columns = 3 + (dimension if parametric and 0 <= dimension <= 3 else 0)
        tags.append(nodes.whole(size, count))
        points.append(nodes.take("f8", columns * count).reshape(-1, columns)[:, :3])
    return np.concatenate(tags), np.concatenate(points)


def _elements_4(elements: Cursor, size: str) -> dict[str, IndexArray]:
    """Cells by name; each with its node tags."""
    parts: dict[str, list[IndexArray]] = {}
    for _ in range(int(elements.whole(size, 4)[0])):
        kind = int(elements.whole("i4", 3)[2])
        count = int(elements.whole(size, 1)[0])
        columns = 1 + _nodes_of(elements, kind)
        rows = elements.whole(size, columns * count).reshape(-1, columns)[:, 1:]
        parts.setdefault(NAMES.get(kind, f"cells of type {kind}"), []).append(rows)
    return {name: np.concatenate(rows) for name, rows in parts.items()}


def _nodes_of(elements: Cursor, kind: int) -> int:
    if not 1 <= kind <= len(NODES):
        raise FileError(f"{elements.path}: section $Elements names the element type {kind}, which Gmsh does not have")
    return NODES[kind - 1]


def _numbered(path: Path, tags: IndexArray, rows: IndexArray) -> IndexArray:
    """Node tags, which may have gaps, as indices from 0 in the order of the file."""
    order = np.argsort(tags, kind="stable")
    at = np.searchsorted(tags[order], rows)
    known = tags[order][np.minimum(at, len(tags) - 1)] == rows if len(tags) else np.zeros(rows.shape, dtype=bool)
    if not known.all():
        raise FileError(f"{path}: an element names node {rows[~known][0]}, which section $Nodes does not hold")
    return order[at]
