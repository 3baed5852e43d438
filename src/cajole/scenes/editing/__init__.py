"""Scenes for `edit`: finished motions in which something is wrong, and the drags that put it right."""

from __future__ import annotations

import importlib

from cajole.checks import one_of
from cajole.pictures import Prop
from cajole.progress import Progress
from cajole.scenes.editing.pictures import edit_loop, edit_picture, edit_strip
from cajole.scenes.editing.staging import EditScene, Maker, Move

__all__ = [
    "EditScene",
    "Move",
    "Prop",
    "edit_loop",
    "edit_picture",
    "edit_scene",
    "edit_scene_names",
    "edit_scene_purposes",
    "edit_strip",
]

# name -> the module of this package, its maker, called as maker(progress), and what is edited; a new scene needs a line
_MAKERS: dict[str, tuple[str, str, str]] = {
    "bird": ("bird", "bird", "a gull of triangles: a wing is bent by 45 degrees, the tail twisted by 60"),
    "bridge": ("bridge", "bridge", "a storm: kept out of the sea and off two flocks of gulls by eight vertices"),
    "bridge-pulled": ("bridge", "bridge_pulled", "a bridge at rest: one mast is pulled across at one frame"),
    "curtain": ("curtain", "curtain", "cloth in the wind: three vertices make it swing higher and flap its corners"),
    "stairs": ("stairs", "stairs", "an elephant on a staircase: its trunk is lifted, and the contacts hold"),
    "twist": ("twist", "twist", "a beam at rest: 720 degrees in 48 drags of four corners"),
}


def edit_scene_names() -> tuple[str, ...]:
    """The names that `edit_scene` knows."""
    return tuple(_MAKERS)


def edit_scene_purposes() -> dict[str, str]:
    """What is edited in each scene, by name, without making any."""
    return {name: purpose for name, (_, _, purpose) in _MAKERS.items()}


def edit_scene(name: str, *, progress: Progress | None = None) -> EditScene:
    """A scene for `edit`: its motion is made at first use, and read from the cache afterwards.

    Raises InputError for an unknown name, Cancelled when `progress` returns False.
    """
    module, maker, _ = _MAKERS[one_of(name, "the name of an edit scene", edit_scene_names())]
    make: Maker = getattr(importlib.import_module(f"{__name__}.{module}"), maker)
    return make(progress)
