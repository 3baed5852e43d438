"""Gmsh's .msh, versions 2.2 and 4.1, as text or binary.

meshio writes the format, but does not read it here: docs/decisions/mesh-readers.md.
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

# nodes of each element type, in Gmsh's reference manual; the first is type 1
NODES_PER_ELEMENT_TYPE = (
    2, 3, 4, 4, 8, 6, 5, 3, 6, 9, 10, 27, 18, 14, 1, 8, 20, 15, 13, 9, 10, 12, 15, 15, 21, 4, 5, 6, 20, 35, 56,
)  # fmt: skip


def read_msh(path: Path) -> MeshTet | MeshTri:
    """Read tets, or triangles if there are no tets. Raises FileError for other versions and damaged files."""
    data = read_file_bytes(path)
    line, _, rest = _find_section(path, data, "MeshFormat").partition(b"\n")
    words = line.decode("ascii", errors="replace").split()
    if len(words) != 3 or words[0] not in ("2.2", "4.1") or words[1] not in "01" or words[2] not in ("4", "8"):
        raise FileError(
            f"{path}: the format is {' '.join(words)[:40]!r}, but versions 2.2 and 4.1 are read; "
            "export the mesh again from Gmsh"
        )
    # a binary file contains the number one in its byte order; text has none
    byte_order = "" if words[1] == "0" else "<" if rest[:4] == b"\x01\0\0\0" else ">"
    nodes = MshSection(path, "Nodes", _find_section(path, data, "Nodes"), byte_order, f"i{words[2]}")
    elements = MshSection(path, "Elements", _find_section(path, data, "Elements"), byte_order, f"i{words[2]}")
    tags, points = nodes.read_nodes_v4() if words[0] == "4.1" else nodes.read_nodes_v2()
    parts = elements.read_elements_v4() if words[0] == "4.1" else elements.read_elements_v2()
    cells = {}
    for kind, blocks in parts.items():
        name = {2: "triangle", 4: "tetra"}.get(kind, f"cells of type {kind}")
        cells[name] = _convert_tags_to_indices(path, tags, np.concatenate(blocks))
    return build_mesh_from_cells(path, points, cells)


def _find_section(path: Path, data: bytes, name: str) -> bytes:
    start = data.find(b"$" + name.encode())
    end = data.find(b"$End" + name.encode(), start)
    newline = data.find(b"\n", start)
    if start < 0 or end < 0 or not start < newline < end:
        raise FileError(f"{path}: expected a section ${name} to ${'End' + name}: the file is cut off or no .msh")
    return data[newline + 1 : end]


def _convert_tags_to_indices(path: Path, tags: IndexArray, rows: IndexArray) -> IndexArray:
    """Node tags, which may have gaps, as indices from 0 in the order of the file."""
    order = np.argsort(tags, kind="stable")
    at = np.searchsorted(tags[order], rows)
    known = tags[order][np.minimum(at, len(tags) - 1)] == rows if len(tags) else np.zeros(rows.shape, dtype=bool)
    if not known.all():
        raise FileError(f"{path}: an element names node {rows[~known][0]}, which section $Nodes does not hold")
    return order[at]


class MshSection:
    """The numbers of one section, read in order, from text or binary.

    byte_order: "<" or ">", "" for text; size_dtype: type of counts and tags in version 4.1.
    """

    def __init__(self, path: Path, name: str, body: bytes, byte_order: str, size_dtype: str):
        self.path, self.name, self.byte_order, self.size_dtype = path, name, byte_order, size_dtype
        self.body: bytes | list[bytes] = body if byte_order else body.split()
        self.offset = 0

    def read_numbers(self, dtype: str, count: int) -> NDArray[Any]:
        """The next `count` numbers of a type such as i4, as float64 or int64."""
        size = count * (np.dtype(dtype).itemsize if self.byte_order else 1)
        if not 0 <= size <= len(self.body) - self.offset:
            raise FileError(f"{self.path}: section ${self.name} promises more than it holds: it is damaged or cut off")
        part = self.body[self.offset : self.offset + size]
        self.offset += size
        kind: Any = np.float64 if dtype[0] == "f" else np.int64
        if isinstance(part, bytes):
            return np.frombuffer(part, self.byte_order + dtype).astype(kind)
        return self._parse_words(part, kind)

    def _parse_words(self, words: list[bytes], kind: Any) -> NDArray[Any]:
        try:
            return np.array(words if kind is np.float64 else [int(word) for word in words], dtype=kind)
        except (ValueError, OverflowError):
            found = b" ".join(words[:8]).decode("ascii", errors="replace")
            raise FileError(f"{self.path}: expected numbers in section ${self.name}, near {found!r}") from None

    def read_nodes_v2(self) -> tuple[IndexArray, Array]:
        """Tags (n,) and points (n, 3) of version 2.2."""
        count = self._read_count_line()
        if self.byte_order:
            kind = np.dtype([("tag", self.byte_order + "i4"), ("point", self.byte_order + "f8", 3)])
            rows = np.frombuffer(self.read_numbers("u1", count * kind.itemsize).astype(np.uint8).tobytes(), kind)
            return rows["tag"].astype(np.int64), rows["point"].astype(np.float64)
        table = self.read_numbers("f8", 4 * count).reshape(-1, 4)
        tags = np.where(np.abs(table[:, 0]) < 2**53, table[:, 0], -1)  # also for nan; no element names node -1
        return tags.astype(np.int64), table[:, 1:]

    def _read_count_line(self) -> int:
        """A number on a line of its own, which is text even in binary files of version 2.2."""
        if not isinstance(self.body, bytes):
            return int(self.read_numbers("i8", 1)[0])
        end = self.body.find(b"\n", self.offset)
        start, self.offset = self.offset, end + 1
        return int(self._parse_words([self.body[start : max(end, start)]], np.int64)[0])

    def read_elements_v2(self) -> dict[int, list[IndexArray]]:
        """Node tags of the elements by element type, of version 2.2."""
        parts: dict[int, list[IndexArray]] = {}
        left = self._read_count_line()
        while left > 0:
            # binary has runs of one type with equal numbers of tags, text has single elements
            if self.byte_order:
                kind, run, tags = (int(n) for n in self.read_numbers("i4", 3))
            else:
                _, kind, tags = (int(n) for n in self.read_numbers("i8", 3))
                run = 1
            nodes, lead = self._get_node_count(kind), tags + (1 if self.byte_order else 0)
            if run < 1 or tags < 0:
                raise FileError(f"{self.path}: section $Elements counts {run} elements with {tags} tags: it is damaged")
            rows = self.read_numbers("i4", run * (lead + nodes)).reshape(run, -1)[:, lead:]
            parts.setdefault(kind, []).append(rows)
            left -= run
        return parts

    def read_nodes_v4(self) -> tuple[IndexArray, Array]:
        """Tags (n,) and points (n, 3) of version 4.1."""
        tags, points = [np.zeros(0, dtype=np.int64)], [np.zeros((0, 3))]
        for _ in range(int(self.read_numbers(self.size_dtype, 4)[0])):
            dimension, _, parametric = (int(n) for n in self.read_numbers("i4", 3))
            count = int(self.read_numbers(self.size_dtype, 1)[0])
            columns = 3 + (dimension if parametric and 0 <= dimension <= 3 else 0)
            tags.append(self.read_numbers(self.size_dtype, count))
            points.append(self.read_numbers("f8", columns * count).reshape(-1, columns)[:, :3])
        return np.concatenate(tags), np.concatenate(points)

    def read_elements_v4(self) -> dict[int, list[IndexArray]]:
        """Node tags of the elements by element type, of version 4.1."""
        parts: dict[int, list[IndexArray]] = {}
        for _ in range(int(self.read_numbers(self.size_dtype, 4)[0])):
            kind = int(self.read_numbers("i4", 3)[2])
            count = int(self.read_numbers(self.size_dtype, 1)[0])
            columns = 1 + self._get_node_count(kind)
            rows = self.read_numbers(self.size_dtype, columns * count).reshape(-1, columns)[:, 1:]
            parts.setdefault(kind, []).append(rows)
        return parts

    def _get_node_count(self, element_type: int) -> int:
        if not 1 <= element_type <= len(NODES_PER_ELEMENT_TYPE):
            raise FileError(
                f"{self.path}: section $Elements names the element type {element_type}, which Gmsh does not have"
            )
        return NODES_PER_ELEMENT_TYPE[element_type - 1]
