"""Built-in scenes for `reroute`: mass-spring simulations and targets for some of their nodes."""

from __future__ import annotations

import importlib

from cajole.checks import OptionalPackage, require_choice
from cajole.direct.rerouting.contours import SCIKIT_IMAGE
from cajole.progress import ProgressCallback
from cajole.scenes.reroute_scenes.reroute_scene import ReroutePlan, ReroutePlanFactory, RerouteScene

__all__ = [
    "ReroutePlan",
    "RerouteScene",
    "get_reroute_scene_descriptions",
    "list_reroute_scene_names",
    "load_reroute_plan",
    "load_reroute_scene",
    "require_scene_packages",
]  # fmt: skip

# name -> what is rerouted; the module of that name has a maker of that name; a new scene needs a line
_DESCRIPTIONS: dict[str, str] = {
    "cloth": "400 nodes fall from two held corners; two of them are wanted elsewhere, in windows that overlap",
    "skirt": "1,980 nodes swing around walking legs; their hem shall curl, a whole target pose",
    "heart": "3,372 nodes beat, guided by sectional images of a patient; needs the extra images",
    "heart_dragged": "the same heart, nine nodes of its wall dragged by hand",
}


def require_scene_packages(name: str) -> None:
    """Raise MissingExtra if the scene `name` needs a package that is missing; other names need none."""
    # of optional packages, those that a scene cannot be made without
    required_packages: dict[str, OptionalPackage] = {"heart": SCIKIT_IMAGE}
    if name in required_packages:
        required_packages[name].require()


def list_reroute_scene_names() -> tuple[str, ...]:
    """Names accepted by `load_reroute_scene`."""
    return tuple(_DESCRIPTIONS)


def get_reroute_scene_descriptions() -> dict[str, str]:
    """One-line description of each scene by name; computes nothing."""
    return dict(_DESCRIPTIONS)


def load_reroute_plan(name: str) -> ReroutePlan:
    """Load a scene without running its pilot simulation. Raises InputError for an unknown name, MissingExtra."""
    known = require_choice(name, "the name of a reroute scene", list_reroute_scene_names())
    require_scene_packages(known)
    make: ReroutePlanFactory = getattr(importlib.import_module(f"{__name__}.{known}"), f"build_{known}_plan")
    return make()


def load_reroute_scene(name: str, *, progress: ProgressCallback | None = None) -> RerouteScene:
    """Load a scene and run its pilot simulation.

    Raises InputError for an unknown name, MissingExtra, Cancelled when `progress` returns False.
    """
    return load_reroute_plan(name).build_scene(progress)
