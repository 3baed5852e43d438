"""Built-in scenes for `edit`: a finished motion with a defect, and the drags that correct it."""

from __future__ import annotations

import importlib

from cajole.checks import require_choice
from cajole.pictures import Prop
from cajole.progress import ProgressCallback
from cajole.scenes.edit_scenes.edit_scene import EditScene, EditSceneFactory, VertexDrag
from cajole.scenes.edit_scenes.pictures import render_edit_frame, render_edit_loop, render_edit_strip

__all__ = [
    "EditScene",
    "Prop",
    "VertexDrag",
    "get_edit_scene_descriptions",
    "list_edit_scene_names",
    "load_edit_scene",
    "render_edit_frame",
    "render_edit_loop",
    "render_edit_strip",
]

# name -> the module of this package, its maker, called as maker(progress), and what is edited; a new scene needs a line
_SCENES: dict[str, tuple[str, str, str]] = {
    "bird": ("bird", "build_bird_scene", "a gull of triangles: a wing is bent by 45 degrees, the tail twisted by 60"),
    "bridge": (
        "bridge",
        "build_bridge_scene",
        "a storm: kept out of the sea and off two flocks of gulls by eight vertices",
    ),
    "bridge-pulled": (
        "bridge",
        "build_pulled_bridge_scene",
        "a bridge at rest: one mast is pulled across at one frame",
    ),
    "curtain": (
        "curtain",
        "build_curtain_scene",
        "cloth in the wind: three vertices make it swing higher and flap its corners",
    ),
    "stairs": (
        "stairs",
        "build_stairs_scene",
        "an elephant on a staircase: its trunk is lifted, and the contacts hold",
    ),
    "twist": ("twist", "build_twist_scene", "a beam at rest: 720 degrees in 48 drags of four corners"),
}


def list_edit_scene_names() -> tuple[str, ...]:
    """Names accepted by `load_edit_scene`."""
    return tuple(_SCENES)


def get_edit_scene_descriptions() -> dict[str, str]:
    """One-line description of each scene by name; computes nothing."""
    return {name: purpose for name, (_, _, purpose) in _SCENES.items()}


def load_edit_scene(name: str, *, progress: ProgressCallback | None = None) -> EditScene:
    """Load a scene for `edit`; its motion is computed at first use and read from the cache afterwards.

    Raises InputError for an unknown name, Cancelled when `progress` returns False.
    """
    module, maker, _ = _SCENES[require_choice(name, "the name of an edit scene", list_edit_scene_names())]
    make: EditSceneFactory = getattr(importlib.import_module(f"{__name__}.{module}"), maker)
    return make(progress)
