"""Where a shell begins: on its guide, or as near as the guide lets it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import Body
from cajole.direct.enriching.guide import CatmullRomTrajectory
from cajole.direct.enriching.regions import Regions
from cajole.direct.enriching.tracking import ShellState, TrackingIntegrator
from cajole.dynamics import InitialState
from cajole.errors import SolveError
from cajole.mesh.rotations import compute_minimal_rotation

# means this far off, in body sizes, are rounding
RESIDUAL_TOLERANCE = 1e-12
# steps without speed in which a shell that does not meet its guide comes to it, and the movement, in body sizes, of
# one of them at which it has
MAX_RELAXATION_STEPS, RELAXATION_TOLERANCE = 40, 1e-3
# of the mean square of distances from the middle: means nearer to each other than this point nowhere
COLLINEAR_TOLERANCE = 1e-3
# times: a shell and a guide that differ by more are hardly in the same units
MAX_SIZE_RATIO = 10.0


def compute_initial_state(
    integrator: TrackingIntegrator,
    guide: Animation,
    regions: Regions,
    guide_trajectory: CatmullRomTrajectory,
    start: InitialState | ArrayLike | None,
) -> tuple[ShellState, tuple[str, ...]]:
    """The first moment, its averages those of the guide's first frame, and what to tell about it."""
    body = integrator.body
    parts = (integrator, guide, regions, guide_trajectory)
    x, v = _place_on_guide(*parts) if start is None else _apply_start(*parts, start)
    if integrator.compute_residual(x, guide_trajectory.values[0]) <= RESIDUAL_TOLERANCE:
        return ShellState(x, v, np.zeros_like(x)), ()
    met = _relax_to_guide(integrator, x, guide_trajectory.values[0])
    share = float(np.linalg.norm(met - x, axis=1).max()) / body.size
    note = f"the start was moved by up to {100 * share:.3g} % of the size to meet the guide"
    return ShellState(met, v, np.zeros_like(x)), (note, *_describe_size_mismatch(body, guide))


def _describe_size_mismatch(body: Body, guide: Animation) -> tuple[str, ...]:
    large = float(np.linalg.norm(np.ptp(guide.frame(0), axis=0)))
    if large / MAX_SIZE_RATIO <= body.size <= large * MAX_SIZE_RATIO:
        return ()
    return (
        f"the shell is {body.size:.3g} m large, but its guide {large:.3g} m; if one is not in metres, cajole convert "
        "with --scale 0.001 makes them of millimetres",
    )


def _place_on_guide(
    integrator: TrackingIntegrator, guide: Animation, regions: Regions, guide_trajectory: CatmullRomTrajectory
) -> tuple[Array, Array]:
    """Positions and velocities (n, 3): on the guide's surface, or the rest shape turned to the means if that is nearer.

    Paint may join other parts of two shapes than those that lie on each other.
    """
    body = integrator.body
    places = [_align_rest_shape(body, regions, guide_trajectory)]
    if regions.interpolation is not None:
        frames = (guide.frame(min(frame, guide.frames - 1)) for frame in (0, 1))
        first, second = (np.asarray(regions.interpolation @ frame) for frame in frames)
        places.insert(0, (first, second))
    # of those that meet the means the first: rounding shall not decide how fast a shell begins
    x, later = min(
        places,
        key=lambda pair: max(integrator.compute_residual(pair[0], guide_trajectory.values[0]), RESIDUAL_TOLERANCE),
    )
    x[body.fixed] = body.vertices[body.fixed]
    v = (later - x) / guide.dt
    v[body.fixed] = 0.0
    return x, v


def _align_rest_shape(body: Body, regions: Regions, guide_trajectory: CatmullRomTrajectory) -> tuple[Array, Array]:
    """The rest shape (n, 3) as a rigid body that comes nearest to the means of the first frame, and of the second."""
    own = regions.fine_weights @ body.vertices / regions.areas[:, None]
    means = (
        guide_trajectory.values[min(frame, len(guide_trajectory.values) - 1)] / regions.areas[:, None]
        for frame in (0, 1)
    )
    first, second = (align_rigidly(own, mean, regions.areas, body.vertices) for mean in means)
    return first, second


def _apply_start(
    integrator: TrackingIntegrator,
    guide: Animation,
    regions: Regions,
    guide_trajectory: CatmullRomTrajectory,
    start: InitialState | ArrayLike,
) -> tuple[Array, Array]:
    body = integrator.body
    state = start if isinstance(start, InitialState) else InitialState(displacement=start)
    x, v = _place_on_guide(integrator, guide, regions, guide_trajectory)
    if state.displacement is not None:
        u = body.check_vertex_vectors(state.displacement, "start displacement")
        body.require_zero_at_fixed_vertices(u, "start displacement")
        x = body.vertices + u
    if state.velocity is not None:
        v = body.check_vertex_vectors(state.velocity, "start velocity")
        body.require_zero_at_fixed_vertices(v, "start velocity")
    return x, v


def align_rigidly(source: Array, target: Array, weights: Array, points: Array) -> Array:
    """`points` (k, 3) moved as `own` (m, 3) must be to come nearest to `wanted`: turned and shifted, never mirrored."""
    w = weights / weights.sum()
    here, there = w @ source, w @ target
    U, sizes, Vt = np.linalg.svd((source - here).T @ (w[:, None] * (target - there)))
    if sizes[1] > 1e-9 * max(sizes[0], np.finfo(float).tiny):
        R = Vt.T @ np.diag([1.0, 1.0, np.linalg.det(Vt.T @ U.T)]) @ U.T
    else:
        # two means, or means in line, tell where a line points, and one mean nothing at all
        spread = float(((points - here) ** 2).sum(axis=1).mean())
        R = compute_minimal_rotation(U[:, 0], Vt[0]) if sizes[0] > COLLINEAR_TOLERANCE * spread else np.eye(3)
    return np.asarray((points - here) @ R.T + there)


def _relax_to_guide(integrator: TrackingIntegrator, x: Array, target: Array) -> Array:
    """x (n, 3) after steps in which no speed is kept: the averages are met and the shell gives way around them."""
    zero = np.zeros_like(x)
    for _ in range(MAX_RELAXATION_STEPS):
        try:
            after = integrator.step(ShellState(x, zero, zero), target, zero).positions
        except SolveError as reason:
            raise type(reason)(
                f"the shell cannot begin on the guide's first frame: {reason}; give a start nearer to it"
            ) from None
        moved = float(np.abs(after - x).max())
        x = after
        if moved <= RELAXATION_TOLERANCE * integrator.body.size:
            break
    return x
