"""Results into files: animations, loops and stills, each chosen by the suffix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cajole.animation import Animation
from cajole.animation.files import FORMATS, format_of
from cajole.errors import FileError
from cajole.pictures import picture
from cajole.pictures.loops import LOOPS, STILLS
from cajole.progress import Progress


def require_writable(paths: Sequence[Path]) -> None:
    """Raise FileError for a suffix that no format has: before the work, not after it."""
    for path in paths:
        suffix = path.suffix.lower()
        if suffix and suffix not in (*FORMATS, *STILLS, *LOOPS):
            known = " ".join((*FORMATS, *LOOPS, *STILLS))
            raise FileError(f"{path}: cannot write {suffix}; choose one of {known}")


def save(animation: Animation, path: Path, *, camera: Mapping[str, Any], progress: Progress | None = None) -> None:
    """Write an animation, a loop or a still of it, whichever the suffix means."""
    if path.suffix.lower() in (*STILLS, *LOOPS):
        picture(animation, path, **camera, progress=progress)
        return
    format_of(path)
    animation.write(path, progress=progress)
