"""Results into files: animations, loops and stills, each chosen by the suffix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cajole.animation import Animation
from cajole.animation.files import FORMATS, find_output_format, require_format_package
from cajole.animation.glb import MAX_PREVIEW_BYTES, choose_glb_options
from cajole.animation.obj_sequence import require_replaceable_sequence
from cajole.errors import FileError
from cajole.pictures import picture
from cajole.pictures.image_files import LOOP_SUFFIXES, STILL_SUFFIXES, require_image_writer
from cajole.pictures.render import compute_loop_size
from cajole.progress import ProgressCallback
from cajole.storage import require_writable_path


def require_writable(paths: Sequence[Path], *, sequences: bool = True) -> None:
    """Raise FileError or MissingExtra where a result could not be written: before the work, not after it.

    That is a suffix that no format has, a format whose package is not installed, a place that refuses files, a file
    that is written twice, and, if an .obj will be one of a sequence, files of others in its way. Files that are read
    are refused by `require_place`.
    """
    require_distinct(paths)
    for path in paths:
        suffix = path.suffix.lower()
        if not suffix:
            find_output_format(path)
        if suffix not in (*FORMATS, *STILL_SUFFIXES, *LOOP_SUFFIXES):
            known = " ".join((*FORMATS, *LOOP_SUFFIXES, *STILL_SUFFIXES))
            raise FileError(f"{path}: cannot write {suffix}; choose one of {known}")
        if suffix in FORMATS:
            require_format_package(path)
        else:
            require_image_writer(path)
        require_writable_path(
            require_replaceable_sequence(path).format_path(0) if sequences and suffix == ".obj" else path
        )


def require_distinct(paths: Sequence[Path | None]) -> None:
    """Raise FileError where two of the files to be written are one."""
    seen: set[Path] = set()
    for path in [path for path in paths if path is not None]:
        place = path.resolve()
        if place in seen:
            raise FileError(f"{path} would be written twice, and only the last would be left; name another file")
        seen.add(place)


def write_result(
    animation: Animation, path: Path, *, camera: Mapping[str, Any], progress: ProgressCallback | None = None
) -> None:
    """Write an animation, a loop or a still of it, whichever the suffix means."""
    if path.suffix.lower() in (*STILL_SUFFIXES, *LOOP_SUFFIXES):
        own = dict(camera)
        if "size" in own and path.suffix.lower() in LOOP_SUFFIXES:
            own["size"] = compute_loop_size(own["size"])
        picture(animation, path, **own, progress=progress)
        return
    animation.write(path, progress=progress, **_build_writer_options(animation, path, camera))


def _build_writer_options(animation: Animation, path: Path, camera: Mapping[str, Any]) -> dict[str, Any]:
    """What a format that is looked at is told beside the motion."""
    suffix = path.suffix.lower()
    if suffix == ".glb":
        return choose_glb_options(animation, MAX_PREVIEW_BYTES)
    return {"camera": camera} if suffix == ".html" else {}
