"""Motions as files, with NumPy alone: .npz goes to the studio and comes back, .pc2 and .mdd are point caches."""

from __future__ import annotations

import contextlib
import os
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np


class CacheError(Exception):
    """A file that cannot be used, in words for the author."""


@dataclass(frozen=True)
class Motion:
    """A mesh that moves. positions: (frames, n, 3) [m], in the world, z up; rest: (n, 3) [m]; triangles: (m, 3).

    fps: frames per second; start: the number of the first frame in the scene.
    """

    name: str
    positions: np.ndarray
    rest: np.ndarray
    triangles: np.ndarray
    fps: float
    start: int


def write_npz(path: Path, motion: Motion) -> None:
    """All of a motion, as Cajole reads it; positions in single precision, which is Blender's own."""
    arrays = {
        "positions": motion.positions.astype("<f4"), "vertices": motion.rest.astype("<f8"),
        "triangles": motion.triangles.astype("<i8"), "fps": np.array(motion.fps), "start_frame": np.array(motion.start),
        "name": np.array(motion.name),
    }  # fmt: skip
    _whole(path, lambda stream: np.savez(stream, **arrays))


def read_npz(path: Path) -> Motion:
    """A motion of triangles as the studio exports it; nothing in it is unpickled. Raises CacheError."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            if "triangles" not in file:
                raise CacheError("the studio's result is a solid of tets; export it there as .usdc, and import that")
            return Motion(
                str(file["name"]), file["positions"], file["vertices"], file["triangles"], float(file["fps"]),
                int(file["start_frame"]),
            )  # fmt: skip
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as reason:
        raise CacheError(f"the studio's result cannot be read ({reason}); bring it back again") from None


def write_pc2(path: Path, motion: Motion) -> None:
    """Positions as a PC2 point cache, and the mesh beside it as .obj."""
    write_points(path, motion.positions, motion.start)
    write_obj(path.with_suffix(".obj"), motion)


def write_mdd(path: Path, motion: Motion) -> None:
    """Positions as an MDD point cache, whose times tell the rate, and the mesh beside it as .obj."""
    frames, n = motion.positions.shape[:2]
    times = ((motion.start + np.arange(frames)) / motion.fps).astype(">f4")
    head = struct.pack(">ii", frames, n) + times.tobytes()
    _whole(path, lambda stream: _streamed(stream, head, motion.positions, ">f4"))
    write_obj(path.with_suffix(".obj"), motion)


def write_points(path: Path, positions: np.ndarray, start: int) -> None:
    """(frames, n, 3) as a PC2 point cache."""
    frames, n = positions.shape[:2]
    head = struct.pack("<12siiffi", b"POINTCACHE2\0", 1, n, start, 1.0, frames)
    _whole(path, lambda stream: _streamed(stream, head, positions, "<f4"))


def write_obj(path: Path, motion: Motion) -> None:
    """The mesh at rest: z up, metres."""
    lines = [f"v {x:.9g} {y:.9g} {z:.9g}\n" for x, y, z in motion.rest.tolist()]
    lines += [f"f {a} {b} {c}\n" for a, b, c in (motion.triangles + 1).tolist()]
    _whole(path, lambda stream: stream.write("".join(lines).encode()))


WRITERS: dict[str, Callable[[Path, Motion], None]] = {".npz": write_npz, ".pc2": write_pc2, ".mdd": write_mdd}


def _streamed(stream: IO[bytes], head: bytes, positions: np.ndarray, dtype: str) -> None:
    stream.write(head)
    for frame in positions:
        stream.write(np.ascontiguousarray(frame, dtype=dtype).tobytes())


def _whole(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file under another name first, so that what stands there is replaced whole or not at all."""
    part = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as stream:
            write(stream)
        os.replace(part, path)
    except OSError as reason:
        with contextlib.suppress(OSError):
            part.unlink()
        raise CacheError(f"{path} cannot be written ({reason.strerror or reason}); check the folder") from None
