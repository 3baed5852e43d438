"""The last part of a free body's pose: let it turn until the loads balance in its deformed shape.

Loads that balance at rest leave a torque once the body has deformed, of the order of the deformation. Elastic energy
does not see rotations, so instead of the body the loads are turned: with the rigid motions held, the elastic pose is
solved again under turned loads until their torque on it vanishes, and the result is turned back. This follows the
nearest equilibrium even where it is unstable: a squeezed body does not flip over.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.transform import Rotation

from cajole.arrays import Array, IndexArray
from cajole.body import Body
from cajole.errors import NotConverged

# Torque that may be left, relative to Σ|f| times the body's size.
TOLERANCE = 1e-12
MOST_ROUNDS = 60
# Largest turn of one round [rad].
LARGEST_TURN = 0.3
# Turns about axes with less stiffness than this share of the largest are undecided (about the loads' own direction).
UNDECIDED = 1e-7


def turned(
    body: Body, u: Array, load: Array, pieces: list[IndexArray], solve: Callable[[Array, Array], Array]
) -> Array:
    """f(u) = load with the centre of mass of every loose piece in place.

    u: the pose under `load` with rigid motions held; solve(u, load): that pose again under another load, from u.
    """
    turns = [_Turn(body, piece) for piece in pieces]
    scale = float(np.abs(load).sum()) * body.size
    for _ in range(MOST_ROUNDS):
        torques = [turn.torque(u, load) for turn in turns]
        if max(float(np.linalg.norm(torque)) for torque in torques) <= TOLERANCE * scale:
            for turn in turns:
                turn.turn_back(u)
            return u
        load = load.copy()
        for turn, torque in zip(turns, torques):
            turn.advance(u, load, torque)
        u = solve(u, load)
    raise NotConverged(
        "the loads balance at rest, but keep turning the deformed body; fix or pin some vertices, or reduce the loads"
    )


class _Turn:
    """How far one loose piece has been turned, and Broyden's estimate of how the torque answers a turn."""

    def __init__(self, body: Body, piece: IndexArray):
        self.body, self.piece = body, piece
        self.masses = body.vertex_masses[piece]
        self.total = Rotation.identity()
        self._slope: Array | None = None
        self._last: tuple[Array, Array] | None = None

    def _arms(self, u: Array) -> tuple[Array, Array]:
        x = self.body.vertices[self.piece] + u[self.piece]
        centre = self.masses @ x / self.masses.sum()
        return x - centre, centre

    def torque(self, u: Array, load: Array) -> Array:
        """Σ x × f."""
        return np.cross(self._arms(u)[0], load[self.piece]).sum(axis=0)

    def advance(self, u: Array, load: Array, torque: Array) -> None:
        """Turn the loads on this piece (in place) by the δ that should bring the torque to zero."""
        delta = -_pseudo_inverse(self._slope_at(u, load, torque)) @ torque
        delta *= min(1.0, LARGEST_TURN / max(float(np.linalg.norm(delta)), 1e-300))
        back = Rotation.from_rotvec(-delta)
        load[self.piece] = back.apply(load[self.piece])
        self.total = self.total * Rotation.from_rotvec(delta)
        self._last = (delta, torque)

    def turn_back(self, u: Array) -> None:
        """Turn the piece of `u` (in place) as far as its loads were turned the other way."""
        arms, centre = self._arms(u)
        u[self.piece] = centre + self.total.apply(arms) - self.body.vertices[self.piece]

    def _slope_at(self, u: Array, load: Array, torque: Array) -> Array:
        """dτ/dδ: that of a rigid body, -(tr(S) I - Sᵀ) with S = Σ x fᵀ, corrected by the last round (Broyden)."""
        if self._slope is None or self._last is None:
            S = self._arms(u)[0].T @ load[self.piece]
            self._slope = -(np.trace(S) * np.eye(3) - S.T)
        else:
            delta, before = self._last
            change = torque - before - self._slope @ delta
            self._slope = self._slope + np.outer(change, delta) / (delta @ delta)
        return self._slope


def _pseudo_inverse(matrix: Array) -> Array:
    return np.asarray(np.linalg.pinv(matrix, rcond=UNDECIDED), dtype=np.float64)
