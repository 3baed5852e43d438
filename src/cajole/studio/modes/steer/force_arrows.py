"""The controller's force as a few arrows on the body.

A reduced force w is what the node forces f = M U w do along the basis, Uᵀf = w, and of all that do so they are the
least in |f|²_{M⁻¹}. Those of the vertices nearest to each of a few places are summed there, so that the arrows add up
to the whole force however fine the mesh is.
"""

from __future__ import annotations

import numpy as np

from cajole.arrays import Array
from cajole.direct.steering.disturbances import sample_farthest_points
from cajole.reduction import ReducedModel
from cajole.studio.content import ProjectContent

MAX_ARROWS = 24
# Arrows below this share of the largest are left out.
MIN_RELATIVE_FORCE = 0.05
# Forces below this share of the body's weight are rounding, as of a body that nobody pushed.
NEGLIGIBLE_FORCE = 1e-6
DIGITS = 5


class ForceArrows:
    """Places on the body and the force on what is nearest to each."""

    def __init__(self, content: ProjectContent, model: ReducedModel):
        seen = np.setdiff1d(np.unique(content.drawn_vertex_nodes), model.body.fixed)
        nodes = seen[sample_farthest_points(model.body.vertices[seen], MAX_ARROWS)]
        points, self._rest = model.body.vertices, model.body.vertices[nodes] + model.lift(np.zeros(model.size))[nodes]
        nearest = np.zeros(len(points), dtype=np.int64)
        distance = np.full(len(points), np.inf)
        for number, node in enumerate(nodes):
            away = ((points - points[node]) ** 2).sum(axis=1)
            nearest[away < distance] = number
            distance = np.minimum(distance, away)
        self._force_basis = np.zeros((len(nodes), 3, model.size))
        np.add.at(self._force_basis, nearest, model.mass_basis.reshape(-1, 3, model.size))
        self._min_force = NEGLIGIBLE_FORCE * model.body.weight
        self._basis_rows = model.basis.reshape(-1, 3, model.size)[nodes]

    def compute_forces(self, reduced: Array) -> Array:
        """(k, 3) [N] of a reduced force (r,)."""
        return np.asarray(self._force_basis @ reduced)

    def build_arrows(self, state: Array, reduced: Array) -> list[list[float]]:
        """[x, y, z [m], fx, fy, fz [N]] of each arrow in a state (r,), the largest first."""
        forces = self.compute_forces(reduced)
        order = select_strongest(forces, self._min_force)
        return format_arrows(self._rest[order] + self._basis_rows[order] @ state, forces[order])


def select_strongest(forces: Array, min_force: float) -> list[int]:
    """Which of some forces (k, 3) are worth an arrow, the largest first; none where all are below `least`."""
    sizes = np.linalg.norm(forces, axis=1)
    largest = float(sizes.max(initial=0.0))
    if largest <= min_force:
        return []
    return [int(k) for k in np.argsort(-sizes)[:MAX_ARROWS] if sizes[k] >= MIN_RELATIVE_FORCE * largest]


def format_arrows(positions: Array, forces: Array) -> list[list[float]]:
    """[x, y, z, fx, fy, fz] of each arrow, with as many digits as can be seen."""
    rows: list[list[float]] = np.round(np.hstack([positions, forces]), DIGITS).tolist()
    return rows
