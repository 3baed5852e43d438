"""OBJ sequences: one numbered .obj file per frame, all with the same faces."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cajole.animation.animation import Animation
from cajole.animation.export_geometry import select_export_geometry
from cajole.animation.frame_blocks import choose_frame_dtype
from cajole.animation.reader_utils import DEFAULT_FPS, AnyMesh, apply_scale_and_up_axis, wrap_read_errors
from cajole.errors import FileError, InputError
from cajole.mesh import read_mesh
from cajole.mesh.formats.text_lines import read_file_bytes
from cajole.progress import ProgressCallback, report_progress
from cajole.storage import build_write_error, open_regular_file, register_output, require_not_input

_FRAME_PLACEHOLDER = re.compile(r"%0?(\d*)d|#+")
_NUMBERED_FILE = re.compile(r"(.*?)(\d+)\.obj", re.IGNORECASE)


@dataclass(frozen=True)
class ObjSequence:
    """The files folder / (prefix + number + ".obj"), numbered with at least `digits` digits from `first_number`.

    Four digits by default, so that plain sorting keeps the order up to frame 9999.
    """

    folder: Path
    prefix: str
    digits: int = 4
    first_number: int | None = None

    def format_path(self, number: int) -> Path:
        """The path of one frame."""
        return self.folder / f"{self.prefix}{number:0{self.digits}d}.obj"

    def find_files(self) -> dict[int, Path]:
        """The existing files by frame number, in order."""
        found: dict[int, Path] = {}
        name = re.compile(re.escape(self.prefix) + r"(\d+)\.obj", re.IGNORECASE)
        for path in self.folder.iterdir() if self.folder.is_dir() else ():
            match = name.fullmatch(path.name)
            if not match or int(match[1]) < (self.first_number or 0):
                continue
            number = int(match[1])
            if number in found:
                raise FileError(f"{path} and {found[number].name} are both frame {number}; remove one")
            found[number] = path
        return dict(sorted(found.items()))


def find_obj_sequence(path: Path) -> ObjSequence:
    """The sequence to read at a path: name_%04d.obj, name_####.obj, a numbered file of it, name.obj, or a folder.

    A folder must contain a single sequence. A numbered name without a file is the name of a sequence, see
    `parse_output_sequence`.
    """
    if path.suffix.lower() != ".obj":
        if not path.exists():
            raise FileError(f"{path} does not exist; check the name and the folder")
        names = (_NUMBERED_FILE.fullmatch(file.name) for file in path.iterdir()) if path.is_dir() else ()
        prefixes = sorted({match[1] for match in names if match})
        if len(prefixes) != 1:
            found = " and ".join(f"{prefix}####.obj" for prefix in prefixes) or "no numbered .obj files"
            raise FileError(f"{path} must hold one sequence, but has {found}; name one, as in {path}/name_####.obj")
        return ObjSequence(path, prefixes[0])
    match = _NUMBERED_FILE.fullmatch(path.name)
    written = parse_output_sequence(path)
    if _FRAME_PLACEHOLDER.search(path.name) or not match or (not path.is_file() and written.find_files()):
        return written
    return ObjSequence(path.parent, match[1], len(match[2]), int(match[2]))


def parse_output_sequence(path: Path) -> ObjSequence:
    """The sequence to write at a path: name_####.obj sets the place of the number, else it is added to the name.

    Digits at the end of a name are part of it: shot1.obj becomes shot1_0000.obj, shot1_0001.obj, ...
    """
    place = _FRAME_PLACEHOLDER.search(path.name)
    if not place:
        return ObjSequence(path.parent, f"{path.stem}_")
    digits = int(place[1] or 1) if place[1] is not None else len(place[0])
    if digits > 20:
        raise FileError(f"{path}: numbers of {digits} digits are too long for a file name; 4 will do")
    if path.name[place.end() :].lower() != ".obj":
        raise FileError(f"{path}: the number must stand right before .obj, as in {path.stem[: place.start()]}####.obj")
    return ObjSequence(path.parent, path.name[: place.start()], digits)


def require_replaceable_sequence(path: Path) -> ObjSequence:
    """The sequence to write at `path`. Raises FileError if files of its name exist that Cajole did not write."""
    sequence = parse_output_sequence(path)
    for file in sequence.find_files().values():
        require_not_input(file)
        with wrap_read_errors(file), open_regular_file(file, is_input=False) as stream:
            # the first line of every frame that `write_obj_sequence` writes
            head = stream.readline(1 << 16)
            ours = re.match(rb"# ['\"].*, frame \d+ of \d+, z up, metres\r?\n", head)
        if not ours:
            raise FileError(
                f"{file} is in the way of {sequence.prefix}{'#' * sequence.digits}.obj, and is no frame that Cajole "
                "wrote: choose another name, or move it away"
            )
    return sequence


def is_single_obj(path: Path) -> bool:
    """True if a path is an .obj file that belongs to no sequence."""
    return (
        path.suffix.lower() == ".obj"
        and path.is_file()
        and not _FRAME_PLACEHOLDER.search(path.name)
        and (len(find_obj_sequence(path).find_files()) <= (1 if _NUMBERED_FILE.fullmatch(path.name) else 0))
    )


def write_obj_sequence(
    animation: Animation, path: Path, *, vertices: str | None = None, progress: ProgressCallback | None = None
) -> None:
    """Write one .obj per frame, numbered from `start_frame`: x.obj becomes x_0000.obj, ...; x##.obj x00.obj, ...

    An older sequence of this name is removed; other numbered files of this name raise FileError.
    vertices: "skin", "surface" (the vertices that a triangle uses), "all" with the numbering of the mesh; None: the
    skin if there is one, else the surface. All frames are written elsewhere first, so that sequences are never mixed.
    """
    first = animation.start_frame
    if first < 0:
        raise InputError(f"start_frame is {first}, but files count from 0; use dataclasses.replace(start_frame=0)")
    sequence = require_replaceable_sequence(path)
    geometry = select_export_geometry(animation, vertices)
    line = b"f %d %d %d\n" if geometry.elements.shape[1] == 3 else b"l %d %d\n"
    faces = b"".join(line % tuple(row) for row in (geometry.elements + 1).tolist())
    with _replace_sequence(sequence) as temporary:
        for frame in range(geometry.frames):
            report_progress(progress, frame / geometry.frames, "writing frames")
            head = f"# {animation.name!r}, frame {frame} of {geometry.frames}, z up, metres\n# fps {animation.fps!r}\n"
            # ten digits exceed single precision and are half as long as double; colours as many programs read them
            values, row = geometry.positions_at(frame), "v %.10g %.10g %.10g\n"
            if geometry.colors is not None:
                values = np.hstack([values, geometry.colors])
                row = "v %.10g %.10g %.10g %.4g %.4g %.4g\n"
            text = head + row * len(values) % tuple(values.ravel().tolist())
            (temporary / sequence.format_path(first + frame).name).write_bytes(text.encode() + faces)
        report_progress(progress, 1.0, "writing frames")


def read_obj_sequence(
    path: Path,
    *,
    mesh: AnyMesh | None = None,
    fps: float | None = None,
    scale: float = 1.0,
    up: str = "z",
    progress: ProgressCallback | None = None,
) -> Animation:
    """Read a sequence, or a single file as one frame; the mesh is that of the first file unless `mesh` is given.

    fps: default that of the comment in the first file, or 60; scale, up: the unit [m] and the upward axis ("z", "y") of
    files and mesh. Raises FileError if a frame is missing or has other vertices or faces than the first.
    """
    with wrap_read_errors(path):
        files = find_obj_sequence(path).find_files() or ({0: path} if path.is_file() else {})
        if not files:
            raise FileError(f"{path}: there is no such file and no numbered .obj files; check the path")
        numbers = list(files)
        steps = np.diff(numbers)
        if len(steps) and (steps != steps.min()).any():
            at = int(np.argmax(steps != steps.min()))
            raise FileError(f"{path}: no frame between {numbers[at]} and {numbers[at + 1]}; export the missing frames")
        start, first = next(iter(files.items()))
        try:
            rest = mesh if mesh is not None else read_mesh(first)
        except InputError as reason:
            raise FileError(f"{reason}; if only this frame is at fault, pass the rest shape as mesh=") from reason
        data = read_file_bytes(first)
        positions = _read_frames(list(files.values()), len(rest.vertices), data, progress)
        match = re.search(rb"# fps ([0-9.eE+-]+)", data[:1000])
        rate = (float(match[1]) if match else DEFAULT_FPS) if fps is None else fps
        name = first.stem.rstrip("0123456789").rstrip("_") or "animation"
        return apply_scale_and_up_axis(Animation(rest, positions, rate, start_frame=start, name=name), scale, up)


def _read_frames(
    files: list[Path], n: int, first_file_bytes: bytes, progress: ProgressCallback | None
) -> NDArray[np.floating]:
    positions = np.empty((len(files), n, 3), dtype=choose_frame_dtype(len(files), n))
    _, faces = _parse_obj(first_file_bytes, files[0])
    for frame, file in enumerate(files):
        report_progress(progress, frame / len(files), f"reading {file.name}")
        points, own = _parse_obj(read_file_bytes(file, allow_empty=True), file)
        if len(points) != n:
            raise FileError(f"{file} has {len(points)} vertices, but the mesh has {n}; all frames must move one mesh")
        if own != faces and _parse_vertex_indices(own, n) != _parse_vertex_indices(faces, n):
            raise FileError(f"{file} has other faces than {files[0].name}; all frames must share the same faces")
        positions[frame] = points
    report_progress(progress, 1.0, "read all frames")
    return positions


def _parse_obj(data: bytes, file: Path) -> tuple[NDArray[np.float64], list[bytes]]:
    """The vertices and the face lines of one file."""
    lines = [line.strip() for line in data.splitlines()]
    points = [line for line in lines if line[:2] in (b"v ", b"v\t")]
    if not points:
        raise FileError(f"{file} has no vertices (lines that start with v); it is not an OBJ file")
    try:
        values = np.loadtxt(points, usecols=(1, 2, 3), ndmin=2)
    except ValueError as reason:
        raise FileError(f"{file}: a vertex is not three numbers ({reason})") from reason
    return values, [line for line in lines if line[:2] in (b"f ", b"f\t", b"l ", b"l\t")]


def _parse_vertex_indices(faces: list[bytes], n: int) -> list[list[int]]:
    """The vertex indices of face lines, without their texture and normal indices."""
    rows = [[int(word.split(b"/")[0]) for word in line.split()[1:]] for line in faces]
    return [[index if index > 0 else n + 1 + index for index in row] for row in rows]


@contextlib.contextmanager
def _replace_sequence(sequence: ObjSequence) -> Iterator[Path]:
    """A temporary folder whose files replace the sequence after the block; the old sequence stays if the block fails.

    Old frames are moved away before new ones are moved in, and moved back if that fails.
    """
    try:
        sequence.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".frames-", dir=sequence.folder) as name:
            new, old = Path(name) / "new", Path(name) / "old"
            new.mkdir()
            old.mkdir()
            yield new
            names = [path.name for path in new.iterdir()]
            _swap_files(sequence, new, old)
            for each in names:
                register_output(sequence.folder / each)
    except OSError as reason:
        raise build_write_error(sequence.format_path(0), reason) from reason


def _swap_files(sequence: ObjSequence, new_folder: Path, old_folder: Path) -> None:
    moves = [(path, old_folder / path.name) for path in sequence.find_files().values()]
    moves += [(path, sequence.folder / path.name) for path in sorted(new_folder.iterdir())]
    done: list[tuple[Path, Path]] = []
    try:
        for source, target in moves:
            os.replace(source, target)
            done.append((source, target))
    except OSError:
        for source, target in reversed(done):
            with contextlib.suppress(OSError):
                shutil.move(target, source)
        raise
