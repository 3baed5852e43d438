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
from cajole.cli.options import BodyOptions
from cajole.direct import Controller, load_controller
from cajole.errors import InputError
from cajole.scenes import select_vertices


@dataclass(frozen=True, eq=False)
class LoadedController:
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
    def vertex_count(self) -> int:
        """The number of vertices."""
        return self.controller.model.body.vertex_count

    @cached_property
    def vertex_masses(self) -> NDArray[np.float64]:
        """(n,) [kg]"""
        return self.controller.model.body.vertex_masses

    @property
    def weight(self) -> float:
        """[N] on earth."""
        return EARTH_GRAVITY * self.controller.model.body.total_mass

    def select(self, expression: str) -> NDArray[np.int64]:
        """The vertices that a selection means; parts have no names in a file."""
        return select_vertices(expression, self.controller.model.body.get_display_mesh(), {})

    def distribute_force(self, vertices: ArrayLike, force: ArrayLike) -> NDArray[np.float64]:
        """As `Body.spread`."""
        return Body.distribute_force(cast(Body, self), vertices, force)

    def attach_skin(self, animation: Animation) -> Animation:
        """The animation with the name of the file."""
        return replace(animation, name=self.name)

    def describe(self) -> dict[str, Any]:
        """What is known of the body, as JSON has it."""
        body = self.controller.model.body
        return {"subject": self.name, "vertices": body.vertex_count, "mass_kg": body.total_mass}


def is_controller_file(source: str) -> bool:
    """Whether a source can only be a file of a controller."""
    return Path(source).suffix.lower() == ".npz"


def load_controller_file(
    body_options: BodyOptions, build_options: Mapping[str, Any], cost_weights: Mapping[str, Any]
) -> LoadedController:
    """The controller in a file, with other dials where some are given.

    options: those that say how one is made. Raises InputError for any of them: it is made.
    """
    given = [*body_options.given_names, *(name for name, value in build_options.items() if value)]
    if given:
        raise InputError(f"--{given[0]}: the controller in {body_options.source} is made already; leave it out")
    controller = load_controller(body_options.source)
    return LoadedController(
        Path(body_options.source).stem, controller.retuned(**cost_weights) if cost_weights else controller
    )
