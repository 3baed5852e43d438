"""Built-in scenes for `enrich`: coarse animations and the thin shells that track them."""

from __future__ import annotations

import importlib

from cajole.checks import require_choice
from cajole.progress import ProgressCallback
from cajole.scenes.enrich_scenes.enrich_scene import EnrichScene, EnrichSceneFactory, ShellVariant
from cajole.scenes.enrich_scenes.pictures import (
    build_picture_options,
    render_enrich_frame,
    render_enrich_loop,
    render_enrich_strip,
    render_regions,
)

__all__ = [
    "EnrichScene",
    "ShellVariant",
    "build_picture_options",
    "get_enrich_scene_descriptions",
    "list_enrich_scene_names",
    "load_enrich_scene",
    "render_enrich_frame",
    "render_enrich_loop",
    "render_enrich_strip",
    "render_regions",
]

# name -> the module of this package, whose maker has the scene's name, and what is enriched; a new scene needs a line
_DESCRIPTIONS: dict[str, str] = {
    "flag": "a preview of 35 vertices is caught by a branch; the cloth of 1625 does as its four quarters are told",
    "box": "eight vertices: a lid is turned, pressed down and stopped dead, in nine materials along three axes",
    "bag": "88 vertices do a backflip, through themselves where they must: vinyl, silk, folds, ridges, cellophane",
    "walker": "a puppet walks, into a headwind, onto a live wire: 280 patches found from its own motion",
}


def list_enrich_scene_names() -> tuple[str, ...]:
    """Names accepted by `load_enrich_scene`."""
    return tuple(_DESCRIPTIONS)


def get_enrich_scene_descriptions() -> dict[str, str]:
    """One-line description of each scene by name; computes nothing."""
    return dict(_DESCRIPTIONS)


def load_enrich_scene(name: str, *, progress: ProgressCallback | None = None) -> EnrichScene:
    """Load a scene for `enrich`; an expensive guide is computed at first use and read from the cache afterwards.

    Raises InputError for an unknown name, Cancelled when `progress` returns False.
    """
    known = require_choice(name, "the name of an enrich scene", list_enrich_scene_names())
    make: EnrichSceneFactory = getattr(importlib.import_module(f"{__name__}.{known}"), f"build_{known}_scene")
    return make(progress)
