"""NPZ: everything an Animation holds, as plain arrays that NumPy can read.

A zip of uncompressed .npy members with their data on 64-byte boundaries, so that positions can be memory-mapped from
the file. Nothing is unpickled.
"""

from __future__ import annotations

import math
import os
import struct
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from cajole.animation.animation import Animation, FrameArray
from cajole.animation.contacts import Contacts
from cajole.animation.frame_blocks import MAX_DOUBLE_PRECISION_BYTES, iter_frame_blocks_with_progress
from cajole.animation.reader_utils import DEFAULT_FPS, AnyMesh, wrap_read_errors
from cajole.checks import require_bool
from cajole.errors import FileError, InputError
from cajole.memory import require_memory
from cajole.mesh import Embedding, MeshLine, MeshTet, MeshTri, Skin
from cajole.progress import ProgressCallback, build_subprogress
from cajole.storage import open_regular_file, read_npy_header, replace_atomically, require_plausible_expansion

FORMAT_VERSION = 1
_ZIP_LOCAL_HEADER = struct.Struct("<4s5H3I2H")
_EMBEDDING_FIELDS = ("tets", "weights", "corners", "vertex_count")
_CONTACT_FIELDS = ("frame", "vertex", "normal", "kind", "other")
# the name of the element array of each kind of mesh
_ELEMENT_ARRAY_NAMES: dict[type[AnyMesh], str] = {MeshTet: "tets", MeshTri: "triangles", MeshLine: "lines"}


@dataclass(frozen=True)
class _NpzArchive:
    """An open archive of arrays."""

    path: Path
    file_size: int
    stream: BinaryIO
    members: dict[str, zipfile.ZipInfo]
    archive: zipfile.ZipFile

    def load(
        self,
        name: str,
        default: Any = None,
        *,
        memory_map: bool | None = False,
        progress: ProgressCallback | None = None,
    ) -> Any:
        """One array, memory-mapped from the file if wanted and possible (None: if it is large)."""
        if name not in self.members:
            return default
        info = self.members[name]
        require_plausible_expansion(self.path, self.file_size, sum(each.file_size for each in self.members.values()))
        with self.archive.open(info) as member:
            shape, fortran, dtype = read_npy_header(member)
            start = member.tell()
            entries = math.prod(shape)
            if entries * dtype.itemsize != info.file_size - start:
                raise FileError(
                    f"{self.path}: {name} says it has shape {shape}, which is not the size of its data; write it again"
                )
            mappable = info.compress_type == zipfile.ZIP_STORED and not fortran and dtype.kind == "f" and entries > 0
            if mappable and (info.file_size > MAX_DOUBLE_PRECISION_BYTES if memory_map is None else memory_map):
                offset = _find_data_offset(self.stream, info) + start
                return np.memmap(self.stream, dtype=dtype, mode="r", offset=offset, shape=shape)
            require_memory(info.file_size, f"{name} in {self.path}", "read it with mmap=True, or fewer frames of it")
            array = _read_array(member, shape[::-1] if fortran else shape, dtype, progress)
            return array.T if fortran else array


def write_npz(
    animation: Animation, path: Path, *, single: bool = False, progress: ProgressCallback | None = None
) -> None:
    """Write everything the animation holds; `single` stores positions in single precision, at half the size."""
    require_bool(single, "single")
    long: dict[str, FrameArray] = {"positions": animation.positions}
    if animation.velocities is not None:
        long["velocities"] = animation.velocities
    with (
        replace_atomically(path) as temporary,
        temporary.open("wb") as stream,
        zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive,
    ):
        for name, array in _collect_small_arrays(animation).items():
            _write_member(archive, stream, name, array, array.dtype, None)
        for index, (name, frames) in enumerate(long.items()):
            dtype = np.dtype("<f4" if single else frames.dtype.newbyteorder("<"))
            part = build_subprogress(progress, index / len(long), (index + 1) / len(long))
            _write_member(archive, stream, name, frames, dtype, part)


def read_npz(
    path: Path,
    *,
    mesh: AnyMesh | None = None,
    fps: float | None = None,
    mmap: bool | None = None,
    progress: ProgressCallback | None = None,
) -> Animation:
    """Read an animation, its mesh, velocities, contacts and skin.

    An .npz of another program needs an array `positions`, and `mesh` or arrays `vertices` and `tets`, `triangles` or
    `lines`. mmap: leave positions and velocities on disk (None: if they are large).
    """
    with wrap_read_errors(path), open_regular_file(path) as stream, zipfile.ZipFile(stream) as archive:
        known = {
            "positions", "velocities", "vertices", "tets", "triangles", "lines", "fps", "start_frame", "name",
            "version", *(f"contacts_{name}" for name in _CONTACT_FIELDS),
            *(f"skin_{name}" for name in ("vertices", "triangles", "colors", "parts", "labels", "gloss")),
            *(f"skin_{name}" for name in _EMBEDDING_FIELDS),
        }  # fmt: skip
        members = {name: info for info in archive.infolist() if (name := _get_array_name(info)) in known}
        stored = _NpzArchive(path, os.fstat(stream.fileno()).st_size, stream, members, archive)
        return _build_animation(stored, mesh, fps, mmap, progress)


