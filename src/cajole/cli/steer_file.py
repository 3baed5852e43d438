"""`cajole steer CONTROLLER.npz`: a controller from a file runs again, against other pushes and wind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole.animation import Animation
from cajole.body import Body
from cajole.body.base import EARTH_GRAVITY
from cajole.cli.options import Asked
from cajole.direct import Controller, load_controller
from cajole.errors import InputError
from cajole.scenes import select


@dataclass(frozen=True, eq=False)
class Loaded:
    """A controller and what its file knows of the body, as pushes and reports ask for it."""

    name: str
    controller: Controller
    notes: tuple[str, ...] = ()
    skin: None = None

    @property
    def camera(self) -> dict[str, Any]:
        """Nothing: files hold no camera."""
        return {}

    @property
    def count(self) -> int:
        """The number of vertices."""
        return self.controller.model.body.count

    @cached_property
    def vertex_masses(self) -> NDArray[np.float64]:
        """(n,) [kg]"""
        return self.controller.model.body.vertex_masses

    @property
    def weight(self) -> float:
        """[N] on earth."""
        return EARTH_GRAVITY * self.controller.model.body.total_mass

    def selected(self, text: str) -> NDArray[np.int64]:
        """The vertices that a selection means; parts have no names in a file."""
        return select(text, self.controller.model.body.drawn_mesh(), {})

    def spread(self, vertices: ArrayLike, force: ArrayLike) -> NDArray[np.float64]:
        """As `Body.spread`."""
        return Body.spread(cast(Body, self), vertices, force)

    def dressed(self, animation: Animation) -> Animation:
        """The animation with the name of the file."""
        return replace(animation, name=self.name)

    def about(self) -> dict[str, Any]:
        """What is known of the body, as JSON has it."""
        body = self.controller.model.body
        return {"subject": self.name, "vertices": body.count, "mass_kg": body.total_mass}


def is_controller(source: str) -> bool:
    """Whether a source can only be a file of a controller."""
    return Path(source).suffix.lower() == ".npz"


def loaded(asked: Asked, options: Mapping[str, Any], dials: Mapping[str, Any]) -> Loaded:
    """The controller in a file, with other dials where some are given.

    options: those that say how one is made. Raises InputError for any of them: it is made.
    """
    given = [*asked.given, *(name for name, value in options.items() if value)]
    if given:
        raise InputError(f"--{given[0]}: the controller in {asked.source} is made already; leave it out")
    controller = load_controller(asked.source)
    return Loaded(Path(asked.source).stem, controller.retuned(**dials) if dials else controller)
