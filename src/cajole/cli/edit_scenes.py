"""`cajole edit NAME`: a built-in motion in which something is wrong, and the drags that put it right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cajole.animation import Animation
from cajole.cli.edited import Cast
from cajole.cli.moves import Move
from cajole.cli.options import Asked
from cajole.errors import InputError
from cajole.progress import Progress, portion
from cajole.scenes.editing import edit_scene, edit_scene_names


@dataclass(frozen=True, eq=False)
class Staged:
    """A scene as the command takes it: the motion, who plays in it, settings of `edit`, and its own drags."""

    animation: Animation
    cast: Cast
    settings: Mapping[str, Any]
    moves: list[Move]


def require_sayable(source: str, asked: Asked, reading: Mapping[str, Any]) -> bool:
    """Whether a source names a scene. Raises InputError for what is no file either, and for options that one has."""
    if source not in edit_scene_names():
        if not Path(source).suffix and not Path(source).exists():
            known = ", ".join(edit_scene_names())
            raise InputError(f"{source!r} is no scene to edit ({known}) and no file; files have a suffix")
        return False
    said = ["body"] * bool(asked.source) + asked.given + [name for name, value in reading.items() if value is not None]
    if said:
        raise InputError(f"--{said[0]} is the scene's own; leave it out, or give a file")
    return True


def staged(source: str, progress: Progress) -> Staged:
    """The scene of that name."""
    found = edit_scene(source, progress=portion(progress, 0.0, 0.2))
    settings = {"modes": found.modes, **found.settings}
    return Staged(found.animation, Cast(found.body, camera=found.camera), settings, [move.make for move in found.moves])
