"""NPZ: everything an Animation holds, as plain arrays that NumPy alone can read.

A zip of .npy members, stored and not compressed, the data of each on a 64-byte boundary: positions are read straight
from their place in the file, without loading it. Nothing is ever unpickled.
"""

from __future__ import annotations

import math
import os
import struct
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from cajole.animation.animation import Animation, Frames
from cajole.animation.blocks import LARGE_BYTES, reported_blocks
from cajole.animation.contacts import Contacts
from cajole.animation.reading import DEFAULT_FPS, AnyMesh, guarded
from cajole.checks import flag
from cajole.errors import FileError, InputError
from cajole.memory import require_memory
from cajole.mesh import Embedding, MeshLine, MeshTet, MeshTri, Skin
from cajole.progress import Progress, portion
from cajole.storage import atomic_path, npy_header, open_regular, require_unpackable

VERSION = 1
# a cache line, and what NumPy's own .npy headers are padded to
_ALIGNMENT = 64
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")
# the record in which zip tools keep alignment padding (Android's zipalign)
_PADDING_ID = 0xD935
# zipfile adds the sizes as 64-bit numbers to the header of a member that may be large
_ZIP64_EXTRA = 20
_EMBEDDING_COLUMNS = ("tets", "weights", "corners", "vertex_count")
# the name under which each kind of mesh has its elements
_ELEMENTS: dict[type[AnyMesh], str] = {MeshTet: "tets", MeshTri: "triangles", MeshLine: "lines"}
_CONTACT_COLUMNS = ("frame", "vertex", "normal", "kind", "other")
# other arrays are left where they are
_MEMBERS = {
    "positions", "velocities", "vertices", "tets", "triangles", "lines", "fps", "start_frame", "name", "version",
    "skin_vertices", "skin_triangles", "skin_colors", "skin_parts", "skin_labels", "skin_gloss",
    *(f"skin_{name}" for name in _EMBEDDING_COLUMNS), *(f"contacts_{name}" for name in _CONTACT_COLUMNS),
}  # fmt: skip


@dataclass(frozen=True)
class _Stored:
    """An open archive of arrays."""

    path: Path
    size: int
    stream: BinaryIO
    members: dict[str, zipfile.ZipInfo]
    archive: zipfile.ZipFile

    def load(
        self, name: str, default: Any = None, *, on_disk: bool | None = False, progress: Progress | None = None
    ) -> Any:
        """One array: from memory, or mapped from its place in the file where that is asked for and possible."""
        if name not in self.members:
            return default
        info = self.members[name]
        require_unpackable(self.path, self.size, sum(each.file_size for each in self.members.values()))
        with self.archive.open(info) as member:
            shape, fortran, dtype = npy_header(member)
            start = member.tell()
            entries = math.prod(shape)
            if entries * dtype.itemsize != info.file_size - start:
                raise FileError(
                    f"{self.path}: {name} says it has shape {shape}, which is not the size of its data; write it again"
                )
            mappable = info.compress_type == zipfile.ZIP_STORED and not fortran and dtype.kind == "f" and entries > 0
            if mappable and (info.file_size > LARGE_BYTES if on_disk is None else on_disk):
                offset = _data_offset(self.stream, info) + start
                return np.memmap(self.stream, dtype=dtype, mode="r", offset=offset, shape=shape)
            require_memory(info.file_size, f"{name} in {self.path}", "read it with mmap=True, or fewer frames of it")
            array = _read_array(member, shape[::-1] if fortran else shape, dtype, progress)
            return array.T if fortran else array


def write_npz(animation: Animation, path: Path, *, single: bool = False, progress: Progress | None = None) -> None:
    """Write everything the animation holds; `single` halves the size by storing positions in single precision."""
    flag(single, "single")
    long: dict[str, Frames] = {"positions": animation.positions}
    if animation.velocities is not None:
        long["velocities"] = animation.velocities
    with (
        atomic_path(path) as temporary,
        temporary.open("wb") as stream,
        zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive,
    ):
        for name, array in _short_arrays(animation).items():
            _write_member(archive, stream, name, array, array.dtype, None)
        for index, (name, frames) in enumerate(long.items()):
            dtype = np.dtype("<f4" if single else frames.dtype.newbyteorder("<"))
            part = portion(progress, index / len(long), (index + 1) / len(long))
            _write_member(archive, stream, name, frames, dtype, part)


def read_npz(
    path: Path,
    *,
    mesh: AnyMesh | None = None,
    fps: float | None = None,
    mmap: bool | None = None,
    progress: Progress | None = None,
) -> Animation:
    """Read an animation, its mesh, velocities, contacts and skin.

    Any .npz with an array `positions` will do when `mesh` is given, or `vertices` with `tets`, `triangles` or `lines`
    are there.
    mmap: leave positions and velocities on disk (None: when they are large).
    """
    with guarded(path), open_regular(path) as stream, zipfile.ZipFile(stream) as archive:
        members = {name: info for info in archive.infolist() if (name := _name(info)) in _MEMBERS}
        stored = _Stored(path, os.fstat(stream.fileno()).st_size, stream, members, archive)
        return _assembled(stored, mesh, fps, mmap, progress)


