"""Result files of commands: animations, loops and stills, selected by the suffix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cajole.animation import Animation
from cajole.animation.files import FORMATS, require_format_package
from cajole.animation.format_registry import find_output_format
from cajole.animation.glb import MAX_PREVIEW_BYTES, choose_glb_options
from cajole.animation.obj_sequence import require_replaceable_sequence
from cajole.errors import FileError
from cajole.pictures import picture
from cajole.pictures.image_files import LOOP_SUFFIXES, STILL_SUFFIXES, require_image_writer
from cajole.pictures.render import compute_loop_size
from cajole.progress import ProgressCallback
from cajole.storage import require_writable_path


def require_writable(paths: Sequence[Path], *, sequences: bool = True) -> None:
    """Raise FileError or MissingExtra for results that cannot be written, before the work starts.

    Reasons are an unknown suffix, a format whose package is missing, a folder that refuses files, a file that is
    written twice and, if an .obj will be one of a sequence, foreign files in its way. Files that are read are refused
    by `protect_inputs`.
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
        first_frame = sequences and suffix == ".obj"
        require_writable_path(require_replaceable_sequence(path).format_path(0) if first_frame else path)


def require_distinct(paths: Sequence[Path | None]) -> None:
    """Raise FileError if two of the files to be written are the same."""
    seen: set[Path] = set()
    for path in [path for path in paths if path is not None]:
        if path.resolve() in seen:
            raise FileError(f"{path} would be written twice, and only the last would be left; name another file")
        seen.add(path.resolve())


def write_results(
    animation: Animation, paths: Sequence[Path], *, camera: Mapping[str, Any], progress: ProgressCallback | None = None
) -> None:
    """Write an animation, or a loop or a still of it, to each path."""
    for path in paths:
        suffix = path.suffix.lower()
        if suffix in LOOP_SUFFIXES and "size" in camera:
            picture(animation, path, **{**camera, "size": compute_loop_size(camera["size"])}, progress=progress)
        elif suffix in (*STILL_SUFFIXES, *LOOP_SUFFIXES):
            picture(animation, path, **camera, progress=progress)
        else:
            options: dict[str, Any] = {"camera": camera} if suffix == ".html" else {}
            if suffix == ".glb":
                options = choose_glb_options(animation, MAX_PREVIEW_BYTES)
            animation.write(path, progress=progress, **options)
