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
from cajole.mesh.base import MeshTri
from cajole.mesh.formats.meshio_formats import build_mesh_from_cells
from cajole.mesh.formats.text_lines import read_file_bytes
from cajole.mesh.tet import MeshTet

# nodes of each element type, from Gmsh's reference manual; position 0 is type 1
NODES_PER_ELEMENT_TYPE = (
    2,
    3,
    4,
    4,
    8,
    6,
    5,
    3,
    6,
    9,
    10,
    27,
    18,
    14,
    1,
    8,
    20,
    15,
    13,
    9,
    10,
    12,
    15,
    15,
    21,
    4,
    5,
    6,
    20,
    35,
    56,
)
CELL_NAMES = {2: "triangle", 4: "tetra"}


class MshSectionReader:
    """Numbers of one section, taken in order, whether they are written as text or binary."""

    def __init__(self, path: Path, name: str, body: bytes, byte_order: str):
        self.path, self.name, self.body, self.byte_order, self.offset = path, name, body, byte_order, 0
        self.words = body.split() if not byte_order else []

    def read_numbers(self, dtype: str, count: int) -> NDArray[Any]:
        """The next `count` numbers of a numpy kind such as i4."""
        step = np.dtype(dtype).itemsize if self.byte_order else 1
        left = (len(self.body) if self.byte_order else len(self.words)) - self.offset
        if not 0 <= count * step <= left:
            raise FileError(f"{self.path}: section ${self.name} promises more than it holds: it is damaged or cut off")
        start, self.offset = self.offset, self.offset + count * step
        if self.byte_order:
            raw = np.frombuffer(self.body, self.byte_order + dtype, count, start)
            return raw.astype(np.float64 if dtype[0] == "f" else np.int64)
        return self._parse_words(self.words[start : self.offset], dtype)

    def read_integers(self, dtype: str, count: int) -> IndexArray:
        """The next `count` whole numbers."""
        return self.read_numbers(dtype, count).astype(np.int64, copy=False)

    def read_count_line(self) -> int:
        """A number on a line of its own, which is text even in binary files of version 2."""
        if not self.byte_order:
            return int(self.read_integers("i8", 1)[0])
        end = self.body.find(b"\n", self.offset)
        start, self.offset = self.offset, end + 1
        return int(self._parse_words([self.body[start : max(end, start)]], "i8")[0])

    def _parse_words(self, words: list[bytes], dtype: str) -> NDArray[Any]:
        try:
            if dtype[0] == "f":
                return np.array([float(word) for word in words], dtype=np.float64)
            return np.array([int(word) for word in words], dtype=np.int64)
        except (ValueError, OverflowError):
            found = b" ".join(words[:8]).decode("ascii", errors="replace")
            raise FileError(f"{self.path}: expected numbers in section ${self.name}, near {found!r}") from None


def read_msh(path: Path) -> MeshTet | MeshTri:
    """Read tets, or triangles where there are none. Raises FileError for other versions and damaged files."""
    data = read_file_bytes(path)
    version, order, size = _parse_format(path, data)
    nodes = MshSectionReader(path, "Nodes", _find_section(path, data, "Nodes"), order)
    elements = MshSectionReader(path, "Elements", _find_section(path, data, "Elements"), order)
    tags, points = _parse_nodes_v4(nodes, size) if version == "4.1" else _parse_nodes_v2(nodes)
    cells = _parse_elements_v4(elements, size) if version == "4.1" else _parse_elements_v2(elements)
    return build_mesh_from_cells(
        path, points, {name: _convert_tags_to_indices(path, tags, rows) for name, rows in cells.items()}
    )


def _find_section(path: Path, data: bytes, name: str) -> bytes:
    start = data.find(b"$" + name.encode())
    end = data.find(b"$End" + name.encode(), start)
    newline = data.find(b"\n", start)
    if start < 0 or end < 0 or not start < newline < end:
        raise FileError(f"{path}: expected a section ${name} to ${'End' + name}: the file is cut off or no .msh")
    return data[newline + 1 : end]


def _parse_format(path: Path, data: bytes) -> tuple[str, str, str]:
    """Version, byte order ("" for text), and the kind of its sizes."""
    body = _find_section(path, data, "MeshFormat")
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


