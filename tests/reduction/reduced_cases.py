"""Reduced models that the tests of this room share."""

from __future__ import annotations

import numpy as np

from bodies import Array, many_materials, rough_box
from cajole.body import BodySolid
from cajole.reduction import ReducedSolid, reduce


def solid(*, fixed: list[int] | None = None, damping: tuple[float, float] = (0.7, 0.02)) -> BodySolid:
    """A material for each tet."""
    mesh = rough_box()
    return BodySolid(mesh, many_materials(len(mesh.tets)), fixed=fixed, damping=damping)


def random_columns(body: BodySolid, size: int, seed: int = 1) -> Array:
    columns = np.random.default_rng(seed).normal(size=(body.vertex_count, 3, size))
    columns[body.fixed] = 0
    return columns.reshape(-1, size)


def reduced(size: int = 6, **options: object) -> ReducedSolid:
    body = solid(**options)  # type: ignore[arg-type]
    return reduce(body, random_columns(body, size))


def state_of(model: ReducedSolid, seed: int = 2, *, largest: float = 0.1) -> Array:
    """Coordinates whose displacement is `largest` [m] at most."""
    z = np.random.default_rng(seed).normal(size=model.size)
    return z * largest / abs(model.lift(z)).max()
