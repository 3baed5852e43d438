"""The controller's force as a few arrows on the body.

A reduced force w is what the node forces f = M U w do along the basis, Uᵀf = w, and of all that do so they are the
least in |f|²_{M⁻¹}. Those of the vertices nearest to each of a few places are summed there, so that the arrows add up
to the whole force however fine the mesh is.
"""

from __future__ import annotations

import numpy as np

from cajole.arrays import Array
from cajole.direct.steering.disturbances import spread
from cajole.reduction import ReducedModel
from cajole.studio.content import Content

MOST_ARROWS = 24
# Arrows below this share of the largest are left out.
FAINT = 0.05
# Forces below this share of the body's weight are rounding, as of a body that nobody pushed.
ROUNDING = 1e-6
DIGITS = 5


class Arrows:
    """Places on the body and the force on what is nearest to each."""

    def __init__(self, content: Content, model: ReducedModel):
        seen = np.setdiff1d(np.unique(content.nodes), model.body.fixed)
        nodes = seen[spread(model.body.vertices[seen], MOST_ARROWS)]
        points, self._rest = model.body.vertices, model.body.vertices[nodes] + model.lift(np.zeros(model.size))[nodes]
        nearest = np.zeros(len(points), dtype=np.int64)
        distance = np.full(len(points), np.inf)
        for number, node in enumerate(nodes):
            away = ((points - points[node]) ** 2).sum(axis=1)
            nearest[away < distance] = number
            distance = np.minimum(distance, away)
        self._loads = np.zeros((len(nodes), 3, model.size))
        np.add.at(self._loads, nearest, model.mass_basis.reshape(-1, 3, model.size))
        self._least = ROUNDING * model.body.weight
        self._rows = model.basis.reshape(-1, 3, model.size)[nodes]

    def forces(self, reduced: Array) -> Array:
        """(k, 3) [N] of a reduced force (r,)."""
        return np.asarray(self._loads @ reduced)

    def told(self, state: Array, reduced: Array) -> list[list[float]]:
        """[x, y, z [m], fx, fy, fz [N]] of each arrow in a state (r,), the largest first."""
        forces = self.forces(reduced)
        order = strongest(forces, self._least)
        return listed(self._rest[order] + self._rows[order] @ state, forces[order])


def strongest(forces: Array, least: float) -> list[int]:
    """Which of some forces (k, 3) are worth an arrow, the largest first; none where all are below `least`."""
    sizes = np.linalg.norm(forces, axis=1)
    largest = float(sizes.max(initial=0.0))
    if largest <= least:
        return []
    return [int(k) for k in np.argsort(-sizes)[:MOST_ARROWS] if sizes[k] >= FAINT * largest]


def listed(places: Array, forces: Array) -> list[list[float]]:
    """[x, y, z, fx, fy, fz] of each arrow, with as many digits as can be seen."""
    rows: list[list[float]] = np.round(np.hstack([places, forces]), DIGITS).tolist()
    return rows
