"""Where a shell begins: on its guide, or as near as the guide lets it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import Body
from cajole.direct.enriching.regions import Regions
from cajole.direct.enriching.stepping import Moment, Tracker
from cajole.direct.enriching.targets import Course
from cajole.dynamics import State
from cajole.errors import SolveError
from cajole.mesh.turns import shortest_turn

# means this far off, in body sizes, are rounding
MET = 1e-12
# steps without speed in which a shell that does not meet its guide comes to it, and the movement, in body sizes, of
# one of them at which it has
MOST_STEPS, RESTS = 40, 1e-3
# of the mean square of distances from the middle: means nearer to each other than this point nowhere
LINE = 1e-3
# times: a shell and a guide that differ by more are hardly in the same units
OTHER_UNITS = 10.0


def begun(
    tracker: Tracker, guide: Animation, regions: Regions, course: Course, start: State | ArrayLike | None
) -> tuple[Moment, tuple[str, ...]]:
    """The first moment, its averages those of the guide's first frame, and what to tell about it."""
    body = tracker.body
    parts = (tracker, guide, regions, course)
    x, v = _placed(*parts) if start is None else _given(*parts, start)
    if tracker.gap(x, course.values[0]) <= MET:
        return Moment(x, v, np.zeros_like(x)), ()
    met = _relaxed(tracker, x, course.values[0])
    share = float(np.linalg.norm(met - x, axis=1).max()) / body.size
    note = f"the start was moved by up to {100 * share:.3g} % of the size to meet the guide"
    return Moment(met, v, np.zeros_like(x)), (note, *_of_other_units(body, guide))


def _of_other_units(body: Body, guide: Animation) -> tuple[str, ...]:
    large = float(np.linalg.norm(np.ptp(guide.frame(0), axis=0)))
    if large / OTHER_UNITS <= body.size <= large * OTHER_UNITS:
        return ()
    return (
        f"the shell is {body.size:.3g} m large, but its guide {large:.3g} m; if one is not in metres, cajole convert "
        "with --scale 0.001 makes them of millimetres",
    )


def _placed(tracker: Tracker, guide: Animation, regions: Regions, course: Course) -> tuple[Array, Array]:
    """Positions and velocities (n, 3): on the guide's surface, or the rest shape turned to the means if that is nearer.

    Paint may join other parts of two shapes than those that lie on each other.
    """
    body = tracker.body
    places = [_turned(body, regions, course)]
    if regions.lift is not None:
        frames = (guide.frame(min(frame, guide.frames - 1)) for frame in (0, 1))
        first, second = (np.asarray(regions.lift @ frame) for frame in frames)
        places.insert(0, (first, second))
    # of those that meet the means the first: rounding shall not decide how fast a shell begins
    x, later = min(places, key=lambda pair: max(tracker.gap(pair[0], course.values[0]), MET))
    x[body.fixed] = body.vertices[body.fixed]
    v = (later - x) / guide.dt
    v[body.fixed] = 0.0
    return x, v


def _turned(body: Body, regions: Regions, course: Course) -> tuple[Array, Array]:
    """The rest shape (n, 3) as a rigid body that comes nearest to the means of the first frame, and of the second."""
    own = regions.fine @ body.vertices / regions.areas[:, None]
    means = (course.values[min(frame, len(course.values) - 1)] / regions.areas[:, None] for frame in (0, 1))
    first, second = (rigid_fit(own, mean, regions.areas, body.vertices) for mean in means)
    return first, second


def _given(
    tracker: Tracker, guide: Animation, regions: Regions, course: Course, start: State | ArrayLike
) -> tuple[Array, Array]:
    body = tracker.body
    state = start if isinstance(start, State) else State(displacement=start)
    x, v = _placed(tracker, guide, regions, course)
    if state.displacement is not None:
        u = body.checked(state.displacement, "start displacement")
        body.require_still(u, "start displacement")
        x = body.vertices + u
    if state.velocity is not None:
        v = body.checked(state.velocity, "start velocity")
        body.require_still(v, "start velocity")
    return x, v


def rigid_fit(own: Array, wanted: Array, weights: Array, points: Array) -> Array:
    """`points` (k, 3) moved as `own` (m, 3) must be to come nearest to `wanted`: turned and shifted, never mirrored."""
    w = weights / weights.sum()
    here, there = w @ own, w @ wanted
    U, sizes, Vt = np.linalg.svd((own - here).T @ (w[:, None] * (wanted - there)))
    if sizes[1] > 1e-9 * max(sizes[0], np.finfo(float).tiny):
        R = Vt.T @ np.diag([1.0, 1.0, np.linalg.det(Vt.T @ U.T)]) @ U.T
    else:
        # two means, or means in line, tell where a line points, and one mean nothing at all
        spread = float(((points - here) ** 2).sum(axis=1).mean())
        R = shortest_turn(U[:, 0], Vt[0]) if sizes[0] > LINE * spread else np.eye(3)
    return np.asarray((points - here) @ R.T + there)


def _relaxed(tracker: Tracker, x: Array, target: Array) -> Array:
    """x (n, 3) after steps in which no speed is kept: the averages are met and the shell gives way around them."""
    zero = np.zeros_like(x)
    for _ in range(MOST_STEPS):
        try:
            after = tracker.step(Moment(x, zero, zero), target, zero).positions
        except SolveError as reason:
            raise type(reason)(
                f"the shell cannot begin on the guide's first frame: {reason}; give a start nearer to it"
            ) from None
        moved = float(np.abs(after - x).max())
        x = after
        if moved <= RESTS * tracker.body.size:
            break
    return x
