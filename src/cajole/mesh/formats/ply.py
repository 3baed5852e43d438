"""PLY: vertices and faces, as text or binary of either byte order; other elements and properties are passed over."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.errors import FileError
from cajole.mesh.formats.text import file_bytes
from cajole.mesh.repair import repaired
from cajole.mesh.topology import fans
from cajole.mesh.tri import MeshTri

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
TYPES = _OLD_TYPES | _NEW_TYPES | {"double": "f8", "float64": "f8"}
ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}
# a header longer than this is no header: files of other kinds would be searched to their end
LONGEST_HEADER = 1 << 20


class Property(NamedTuple):
    """A named column; `length` is the type of the count before a list, or None for a single value."""

    name: str
    kind: str
    length: str | None


@dataclass(frozen=True)
class Element:
    """A table of the file: its name, number of rows and columns."""

    name: str
    count: int
    properties: list[Property] = field(default_factory=list)


class Table(NamedTuple):
    """What was read of one element: single columns by name, lists by name."""

    columns: dict[str, Array]
    lists: dict[str, list[IndexArray]]


def read_ply(path: Path) -> MeshTri:
    """Read vertices and faces; polygons become fans. Raises FileError when header and content do not match."""
    data = file_bytes(path)
    order, elements, start = _header(path, data)
    reader = _Words(path, data[start:]) if order == "" else _Bytes(path, data[start:], order)
    tables = {element.name: reader.table(element) for element in elements}
    if "vertex" not in tables or "face" not in tables:
        raise FileError(f"{path}: expected elements 'vertex' and 'face', found {', '.join(tables) or 'none'}")
    columns = tables["vertex"].columns
    if not {"x", "y", "z"} <= set(columns):
        raise FileError(f"{path}: vertices need the properties x, y and z, found {', '.join(columns) or 'none'}")
    lists = tables["face"].lists
    polygons = lists.get("vertex_indices", lists.get("vertex_index"))
    if polygons is None:
        raise FileError(f"{path}: faces need a list 'vertex_indices', found {', '.join(lists) or 'none'}")
    return repaired(np.column_stack([columns[axis] for axis in "xyz"]), _triangles(path, polygons))


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


def _header(path: Path, data: bytes) -> tuple[str, list[Element], int]:
    """Byte order, elements, and where the content begins."""
    end = data.find(b"end_header", 0, LONGEST_HEADER)
    newline = data.find(b"\n", end)
    if data[:3] != b"ply" or end < 0 or newline < 0:
        raise FileError(f"{path} is no PLY: expected 'ply' first and 'end_header' before the content")
    order, elements = None, list[Element]()
    for row in data[:end].decode("ascii", errors="replace").splitlines()[1:]:
        words = row.split()
        try:
            if words[:1] == ["format"]:
                order = ORDERS[words[1]]
            elif words[:1] == ["element"]:
                elements.append(Element(words[1], int(words[2])))
            elif words[:2] == ["property", "list"]:
                elements[-1].properties.append(Property(words[4], TYPES[words[3]], TYPES[words[2]]))
            elif words[:1] == ["property"]:
                elements[-1].properties.append(Property(words[2], TYPES[words[1]], None))
        except (KeyError, IndexError, ValueError):
            raise FileError(f"{path}: cannot understand the header line {row[:60]!r}") from None
    if order is None:
        raise FileError(f"{path}: the header names no format ({', '.join(ORDERS)})")
    return order, elements, newline + 1


class _Words:
    """Content as text, word by word."""

    def __init__(self, path: Path, data: bytes):
        self.path, self.words, self.at = path, data.split(), 0

    def table(self, element: Element) -> Table:
        table = Table({}, {})
        _check_count(self.path, element, len(self.words))
        columns: dict[str, list[float]] = {p.name: [] for p in element.properties if p.length is None}
        for _ in range(element.count):
            for prop in element.properties:
                if prop.length is None:
                    columns[prop.name].append(self._take(1, element)[0])
                else:
                    (size,) = self._take(1, element)
                    table.lists.setdefault(prop.name, []).append(_whole(self.path, self._take(int(size), element)))
        table.columns.update({name: np.array(values) for name, values in columns.items()})
        return table

    def _take(self, count: int, element: Element) -> list[float]:
        words = self.words[self.at : self.at + max(count, 0)]
        self.at += len(words)
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


class _Bytes:
    """Content as binary records."""

    def __init__(self, path: Path, data: bytes, order: str):
        self.path, self.data, self.order, self.at = path, data, order, 0

    def table(self, element: Element) -> Table:
        _check_count(self.path, element, len(self.data))
        if element.count == 0 or not element.properties:
            return Table({p.name: np.zeros(0) for p in element.properties if p.length is None}, {})
        sizes = self._sizes(element)
        fixed = self._records(element, sizes, element.count)
        if fixed is not None:
            return self._unpacked(element, [fixed])
        return self._unpacked(element, [self._next(element) for _ in range(element.count)])

    def _sizes(self, element: Element) -> dict[str, int]:
        """The lengths of the lists of the row that comes next."""
        sizes: dict[str, int] = {}
        at = self.at
        for prop in element.properties:
            if prop.length is not None:
                kind = np.dtype(self.order + prop.length)
                sizes[prop.name] = int(self._value(at, kind, element))
                at += kind.itemsize
            at += np.dtype(prop.kind).itemsize * sizes.get(prop.name, 1)
        return sizes

    def _value(self, at: int, kind: np.dtype, element: Element) -> float:
        if at + kind.itemsize > len(self.data):
            raise self._short(element)
        value = float(np.frombuffer(self.data, kind, 1, at)[0])
        if not 0 <= value <= len(self.data):
            raise FileError(f"{self.path}: a list in element {element.name!r} has length {value}: the file is damaged")
        return value

    def _records(self, element: Element, sizes: dict[str, int], count: int) -> np.ndarray | None:
        """`count` rows whose lists all have these lengths, or None when they turn out not to."""
        parts: list[tuple[str, str, int]] = []
        for prop in element.properties:
            if prop.length is not None:
                parts.append((f"#{prop.name}", self.order + prop.length, 1))
            parts.append((prop.name, self.order + prop.kind, sizes.get(prop.name, 1)))
        try:
            kind = np.dtype([(name, form, (size,)) for name, form, size in parts])
        except ValueError:
            raise FileError(f"{self.path}: element {element.name!r} names a property twice; export it again") from None
        if self.at + kind.itemsize * count > len(self.data):
            if count == 1 or not sizes:
                raise self._short(element)
            return None
        rows = np.frombuffer(self.data, kind, count, self.at)
        if any((rows[f"#{name}"] != size).any() for name, size in sizes.items()):
            return None
        self.at += kind.itemsize * count
        return rows

    def _next(self, element: Element) -> np.ndarray:
        row = self._records(element, self._sizes(element), 1)
        if row is None:
            raise self._short(element)
        return row

    def _short(self, element: Element) -> FileError:
        return FileError(f"{self.path}: the file ends within element {element.name!r}: it is cut off")

    def _unpacked(self, element: Element, chunks: list[np.ndarray]) -> Table:
        table = Table({}, {})
        for prop in element.properties:
            if prop.length is None:
                values = np.concatenate([chunk[prop.name][:, 0] for chunk in chunks])
                table.columns[prop.name] = values.astype(np.float64)
            else:
                table.lists[prop.name] = [_whole(self.path, row) for chunk in chunks for row in chunk[prop.name]]
        return table


def _check_count(path: Path, element: Element, most: int) -> None:
    if not 0 <= element.count <= most:
        raise FileError(f"{path}: the header promises {element.count} of {element.name!r}: the file seems cut off")


def _whole(path: Path, values: np.ndarray | list[float]) -> IndexArray:
    array = np.asarray(values, dtype=np.float64)
    if not (np.isfinite(array) & (array == np.floor(array)) & (np.abs(array) < 2**53)).all():
        raise FileError(f"{path}: a list holds {array[:4].tolist()}, but vertex numbers are whole")
    return array.astype(np.int64)


def _triangles(path: Path, polygons: list[IndexArray]) -> IndexArray:
    short = next((i for i, ring in enumerate(polygons) if len(ring) < 3), None)
    if short is not None or not polygons:
        what = "holds no face" if short is None else f"face {short} has {len(polygons[short])} vertices"
        raise FileError(f"{path}: {what}; a face needs at least three")
    return fans(np.array([len(ring) for ring in polygons]), np.concatenate(polygons))
