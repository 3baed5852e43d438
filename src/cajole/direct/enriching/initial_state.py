"""Initial state of a shell: on its guide, or as near to it as possible."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.direct.enriching.guide import CatmullRomTrajectory
from cajole.direct.enriching.regions import Regions
from cajole.direct.enriching.tracking import ShellState, TrackingIntegrator
from cajole.dynamics import InitialState
from cajole.errors import SolveError
from cajole.mesh.rotations import compute_minimal_rotation

# errors of the means below this, in body sizes, are rounding
RESIDUAL_TOLERANCE = 1e-12


def compute_initial_state(
    integrator: TrackingIntegrator,
    guide: Animation,
    regions: Regions,
    guide_trajectory: CatmullRomTrajectory,
    start: InitialState | ArrayLike | None,
) -> tuple[ShellState, tuple[str, ...]]:
    """Compute the first state, with the averages of the first frame of the guide, and notes about it."""
    body = integrator.body
    x, v = _place_on_guide(integrator, guide, regions, guide_trajectory)
    if start is not None:
        given = start if isinstance(start, InitialState) else InitialState(displacement=start)
        if given.displacement is not None:
            u = body.check_vertex_vectors(given.displacement, "start displacement")
            body.require_zero_at_fixed_vertices(u, "start displacement")
            x = body.vertices + u
        if given.velocity is not None:
            v = body.check_vertex_vectors(given.velocity, "start velocity")
            body.require_zero_at_fixed_vertices(v, "start velocity")
    if integrator.compute_residual(x, guide_trajectory.values[0]) <= RESIDUAL_TOLERANCE:
        return ShellState(x, v, np.zeros_like(x)), ()
    met = _relax_to_guide(integrator, x, guide_trajectory.values[0])
    share = float(np.linalg.norm(met - x, axis=1).max()) / body.size
    notes = [f"the start was moved by up to {100 * share:.3g} % of the size to meet the guide"]
    # a larger ratio of sizes is probably a difference of units
    large = float(np.linalg.norm(np.ptp(guide.frame(0), axis=0)))
    if not large / 10.0 <= body.size <= large * 10.0:
        notes.append(
            f"the shell is {body.size:.3g} m large, but its guide {large:.3g} m; if one is not in metres, cajole "
            "convert with --scale 0.001 makes them of millimetres"
        )
    return ShellState(met, v, np.zeros_like(x)), tuple(notes)


def _place_on_guide(
    integrator: TrackingIntegrator, guide: Animation, regions: Regions, guide_trajectory: CatmullRomTrajectory
) -> tuple[Array, Array]:
    """Positions and velocities (n, 3): on the surface of the guide, or the rotated rest shape if that fits better.

    Painted regions can join other parts of the two shapes than those at the same place.
    """
    body, values = integrator.body, guide_trajectory.values
    # the rest shape, aligned rigidly with the means of the first and the second frame
    own = regions.fine_weights @ body.vertices / regions.areas[:, None]
    means = [values[min(frame, len(values) - 1)] / regions.areas[:, None] for frame in (0, 1)]
    aligned = [align_rigidly(own, mean, regions.areas, body.vertices) for mean in means]
    places = [(aligned[0], aligned[1])]
    if regions.interpolation is not None:
        frames = (guide.frame(min(frame, guide.frames - 1)) for frame in (0, 1))
        first, second = (np.asarray(regions.interpolation @ frame) for frame in frames)
        places.insert(0, (first, second))
    # the first of those that meet the means: rounding must not decide the initial velocity
    x, later = min(places, key=lambda pair: max(integrator.compute_residual(pair[0], values[0]), RESIDUAL_TOLERANCE))
    x[body.fixed] = body.vertices[body.fixed]
    v = (later - x) / guide.dt
    v[body.fixed] = 0.0
    return x, v


def align_rigidly(source: Array, target: Array, weights: Array, points: Array) -> Array:
    """Move `points` (k, 3) by the rotation and translation that fit `source` (m, 3) best to `target`."""
    w = weights / weights.sum()
    here, there = w @ source, w @ target
    U, sizes, Vt = np.linalg.svd((source - here).T @ (w[:, None] * (target - there)))
    if sizes[1] > 1e-9 * max(sizes[0], np.finfo(float).tiny):
        R = Vt.T @ np.diag([1.0, 1.0, np.linalg.det(Vt.T @ U.T)]) @ U.T
    else:
        # two or collinear means define the direction of a line; one mean, or means close together, no rotation
        spread = float(((points - here) ** 2).sum(axis=1).mean())
        R = compute_minimal_rotation(U[:, 0], Vt[0]) if sizes[0] > 1e-3 * spread else np.eye(3)
    return np.asarray((points - here) @ R.T + there)


def _relax_to_guide(integrator: TrackingIntegrator, x: Array, target: Array) -> Array:
    """Relax x (n, 3) by at most 40 steps without velocity: the averages are met, and the shell adapts."""
    zero = np.zeros_like(x)
    for _ in range(40):
        try:
            after = integrator.step(ShellState(x, zero, zero), target, zero).positions
        except SolveError as reason:
            raise type(reason)(
                f"the shell cannot begin on the guide's first frame: {reason}; give a start nearer to it"
            ) from None
        moved = float(np.abs(after - x).max())
        x = after
        if moved <= 1e-3 * integrator.body.size:
            break
    return x