def _parse_nodes_v2(nodes: MshSectionReader) -> tuple[IndexArray, Array]:
    count = nodes.read_count_line()
    if nodes.byte_order:
        kind = np.dtype([("tag", nodes.byte_order + "i4"), ("point", nodes.byte_order + "f8", 3)])
        raw = nodes.read_numbers("u1", count * kind.itemsize).astype(np.uint8).tobytes()
        rows = np.frombuffer(raw, kind)
        return rows["tag"].astype(np.int64), rows["point"].astype(np.float64)
    table = nodes.read_numbers("f8", 4 * count).reshape(-1, 4)
    tags = np.where(np.abs(table[:, 0]) < 2**53, table[:, 0], -1)  # false for nan; no element names node -1
    return tags.astype(np.int64), table[:, 1:]


def _parse_elements_v2(elements: MshSectionReader) -> dict[str, IndexArray]:
    """Cells by name; each with its node tags."""
    parts: dict[str, list[IndexArray]] = {}
    left = elements.read_count_line()
    while left > 0:
        # text has one element after another; binary runs of one type with as many tags
        if elements.byte_order:
            kind, run, tags = (int(n) for n in elements.read_integers("i4", 3))
        else:
            _, kind, tags = (int(n) for n in elements.read_integers("i8", 3))
            run = 1
        nodes, lead = _get_node_count(elements, kind), tags + (1 if elements.byte_order else 0)
        if run < 1 or tags < 0:
            raise FileError(f"{elements.path}: section $Elements counts {run} elements with {tags} tags: it is damaged")
        rows = elements.read_integers("i4", run * (lead + nodes)).reshape(run, -1)[:, lead:]
        parts.setdefault(CELL_NAMES.get(kind, f"cells of type {kind}"), []).append(rows)
        left -= run
    return {name: np.concatenate(rows) for name, rows in parts.items()}


def _parse_nodes_v4(nodes: MshSectionReader, size_dtype: str) -> tuple[IndexArray, Array]:
    blocks = int(nodes.read_integers(size_dtype, 4)[0])
    tags, points = [np.zeros(0, dtype=np.int64)], [np.zeros((0, 3))]
    for _ in range(blocks):
        dimension, _, parametric = (int(n) for n in nodes.read_integers("i4", 3))
        count = int(nodes.read_integers(size_dtype, 1)[0])
        columns = 3 + (dimension if parametric and 0 <= dimension <= 3 else 0)
        tags.append(nodes.read_integers(size_dtype, count))
        points.append(nodes.read_numbers("f8", columns * count).reshape(-1, columns)[:, :3])
    return np.concatenate(tags), np.concatenate(points)


def _parse_elements_v4(elements: MshSectionReader, size_dtype: str) -> dict[str, IndexArray]:
    """Cells by name; each with its node tags."""
    parts: dict[str, list[IndexArray]] = {}
    for _ in range(int(elements.read_integers(size_dtype, 4)[0])):
        kind = int(elements.read_integers("i4", 3)[2])
        count = int(elements.read_integers(size_dtype, 1)[0])
        columns = 1 + _get_node_count(elements, kind)
        rows = elements.read_integers(size_dtype, columns * count).reshape(-1, columns)[:, 1:]
        parts.setdefault(CELL_NAMES.get(kind, f"cells of type {kind}"), []).append(rows)
    return {name: np.concatenate(rows) for name, rows in parts.items()}


def _get_node_count(elements: MshSectionReader, element_type: int) -> int:
    if not 1 <= element_type <= len(NODES_PER_ELEMENT_TYPE):
        raise FileError(
            f"{elements.path}: section $Elements names the element type {element_type}, which Gmsh does not have"
        )
    return NODES_PER_ELEMENT_TYPE[element_type - 1]


def _convert_tags_to_indices(path: Path, tags: IndexArray, rows: IndexArray) -> IndexArray:
    """Node tags, which may have gaps, as indices from 0 in the order of the file."""
    order = np.argsort(tags, kind="stable")
    at = np.searchsorted(tags[order], rows)
    known = tags[order][np.minimum(at, len(tags) - 1)] == rows if len(tags) else np.zeros(rows.shape, dtype=bool)
    if not known.all():
        raise FileError(f"{path}: an element names node {rows[~known][0]}, which section $Nodes does not hold")
    return order[at]
