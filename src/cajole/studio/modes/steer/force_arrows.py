"""The controller's force on a body as a few arrows.

A reduced force w is the projection Uᵀf = w of the node forces f = M U w, which are the smallest such forces in
|f|²_{M⁻¹}. The forces of the vertices nearest to each of a few points are summed there, so that the arrows add up to
the whole force on any mesh.
"""

from __future__ import annotations

import numpy as np

from cajole.arrays import Array
from cajole.direct.steering.disturbances import sample_farthest_points
from cajole.reduction import ReducedModel
from cajole.studio.content import ProjectContent

MAX_ARROWS = 24
# Forces below this fraction of the body's weight are rounding errors, for example of a body that nobody pushed.
NEGLIGIBLE_FORCE = 1e-6


class ForceArrows:
    """Points on the body, and the force on the vertices nearest to each."""

    def __init__(self, content: ProjectContent, model: ReducedModel):
        visible = np.setdiff1d(np.unique(content.drawn_vertex_nodes), model.body.fixed)
        nodes = visible[sample_farthest_points(model.body.vertices[visible], MAX_ARROWS)]
        points, self._rest = model.body.vertices, model.body.vertices[nodes] + model.lift(np.zeros(model.size))[nodes]
        nearest, distance = np.zeros(len(points), dtype=np.int64), np.full(len(points), np.inf)
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

    def build(self, state: Array, reduced: Array) -> list[list[float]]:
        """[x, y, z [m], fx, fy, fz [N]] of each arrow at a state (r,), the largest first."""
        return build_arrows(self._rest + self._basis_rows @ state, self.compute_forces(reduced), self._min_force)


def build_arrows(positions: Array, forces: Array, min_force: float) -> list[list[float]]:
    """[x, y, z, fx, fy, fz] of the strongest forces (k, 3), the largest first; none if all are below `min_force`."""
    sizes = np.linalg.norm(forces, axis=1)
    largest = float(sizes.max(initial=0.0))
    if largest <= min_force:
        return []
    # arrows below a twentieth of the largest would not be seen
    order = [int(k) for k in np.argsort(-sizes)[:MAX_ARROWS] if sizes[k] >= 0.05 * largest]
    rows: list[list[float]] = np.round(np.hstack([positions[order], forces[order]]), 5).tolist()
    return rows
