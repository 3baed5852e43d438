"""The container of a GLB file: its JSON, its bytes, and the arrays that the one describes in the other."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.animation.glb import CHUNK, HEADER
from cajole.errors import FileError
from cajole.storage import open_regular

_COMPONENTS = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}
# extensions that change nothing about where vertices are, or that the accessors below already understand
_HARMLESS = {"KHR_mesh_quantization", "KHR_texture_transform", "KHR_materials_unlit", "EXT_texture_webp"}


@dataclass(frozen=True)
class Document:
    """The JSON and the bytes of a GLB file."""

    path: Path
    json: dict[str, Any]
    data: NDArray[np.uint8]

    def damaged(self, what: str) -> FileError:
        """The error where what the file says of itself does not fit together."""
        return FileError(f"{self.path}: {what}; the file is damaged: export it again")

    def part(self, kind: str, index: Any) -> dict[str, Any]:
        """One entry of a list of the JSON."""
        entries = self.json.get(kind, [])
        if not isinstance(index, int) or not 0 <= index < len(entries):
            raise self.damaged(f"it refers to {kind}[{index}], and has {len(entries)} of them")
        return dict(entries[index])

    def array(self, index: Any) -> NDArray[Any]:
        """(count, width) the values of an accessor, as floats where they are normalised integers."""
        accessor = self.part("accessors", index)
        count, width = int(accessor["count"]), _WIDTHS[accessor["type"]]
        dtype = np.dtype(_COMPONENTS[accessor["componentType"]])
        if not 0 < count <= len(self.data):
            raise self.damaged(f"accessor {index} claims {count} values in {len(self.data)} bytes")
        values = np.zeros((count, width), dtype=dtype)
        if "bufferView" in accessor:
            values = self._view(accessor["bufferView"], int(accessor.get("byteOffset", 0)), dtype, (count, width))
        if "sparse" in accessor:
            values = self._with_sparse(values.copy(), accessor["sparse"])
        if accessor.get("normalized") and dtype.kind in "iu":
            values = np.maximum(values / np.iinfo(dtype).max, -1.0)
        return values

    def _with_sparse(self, values: NDArray[Any], sparse: dict[str, Any]) -> NDArray[Any]:
        count, where, what = int(sparse["count"]), sparse["indices"], sparse["values"]
        if not 0 < count <= len(values):
            raise self.damaged(f"an accessor of {len(values)} values has {count} sparse ones")
        kind = np.dtype(_COMPONENTS[where["componentType"]])
        rows = self._view(where["bufferView"], int(where.get("byteOffset", 0)), kind, (count, 1))[:, 0]
        shape = (count, values.shape[1])
        values[rows] = self._view(what["bufferView"], int(what.get("byteOffset", 0)), values.dtype, shape)
        return values

    def _view(self, index: Any, offset: int, dtype: np.dtype[Any], shape: tuple[int, int]) -> NDArray[Any]:
        view = self.part("bufferViews", index)
        if view.get("buffer", 0) != 0:
            raise FileError(f"{self.path} keeps data in another file; export it as one .glb")
        start, length = int(view.get("byteOffset", 0)), int(view["byteLength"])
        row = dtype.itemsize * shape[1]
        stride = int(view.get("byteStride", row))
        end = offset + stride * (shape[0] - 1) + row
        if min(start, offset) < 0 or stride < row or end > length or start + length > len(self.data):
            raise self.damaged(f"buffer view {index} is smaller than what is read from it")
        place = self.data[start + offset : start + end]
        return np.ndarray(shape, dtype=dtype, buffer=place.data, strides=(stride, dtype.itemsize))


def open_glb(path: Path) -> Document:
    """The document of a file. Raises FileError where it is cut short, of another kind, or needs what is not read."""
    with open_regular(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        if size < HEADER.size + CHUNK.size:
            raise FileError(f"{path} is cut short: it has {size} bytes; export it again")
        data: NDArray[np.uint8] = np.memmap(stream, dtype=np.uint8, mode="r")
    magic, version, length = HEADER.unpack(data[: HEADER.size].tobytes())
    if magic != b"glTF" or version != 2:
        raise FileError(f"{path} is not a binary glTF 2.0 file; it starts with {magic!r}, version {version}")
    if length > size:
        raise FileError(f"{path} is cut short: it says {length} bytes, and has {size}; export it again")
    text, rest = _chunk(path, data[HEADER.size : length], b"JSON")
    document = json.loads(text.tobytes())
    unknown = sorted(set(document.get("extensionsRequired", [])) - _HARMLESS)
    if unknown:
        raise FileError(f"{path} needs {', '.join(unknown)}, which are not read; export it without compression")
    return Document(path, document, _chunk(path, rest, b"BIN\0")[0] if len(rest) else rest)


def _chunk(path: Path, data: NDArray[np.uint8], kind: bytes) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """The content of the chunk that `data` starts with, and what follows it."""
    length, found = CHUNK.unpack(data[: CHUNK.size].tobytes())
    if found != kind or CHUNK.size + length > len(data):
        raise FileError(f"{path}: a chunk {kind!r} was expected, and {found!r} of {length} bytes came; export it again")
    return data[CHUNK.size : CHUNK.size + length], data[CHUNK.size + length :]