def _build_animation(
    stored: _NpzArchive, mesh: AnyMesh | None, fps: float | None, mmap: bool | None, progress: ProgressCallback | None
) -> Animation:
    load, path, members = stored.load, stored.path, stored.members
    if "positions" not in members:
        names = sorted(_get_array_name(info) for info in stored.archive.infolist())
        raise FileError(f"{path} has no array 'positions'; it holds {', '.join(names) or 'nothing'}")
    if int(load("version", 0)) > FORMAT_VERSION:
        raise FileError(f"{path} is of format version {int(load('version'))}; this Cajole reads up to {FORMAT_VERSION}")
    if mesh is None:
        elements = {kind: load(name) for kind, name in _ELEMENT_ARRAY_NAMES.items() if name in members}
        if "vertices" not in members or not elements:
            raise FileError(f"{path} holds no mesh (arrays 'vertices' and 'tets', 'triangles' or 'lines'); pass mesh=")
        kind = next(iter(elements))
        mesh = kind(load("vertices"), elements[kind])
    contacts = skin = None
    if "contacts_frame" in members:
        contacts = Contacts(*(load(f"contacts_{name}") for name in _CONTACT_FIELDS))
    if "skin_vertices" in members:
        tets, weights, corners, vertex_count = (load(f"skin_{name}") for name in _EMBEDDING_FIELDS)
        skin = Skin(
            mesh=MeshTri(load("skin_vertices"), load("skin_triangles")),
            colors=load("skin_colors"),
            parts=tuple(str(part) for part in load("skin_parts")),
            labels=load("skin_labels"),
            gloss=load("skin_gloss"),
            embedding=None if tets is None else Embedding(tets, weights, corners, int(vertex_count)),
        )
    end = 0.5 if "velocities" in members else 1.0
    return Animation(
        mesh,
        load("positions", memory_map=mmap, progress=build_subprogress(progress, 0.0, end)),
        float(load("fps", DEFAULT_FPS)) if fps is None else fps,
        velocities=load("velocities", memory_map=mmap, progress=build_subprogress(progress, end, 1.0)),
        contacts=contacts,
        skin=skin,
        start_frame=int(load("start_frame", 0)),
        name=str(load("name", path.stem)),
    )


def _collect_small_arrays(animation: Animation) -> Mapping[str, NDArray[Any]]:
    mesh = animation.mesh
    arrays: dict[str, Any] = {
        "format": "cajole animation",
        "version": FORMAT_VERSION,
        "name": animation.name,
        "fps": animation.fps,
        "start_frame": animation.start_frame,
        "vertices": mesh.vertices,
        _ELEMENT_ARRAY_NAMES[type(mesh)]: mesh.elements,
    }
    if animation.contacts is not None:
        arrays |= {f"contacts_{name}": getattr(animation.contacts, name) for name in _CONTACT_FIELDS}
    skin = animation.skin
    if skin is not None:
        arrays |= {
            "skin_vertices": skin.mesh.vertices,
            "skin_triangles": skin.mesh.triangles,
            "skin_colors": skin.colors,
            "skin_parts": np.asarray(skin.parts, dtype=np.str_),
            "skin_labels": skin.labels,
            "skin_gloss": skin.gloss,
        }
    if skin is not None and skin.embedding is not None:
        arrays |= {f"skin_{name}": getattr(skin.embedding, name) for name in _EMBEDDING_FIELDS}
    return {name: np.asarray(value) for name, value in arrays.items()}


def _write_member(
    archive: zipfile.ZipFile,
    stream: BinaryIO,
    name: str,
    array: NDArray[Any],
    dtype: np.dtype[Any],
    progress: ProgressCallback | None,
) -> None:
    info = zipfile.ZipInfo(f"{name}.npy")
    # zipfile adds a 20-byte record of 64-bit sizes to the header; zipalign keeps padding in a record of this number
    start = stream.tell() + _ZIP_LOCAL_HEADER.size + len(info.filename) + 4 + 20
    padding = -start % 64
    info.extra = struct.pack("<HH", 0xD935, padding) + bytes(padding)
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": array.shape}
    with archive.open(info, "w", force_zip64=True) as member:
        np.lib.format.write_array_header_1_0(member, header)
        if array.ndim < 3:
            member.write(np.ascontiguousarray(array, dtype=dtype).tobytes())
            return
        for block in iter_frame_blocks_with_progress(len(array), array.shape[1], progress, f"writing {name}"):
            member.write(np.ascontiguousarray(array[block], dtype=dtype).data)


def _read_array(
    member: IO[bytes], shape: tuple[int, ...], dtype: np.dtype[Any], progress: ProgressCallback | None
) -> NDArray[Any]:
    result = np.empty(shape, dtype=dtype)
    if len(shape) < 3 or not result.size:
        result[...] = np.frombuffer(_read_exactly(member, result.nbytes), dtype=dtype).reshape(shape)
    else:
        for block in iter_frame_blocks_with_progress(shape[0], shape[1], progress, "reading"):
            part = result[block]
            part[...] = np.frombuffer(_read_exactly(member, part.nbytes), dtype=dtype).reshape(part.shape)
    member.read(1)  # the checksum is compared at the end of the member
    return result


def _get_array_name(info: zipfile.ZipInfo) -> str:
    return info.filename.removesuffix(".npy")


def _find_data_offset(stream: BinaryIO, info: zipfile.ZipInfo) -> int:
    """Offset of the data of a member: its local header may be longer than the directory says."""
    place = stream.tell()
    stream.seek(info.header_offset)
    fields = _ZIP_LOCAL_HEADER.unpack(stream.read(_ZIP_LOCAL_HEADER.size))
    stream.seek(place)
    if fields[0] != b"PK\x03\x04":
        raise InputError(f"{info.filename} does not start where the directory of the archive says; write it again")
    return info.header_offset + _ZIP_LOCAL_HEADER.size + int(fields[-2]) + int(fields[-1])


def _read_exactly(member: IO[bytes], count: int) -> bytes:
    data = member.read(count)
    if len(data) != count:
        raise InputError(f"an array is cut short: {count} bytes were expected and {len(data)} came; write it again")
    return data
