"""Scenes for `enrich`: coarse animations, and the shells with folds that they become."""

from __future__ import annotations

import importlib

from cajole.checks import one_of
from cajole.progress import Progress
from cajole.scenes.enriching.pictures import enrich_loop, enrich_picture, enrich_strip, enrich_view, regions_picture
from cajole.scenes.enriching.staging import Cloth, EnrichScene, Maker

__all__ = [
    "Cloth",
    "EnrichScene",
    "enrich_loop",
    "enrich_picture",
    "enrich_scene",
    "enrich_scene_names",
    "enrich_scene_purposes",
    "enrich_strip",
    "enrich_view",
    "regions_picture",
]

# name -> the module of this package, whose maker has the scene's name, and what is enriched; a new scene needs a line
_PURPOSES: dict[str, str] = {
    "flag": "a preview of 35 vertices is caught by a branch; the cloth of 1625 does as its four quarters are told",
    "box": "eight vertices: a lid is turned, pressed down and stopped dead, in nine materials along three axes",
    "bag": "88 vertices do a backflip, through themselves where they must: vinyl, silk, folds, ridges, cellophane",
    "walker": "a puppet walks, into a headwind, onto a live wire: 280 patches found from its own motion",
}


def enrich_scene_names() -> tuple[str, ...]:
    """The names that `enrich_scene` knows."""
    return tuple(_PURPOSES)


def enrich_scene_purposes() -> dict[str, str]:
    """What is enriched in each scene, by name, without making any."""
    return dict(_PURPOSES)


def enrich_scene(name: str, *, progress: Progress | None = None) -> EnrichScene:
    """A scene for `enrich`: its guide is made at first use, and read from the cache afterwards where that is slow.

    Raises InputError for an unknown name, Cancelled when `progress` returns False.
    """
    known = one_of(name, "the name of an enrich scene", enrich_scene_names())
    make: Maker = getattr(importlib.import_module(f"{__name__}.{known}"), known)
    return make(progress)
