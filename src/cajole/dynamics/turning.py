"""The last part of a free body's pose: let it turn until the loads balance in its deformed shape.

Loads that balance at rest leave a torque once the body has deformed, of the order of the deformation. With the elastic
part already solved (no rigid motion), a few Newton steps with only the translations held find the true equilibrium.
They follow the nearest equilibrium even where it is unstable: a squeezed body does not flip over.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from cajole.body import Body
from cajole.dynamics.restricted import Restricted
from cajole.errors import NotConverged

Array = NDArray[np.float64]
Index = NDArray[np.int64]

TOLERANCE = 1e-10
FLOOR = 1e-7
MOST_ITERATIONS = 60
MOST_HALVINGS = 20
# Stiffness added against turning, relative to that of the loads: it decides turns that the loads leave undecided.
HOLD = 1e-7


def turned(body: Body, u: Array, load: Array, rigid: Array) -> Array:
    """f(u) = load with the centre of mass of every loose piece in place, starting from a pose without rigid motion."""
    scale = max(float(np.linalg.norm(load)), float(np.linalg.norm(body.force(u))))
    gradient = body.force(u) - load
    if np.linalg.norm(gradient) <= TOLERANCE * scale:
        return u
    loose = [piece for piece in body.pieces if np.any(rigid[3 * piece[0]] != 0)]
    system = Restricted(body, body.free_dofs, border=body.mass @ _translations(body, loose))
    hold = HOLD * float(np.abs(load).sum()) / (body.total_mass * body.size)
    for _ in range(MOST_ITERATIONS):
        error = float(np.linalg.norm(gradient))
        if error <= TOLERANCE * scale:
            return u
        body.system(u, np.zeros_like(u), hold, 0.0, system.values)
        system.factorise_as("kkt")
        step = system.solve(-gradient)
        for halving in range(MOST_HALVINGS):
            trial = _moved(body, loose, u, 0.5**halving * step)
            gradient = body.force(trial) - load
            if np.linalg.norm(gradient) < error:
                break
        else:
            if error <= FLOOR * scale:
                return u
            break
        u = trial
    raise NotConverged(
        "the loads balance at rest, but turn the deformed body away from every equilibrium near it; fix or pin some "
        "vertices, or reduce the loads"
    )


def _moved(body: Body, loose: list[Index], u: Array, step: Array) -> Array:
    """u after `step`, its turn taken as a true rotation: added as it is, a turn by θ would stretch the body by θ²/2."""
    out = u + step
    for piece in loose:
        masses = body.vertex_masses[piece]
        x, d = body.vertices[piece] + u[piece], step[piece]
        centre = masses @ x / masses.sum()
        arms = x - centre
        inertia = np.einsum("i,ij,ij->", masses, arms, arms) * np.eye(3) - (masses[:, None] * arms).T @ arms
        turn = np.linalg.lstsq(inertia, masses @ np.cross(arms, d), rcond=1e-12)[0]
        rest = d - np.cross(turn, arms)
        out[piece] = centre + Rotation.from_rotvec(turn).apply(arms + rest) - body.vertices[piece]
    return out


def _translations(body: Body, loose: list[Index]) -> Array:
    """Unit translations (3n, 3 k) of the k `loose` pieces, mass-normalised."""
    columns = np.zeros((body.count, 3, 3 * len(loose)))
    for number, piece in enumerate(loose):
        weight = np.sqrt(body.vertex_masses[piece].sum())
        for axis in range(3):
            columns[piece, axis, 3 * number + axis] = 1.0 / weight
    return columns.reshape(3 * body.count, -1)
