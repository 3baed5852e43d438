"""Results into files: animations, loops and stills, each chosen by the suffix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cajole.animation import Animation
from cajole.animation.files import FORMATS, format_to, require_format
from cajole.animation.glb_size import LARGEST_GLB, glb_options
from cajole.animation.objs import require_replaceable
from cajole.errors import FileError
from cajole.pictures import picture
from cajole.pictures.loops import LOOPS, STILLS, require_writer
from cajole.pictures.shot import loop_size
from cajole.progress import Progress
from cajole.storage import require_place


def require_writable(paths: Sequence[Path], *, sequences: bool = True) -> None:
    """Raise FileError or MissingExtra where a result could not be written: before the work, not after it.

    That is a suffix that no format has, a format whose package is not installed, a place that refuses files, a file
    that is written twice, and, if an .obj will be one of a sequence, files of others in its way. Files that are read
    are refused by `require_place`.
    """
    require_apart(paths)
    for path in paths:
        suffix = path.suffix.lower()
        if not suffix:
            format_to(path)
        if suffix not in (*FORMATS, *STILLS, *LOOPS):
            known = " ".join((*FORMATS, *LOOPS, *STILLS))
            raise FileError(f"{path}: cannot write {suffix}; choose one of {known}")
        if suffix in FORMATS:
            require_format(path)
        else:
            require_writer(path)
        require_place(require_replaceable(path).file(0) if sequences and suffix == ".obj" else path)


def require_apart(paths: Sequence[Path | None]) -> None:
    """Raise FileError where two of the files to be written are one."""
    seen: set[Path] = set()
    for path in [path for path in paths if path is not None]:
        place = path.resolve()
        if place in seen:
            raise FileError(f"{path} would be written twice, and only the last would be left; name another file")
        seen.add(place)


def save(animation: Animation, path: Path, *, camera: Mapping[str, Any], progress: Progress | None = None) -> None:
    """Write an animation, a loop or a still of it, whichever the suffix means."""
    if path.suffix.lower() in (*STILLS, *LOOPS):
        own = dict(camera)
        if "size" in own and path.suffix.lower() in LOOPS:
            own["size"] = loop_size(own["size"])
        picture(animation, path, **own, progress=progress)
        return
    animation.write(path, progress=progress, **_options(animation, path, camera))


def _options(animation: Animation, path: Path, camera: Mapping[str, Any]) -> dict[str, Any]:
    """What a format that is looked at is told beside the motion."""
    suffix = path.suffix.lower()
    if suffix == ".glb":
        return glb_options(animation, LARGEST_GLB)
    return {"camera": camera} if suffix == ".html" else {}
