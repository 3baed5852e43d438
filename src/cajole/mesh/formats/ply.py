"""PLY: vertices and faces, as text or binary of either byte order; other elements and properties are skipped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cajole.errors import FileError
from cajole.mesh.base import MeshTri
from cajole.mesh.formats.text_lines import read_file_bytes
from cajole.mesh.repair import drop_degenerate_triangles
from cajole.mesh.topology import triangulate_polygons

NUMPY_TYPES = {
    "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "float": "f4",
    "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4", "uint32": "u4", "float32": "f4",
    "double": "f8", "float64": "f8",
}  # fmt: skip
BYTE_ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}


class PlyProperty(NamedTuple):
    """A column; length_dtype: type of the length before each list, or None for a single value."""

    name: str
    dtype: str
    length_dtype: str | None


@dataclass(frozen=True)
class PlyElement:
    """A table of the file: its name, number of rows and columns."""

    name: str
    count: int
    properties: list[PlyProperty] = field(default_factory=list)


def read_ply(path: Path) -> MeshTri:
    """Read vertices and faces; polygons become triangle fans. Raises FileError if header and content do not match."""
    data = read_file_bytes(path)
    byte_order, elements, start = _parse_header(path, data)
    content = _PlyContent(path, data[start:], byte_order)
    runs = {element.name: list(content.read_runs(element)) for element in elements}
    properties = {element.name: {p.name: p for p in element.properties} for element in elements}
    if "vertex" not in runs or "face" not in runs:
        raise FileError(f"{path}: expected elements 'vertex' and 'face', found {', '.join(runs) or 'none'}")
    columns = [name for name, prop in properties["vertex"].items() if prop.length_dtype is None]
    if not {"x", "y", "z"} <= set(columns):
        raise FileError(f"{path}: vertices need the properties x, y and z, found {', '.join(columns) or 'none'}")
    lists = [name for name, prop in properties["face"].items() if prop.length_dtype is not None]
    name = next((name for name in ("vertex_indices", "vertex_index") if name in lists), None)
    if name is None:
        raise FileError(f"{path}: faces need a list 'vertex_indices', found {', '.join(lists) or 'none'}")
    if not runs["vertex"] or not runs["face"]:
        raise FileError(f"{path}: holds no {'face' if runs['vertex'] else 'vertex'}; export it again")
    axes = [np.concatenate([rows[axis][:, 0] for rows in runs["vertex"]]) for axis in "xyz"]
    points = np.column_stack(axes).astype(np.float64)
    counts = np.concatenate([np.full(len(rows), rows[name].shape[1]) for rows in runs["face"]])
    if counts.min() < 3:
        face = int(np.argmax(counts < 3))
        raise FileError(f"{path}: face {face} has {counts[face]} vertices; a face needs at least three")
    corners = np.concatenate([rows[name].reshape(-1) for rows in runs["face"]]).astype(np.float64)
    whole = (corners == np.floor(corners)) & (np.abs(corners) < 2**53)
    if not whole.all():
        raise FileError(f"{path}: a face holds the vertex number {corners[~whole][0]}, which is not a whole number")
    return drop_degenerate_triangles(points, triangulate_polygons(counts, corners.astype(np.int64)))


def write_ply(mesh: MeshTri, path: Path) -> None:
    """Write binary PLY with coordinates in double precision."""
    header = (
        f"ply\nformat binary_little_endian 1.0\nelement vertex {len(mesh.vertices)}\nproperty double x\n"
        f"property double y\nproperty double z\nelement face {len(mesh.triangles)}\n"
        "property list uchar int vertex_indices\nend_header\n"
    )
    faces = np.empty(len(mesh.triangles), [("count", "u1"), ("corners", "<i4", 3)])
    faces["count"], faces["corners"] = 3, mesh.triangles
    path.write_bytes(header.encode("ascii") + mesh.vertices.astype("<f8").tobytes() + faces.tobytes())


def _parse_header(path: Path, data: bytes) -> tuple[str, list[PlyElement], int]:
    """Byte order ("" for text), elements, and the offset of the content."""
    end = data.find(b"end_header", 0, 1 << 20)  # no header is longer than a megabyte
    newline = data.find(b"\n", end)
    if data[:3] != b"ply" or end < 0 or newline < 0:
        raise FileError(f"{path} is no PLY: expected 'ply' first and 'end_header' before the content")
    order, elements = None, list[PlyElement]()
    for row in data[:end].decode("ascii", errors="replace").splitlines()[1:]:
        words = row.split()
        try:
            if words[:1] == ["format"]:
                order = BYTE_ORDERS[words[1]]
            elif words[:1] == ["element"]:
                elements.append(PlyElement(words[1], int(words[2])))
            elif words[:2] == ["property", "list"]:
                elements[-1].properties.append(PlyProperty(words[4], NUMPY_TYPES[words[3]], NUMPY_TYPES[words[2]]))
            elif words[:1] == ["property"]:
                elements[-1].properties.append(PlyProperty(words[2], NUMPY_TYPES[words[1]], None))
        except (KeyError, IndexError, ValueError):
            raise FileError(f"{path}: cannot understand the header line {row[:60]!r}") from None
    if order is None:
        raise FileError(f"{path}: the header names no format ({', '.join(BYTE_ORDERS)})")
    return order, elements, newline + 1


class _PlyContent:
    """The rows behind the header: bytes of a binary file, or words of a text."""

    def __init__(self, path: Path, data: bytes, byte_order: str):
        self.path, self.byte_order, self.offset = path, byte_order, 0
        self.units: bytes | list[bytes] = data if byte_order else data.split()

    def read_runs(self, element: PlyElement) -> Iterator[NDArray[Any]]:
        """Structured arrays of the rows of an element, each of consecutive rows whose lists have equal lengths.

        Fields have the shape (rows, 1), or (rows, length) for lists.
        """
        if not 0 <= element.count <= len(self.units):
            raise FileError(
                f"{self.path}: the header promises {element.count} of {element.name!r}: the file seems cut off"
            )
        left = most = element.count if element.properties else 0
        while left:
            lengths, dtype = self._peek_row_type(element)
            size = dtype.itemsize if self.byte_order else dtype.itemsize // 8
            count = min(left, most, (len(self.units) - self.offset) // size)
            if count < 1:
                raise self._build_truncation_error(element)
            part = self.units[self.offset : self.offset + count * size]
            try:
                # text is decoded in double precision
                buffer = part if isinstance(part, bytes) else np.array(part, dtype=np.float64)
                rows = np.frombuffer(buffer, dtype)
            except ValueError:
                if count == 1:
                    found = b" ".join(part)[:40].decode("ascii", "replace") if isinstance(part, list) else ""
                    raise FileError(
                        f"{self.path}: expected {size} numbers in element {element.name!r}, found {found!r}"
                    ) from None
                most = count // 2  # the words behind this element need not be numbers
                continue
            same = np.ones(count, dtype=bool)
            for name, length in lengths.items():
                same &= rows[f"#{name}"][:, 0] == length
            good = count if same.all() else int(np.argmin(same))
            self.offset, left, most = self.offset + good * size, left - good, 2 * good
            yield rows[:good]

    def _peek_row_type(self, element: PlyElement) -> tuple[dict[str, int], np.dtype[Any]]:
        """The list lengths of the next row, and the type of rows with these; #name is the length before a list."""
        lengths: dict[str, int] = {}
        fields: list[tuple[str, str, tuple[int]]] = []
        at = self.offset
        for prop in element.properties:
            for name, kind in ((f"#{prop.name}", prop.length_dtype), (prop.name, prop.dtype)):
                if kind is None:
                    continue
                dtype = np.dtype(self.byte_order + kind if self.byte_order else np.float64)
                fields.append((name, dtype.str, (lengths.get(name, 1),)))
                if name.startswith("#"):
                    lengths[prop.name] = self._read_length(at, dtype, element)
                at += (dtype.itemsize if self.byte_order else 1) * fields[-1][2][0]
        try:
            return lengths, np.dtype(fields)
        except ValueError:
            raise FileError(f"{self.path}: element {element.name!r} names a property twice; export it again") from None

    def _read_length(self, at: int, dtype: np.dtype[Any], element: PlyElement) -> int:
        unit = self.units[at : at + (dtype.itemsize if self.byte_order else 1)]
        try:
            length = float(np.frombuffer(unit, dtype)[0] if isinstance(unit, bytes) else unit[0])
        except (IndexError, ValueError):
            raise self._build_truncation_error(element) from None
        if not 0 <= length <= len(self.units) or length != int(length):
            raise FileError(f"{self.path}: a list in element {element.name!r} has length {length}: the file is damaged")
        return int(length)

    def _build_truncation_error(self, element: PlyElement) -> FileError:
        return FileError(f"{self.path}: the file ends within element {element.name!r}: it is cut off or damaged")
