"""Scenes for `reroute`: mass-spring simulations, and nodes of them that shall go elsewhere."""

from __future__ import annotations

import importlib

from cajole.checks import OptionalPackage, one_of
from cajole.direct.rerouting.contours import SCIKIT_IMAGE
from cajole.progress import Progress
from cajole.scenes.rerouting.staging import Maker, ReroutePlan, RerouteScene

__all__ = [
    "ReroutePlan", "RerouteScene", "require_scene_packages", "reroute_plan", "reroute_scene", "reroute_scene_names",
    "reroute_scene_purposes",
]  # fmt: skip

# name -> what is rerouted; the module of that name has a maker of that name; a new scene needs a line
_PURPOSES: dict[str, str] = {
    "cloth": "400 nodes fall from two held corners; two of them are wanted elsewhere, in windows that overlap",
    "skirt": "1,980 nodes swing around walking legs; their hem shall curl, a whole target pose",
    "heart": "3,372 nodes beat, guided by sectional images of a patient; needs the extra images",
    "heart_dragged": "the same heart, nine nodes of its wall dragged by hand",
}
# of optional packages, those that a scene cannot be made without
_PACKAGES: dict[str, OptionalPackage] = {"heart": SCIKIT_IMAGE}


def require_scene_packages(name: str) -> None:
    """Raise MissingExtra if the scene `name` needs a package that is missing; other names need none."""
    if name in _PACKAGES:
        _PACKAGES[name].require()


def reroute_scene_names() -> tuple[str, ...]:
    """The names that `reroute_scene` knows."""
    return tuple(_PURPOSES)


def reroute_scene_purposes() -> dict[str, str]:
    """What is rerouted in each scene, by name, without making any."""
    return dict(_PURPOSES)


def reroute_plan(name: str) -> ReroutePlan:
    """A scene for `reroute` whose pilot has not been run yet. Raises InputError for an unknown name, MissingExtra."""
    known = one_of(name, "the name of a reroute scene", reroute_scene_names())
    require_scene_packages(known)
    make: Maker = getattr(importlib.import_module(f"{__name__}.{known}"), known)
    return make()


def reroute_scene(name: str, *, progress: Progress | None = None) -> RerouteScene:
    """A scene for `reroute`, its pilot simulated.

    Raises InputError for an unknown name, MissingExtra, Cancelled when `progress` returns False.
    """
    return reroute_plan(name).staged(progress)