def _assembled(
    stored: _Stored, mesh: AnyMesh | None, fps: float | None, mmap: bool | None, progress: Progress | None
) -> Animation:
    load, path, members = stored.load, stored.path, stored.members
    if "positions" not in members:
        names = sorted(_name(info) for info in stored.archive.infolist())
        raise FileError(f"{path} has no array 'positions'; it holds {', '.join(names) or 'nothing'}")
    if int(load("version", 0)) > VERSION:
        raise FileError(f"{path} is of format version {int(load('version'))}; this Cajole reads up to {VERSION}")
    end = 0.5 if "velocities" in members else 1.0
    return Animation(
        _mesh(load, path) if mesh is None else mesh,
        load("positions", on_disk=mmap, progress=portion(progress, 0.0, end)),
        float(load("fps", DEFAULT_FPS)) if fps is None else fps,
        velocities=load("velocities", on_disk=mmap, progress=portion(progress, end, 1.0)),
        contacts=_contacts(load) if "contacts_frame" in members else None,
        skin=_skin(load) if "skin_vertices" in members else None,
        start_frame=int(load("start_frame", 0)),
        name=str(load("name", path.stem)),
    )


def _short_arrays(animation: Animation) -> Mapping[str, NDArray[Any]]:
    mesh = animation.mesh
    arrays: dict[str, Any] = {
        "format": "cajole animation",
        "version": VERSION,
        "name": animation.name,
        "fps": animation.fps,
        "start_frame": animation.start_frame,
        "vertices": mesh.vertices,
        _ELEMENTS[type(mesh)]: mesh.elements,
    }
    if animation.contacts is not None:
        arrays |= {f"contacts_{name}": getattr(animation.contacts, name) for name in _CONTACT_COLUMNS}
    if animation.skin is not None:
        arrays |= _skin_arrays(animation.skin)
    return {name: np.asarray(value) for name, value in arrays.items()}


def _skin_arrays(skin: Skin) -> dict[str, Any]:
    arrays = {
        "skin_vertices": skin.mesh.vertices,
        "skin_triangles": skin.mesh.triangles,
        "skin_colors": skin.colors,
        "skin_parts": np.asarray(skin.parts, dtype=np.str_),
        "skin_labels": skin.labels,
        "skin_gloss": skin.gloss,
    }
    if skin.embedding is not None:
        arrays |= {f"skin_{name}": getattr(skin.embedding, name) for name in _EMBEDDING_COLUMNS}
    return arrays


def _mesh(load: Callable[..., Any], path: Path) -> AnyMesh:
    vertices = load("vertices")
    for kind, name in _ELEMENTS.items():
        elements = load(name)
        if vertices is not None and elements is not None:
            return kind(vertices, elements)
    raise FileError(f"{path} holds no mesh (arrays 'vertices' and 'tets', 'triangles' or 'lines'); pass mesh=")


def _contacts(load: Callable[..., Any]) -> Contacts:
    return Contacts(*(load(f"contacts_{name}") for name in _CONTACT_COLUMNS))


def _skin(load: Callable[..., Any]) -> Skin:
    tets, weights, corners, vertex_count = (load(f"skin_{name}") for name in _EMBEDDING_COLUMNS)
    return Skin(
        mesh=MeshTri(load("skin_vertices"), load("skin_triangles")),
        colors=load("skin_colors"),
        parts=tuple(str(part) for part in load("skin_parts")),
        labels=load("skin_labels"),
        gloss=load("skin_gloss"),
        embedding=None if tets is None else Embedding(tets, weights, corners, int(vertex_count)),
    )


def _write_member(
    archive: zipfile.ZipFile,
    stream: BinaryIO,
    name: str,
    array: NDArray[Any],
    dtype: np.dtype[Any],
    progress: Progress | None,
) -> None:
    info = zipfile.ZipInfo(f"{name}.npy")
    start = stream.tell() + _LOCAL_HEADER.size + len(info.filename) + 4 + _ZIP64_EXTRA
    padding = -start % _ALIGNMENT
    info.extra = struct.pack("<HH", _PADDING_ID, padding) + bytes(padding)
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": array.shape}
    with archive.open(info, "w", force_zip64=True) as member:
        np.lib.format.write_array_header_1_0(member, header)
        if array.ndim < 3:
            member.write(np.ascontiguousarray(array, dtype=dtype).tobytes())
            return
        for block in reported_blocks(len(array), array.shape[1], progress, f"writing {name}"):
            member.write(np.ascontiguousarray(array[block], dtype=dtype).data)


def _read_array(
    member: IO[bytes], shape: tuple[int, ...], dtype: np.dtype[Any], progress: Progress | None
) -> NDArray[Any]:
    result = np.empty(shape, dtype=dtype)
    if len(shape) < 3 or not result.size:
        result[...] = np.frombuffer(_exactly(member, result.nbytes), dtype=dtype).reshape(shape)
    else:
        for block in reported_blocks(shape[0], shape[1], progress, "reading"):
            part = result[block]
            part[...] = np.frombuffer(_exactly(member, part.nbytes), dtype=dtype).reshape(part.shape)
    member.read(1)  # the end of the member is where its checksum is compared
    return result


def _name(info: zipfile.ZipInfo) -> str:
    return info.filename.removesuffix(".npy")


def _data_offset(stream: BinaryIO, info: zipfile.ZipInfo) -> int:
    """Where a member's data starts: the local header's own name and extra field decide, not the directory's."""
    place = stream.tell()
    stream.seek(info.header_offset)
    fields = _LOCAL_HEADER.unpack(stream.read(_LOCAL_HEADER.size))
    stream.seek(place)
    if fields[0] != b"PK\x03\x04":
        raise InputError(f"{info.filename} does not start where the directory of the archive says; write it again")
    return info.header_offset + _LOCAL_HEADER.size + int(fields[-2]) + int(fields[-1])


def _exactly(member: IO[bytes], count: int) -> bytes:
    data = member.read(count)
    if len(data) != count:
        raise InputError(f"an array is cut short: {count} bytes were expected and {len(data)} came; write it again")
    return data
