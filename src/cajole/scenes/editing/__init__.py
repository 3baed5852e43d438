"""Scenes for `edit`: finished motions in which something is wrong, and the drags that put it right."""

from __future__ import annotations

import importlib

from cajole.checks import one_of
from cajole.pictures import Prop
from cajole.progress import Progress
from cajole.scenes.editing.pictures import edit_loop, edit_picture, edit_strip
from cajole.scenes.editing.staging import EditScene, Maker, Move

__all__ = ["EditScene", "Move", "Prop", "edit_loop", "edit_picture", "edit_scene", "edit_scene_names", "edit_strip"]

# name -> the module of this package and its maker, called as maker(progress); a new scene needs these two and a line
_MAKERS: dict[str, tuple[str, str]] = {
    "bird": ("bird", "bird"),
    "bridge": ("bridge", "bridge"),
    "bridge-pulled": ("bridge", "bridge_pulled"),
    "curtain": ("curtain", "curtain"),
    "stairs": ("stairs", "stairs"),
    "twist": ("twist", "twist"),
}


def edit_scene_names() -> tuple[str, ...]:
    """The names that `edit_scene` knows."""
    return tuple(_MAKERS)


def edit_scene(name: str, *, progress: Progress | None = None) -> EditScene:
    """A scene for `edit`: its motion is made at first use, and read from the cache afterwards.

    Raises InputError for an unknown name, Cancelled when `progress` returns False.
    """
    module, maker = _MAKERS[one_of(name, "the name of an edit scene", edit_scene_names())]
    make: Maker = getattr(importlib.import_module(f"{__name__}.{module}"), maker)
    return make(progress)
