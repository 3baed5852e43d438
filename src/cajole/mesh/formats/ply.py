"""PLY: vertices and faces, as text or binary of either byte order; other elements and properties are passed over."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.errors import FileError
from cajole.mesh.base import MeshTri
from cajole.mesh.formats.text_lines import read_file_bytes
from cajole.mesh.repair import drop_degenerate_triangles
from cajole.mesh.topology import triangulate_polygons

_OLD_TYPES = {"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "float": "f4"}
_NEW_TYPES = {
    "int8": "i1",
    "uint8": "u1",
    "int16": "i2",
    "uint16": "u2",
    "int32": "i4",
    "uint32": "u4",
    "float32": "f4",
}
NUMPY_TYPES = _OLD_TYPES | _NEW_TYPES | {"double": "f8", "float64": "f8"}
BYTE_ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}
# a header longer than this is no header: files of other kinds would be searched to their end
MAX_HEADER_BYTES = 1 << 20


class PlyProperty(NamedTuple):
    """A named column; `length` is the type of the count before a list, or None for a single value."""

    name: str
    dtype: str
    length_dtype: str | None


@dataclass(frozen=True)
class PlyElement:
    """A table of the file: its name, number of rows and columns."""

    name: str
    count: int
    properties: list[PlyProperty] = field(default_factory=list)


class PlyTable(NamedTuple):
    """What was read of one element: single columns by name, lists by name."""

    columns: dict[str, Array]
    lists: dict[str, list[IndexArray]]


def read_ply(path: Path) -> MeshTri:
    """Read vertices and faces; polygons become fans. Raises FileError when header and content do not match."""
    data = read_file_bytes(path)
    order, elements, start = _parse_header(path, data)
    reader = _PlyTextReader(path, data[start:]) if order == "" else _PlyBinaryReader(path, data[start:], order)
    tables = {element.name: reader.read_table(element) for element in elements}
    if "vertex" not in tables or "face" not in tables:
        raise FileError(f"{path}: expected elements 'vertex' and 'face', found {', '.join(tables) or 'none'}")
    columns = tables["vertex"].columns
    if not {"x", "y", "z"} <= set(columns):
        raise FileError(f"{path}: vertices need the properties x, y and z, found {', '.join(columns) or 'none'}")
    lists = tables["face"].lists
    polygons = lists.get("vertex_indices", lists.get("vertex_index"))
    if polygons is None:
        raise FileError(f"{path}: faces need a list 'vertex_indices', found {', '.join(lists) or 'none'}")
    return drop_degenerate_triangles(np.column_stack([columns[axis] for axis in "xyz"]), _triangulate(path, polygons))


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
    """Byte order, elements, and where the content begins."""
    end = data.find(b"end_header", 0, MAX_HEADER_BYTES)
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


class _PlyTextReader:
    """Content as text, word by word."""

    def __init__(self, path: Path, data: bytes):
        self.path, self.words, self.offset = path, data.split(), 0

    def read_table(self, element: PlyElement) -> PlyTable:
        table = PlyTable({}, {})
        _require_plausible_count(self.path, element, len(self.words))
        columns: dict[str, list[float]] = {p.name: [] for p in element.properties if p.length_dtype is None}
        for _ in range(element.count):
            for prop in element.properties:
                if prop.length_dtype is None:
                    columns[prop.name].append(self._read_numbers(1, element)[0])
                else:
                    (size,) = self._read_numbers(1, element)
                    table.lists.setdefault(prop.name, []).append(
                        _require_integers(self.path, self._read_numbers(int(size), element))
                    )
        table.columns.update({name: np.array(values) for name, values in columns.items()})
        return table

    def _read_numbers(self, count: int, element: PlyElement) -> list[float]:
        words = self.words[self.offset : self.offset + max(count, 0)]
        self.offset += len(words)
        try:
            numbers = [float(word) for word in words]
            if len(numbers) != count or not np.isfinite(numbers).all():
                raise ValueError
        except ValueError:
            found = b" ".join(words)[:40].decode("ascii", errors="replace")
            raise FileError(
                f"{self.path}: expected {count} finite numbers in element {element.name!r}, found {found!r}; "
                "is the file cut off?"
            ) from None
        return numbers


class _PlyBinaryReader:
    """Content as binary records."""

    def __init__(self, path: Path, data: bytes, byte_order: str):
        self.path, self.data, self.byte_order, self.offset = path, data, byte_order, 0

    def read_table(self, element: PlyElement) -> PlyTable:
        _require_plausible_count(self.path, element, len(self.data))
        if element.count == 0 or not element.properties:
            return PlyTable({p.name: np.zeros(0) for p in element.properties if p.length_dtype is None}, {})
        sizes = self._read_list_lengths(element)
        fixed = self._read_records(element, sizes, element.count)
        if fixed is not None:
            return self._build_table(element, [fixed])
        return self._build_table(element, [self._read_row(element) for _ in range(element.count)])

    def _read_list_lengths(self, element: PlyElement) -> dict[str, int]:
        """The lengths of the lists of the row that comes next."""
        sizes: dict[str, int] = {}
        at = self.offset
        for prop in element.properties:
            if prop.length_dtype is not None:
                kind = np.dtype(self.byte_order + prop.length_dtype)
                sizes[prop.name] = int(self._read_list_length(at, kind, element))
                at += kind.itemsize
            at += np.dtype(prop.dtype).itemsize * sizes.get(prop.name, 1)
        return sizes

    def _read_list_length(self, offset: int, dtype: np.dtype, element: PlyElement) -> float:
        if offset + dtype.itemsize > len(self.data):
            raise self._build_truncation_error(element)
        value = float(np.frombuffer(self.data, dtype, 1, offset)[0])
        if not 0 <= value <= len(self.data):
            raise FileError(f"{self.path}: a list in element {element.name!r} has length {value}: the file is damaged")
        return value

    def _read_records(self, element: PlyElement, list_lengths: dict[str, int], count: int) -> np.ndarray | None:
        """`count` rows whose lists all have these lengths, or None when they turn out not to."""
        parts: list[tuple[str, str, int]] = []
        for prop in element.properties:
            if prop.length_dtype is not None:
                parts.append((f"#{prop.name}", self.byte_order + prop.length_dtype, 1))
            parts.append((prop.name, self.byte_order + prop.dtype, list_lengths.get(prop.name, 1)))
        try:
            kind = np.dtype([(name, form, (size,)) for name, form, size in parts])
        except ValueError:
            raise FileError(f"{self.path}: element {element.name!r} names a property twice; export it again") from None
        if self.offset + kind.itemsize * count > len(self.data):
            if count == 1 or not list_lengths:
                raise self._build_truncation_error(element)
            return None
        rows = np.frombuffer(self.data, kind, count, self.offset)
        if any((rows[f"#{name}"] != size).any() for name, size in list_lengths.items()):
            return None
        self.offset += kind.itemsize * count
        return rows

    def _read_row(self, element: PlyElement) -> np.ndarray:
        row = self._read_records(element, self._read_list_lengths(element), 1)
        if row is None:
            raise self._build_truncation_error(element)
        return row

    def _build_truncation_error(self, element: PlyElement) -> FileError:
        return FileError(f"{self.path}: the file ends within element {element.name!r}: it is cut off")

    def _build_table(self, element: PlyElement, chunks: list[np.ndarray]) -> PlyTable:
        table = PlyTable({}, {})
        for prop in element.properties:
            if prop.length_dtype is None:
                values = np.concatenate([chunk[prop.name][:, 0] for chunk in chunks])
                table.columns[prop.name] = values.astype(np.float64)
            else:
                table.lists[prop.name] = [
                    _require_integers(self.path, row) for chunk in chunks for row in chunk[prop.name]
                ]
        return table


def _require_plausible_count(path: Path, element: PlyElement, max_count: int) -> None:
    if not 0 <= element.count <= max_count:
        raise FileError(f"{path}: the header promises {element.count} of {element.name!r}: the file seems cut off")


def _require_integers(path: Path, values: np.ndarray | list[float]) -> IndexArray:
    array = np.asarray(values, dtype=np.float64)
    if not (np.isfinite(array) & (array == np.floor(array)) & (np.abs(array) < 2**53)).all():
        raise FileError(f"{path}: a list holds {array[:4].tolist()}, but vertex numbers are whole")
    return array.astype(np.int64)


def _triangulate(path: Path, polygons: list[IndexArray]) -> IndexArray:
    short = next((i for i, ring in enumerate(polygons) if len(ring) < 3), None)
    if short is not None or not polygons:
        what = "holds no face" if short is None else f"face {short} has {len(polygons[short])} vertices"
        raise FileError(f"{path}: {what}; a face needs at least three")
    return triangulate_polygons(np.array([len(ring) for ring in polygons]), np.concatenate(polygons))
