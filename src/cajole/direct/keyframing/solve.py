"""`keyframe`: a few poses become a physical motion through them, with the least added force."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array
from cajole.body import Body
from cajole.direct.keyframing.keys import Key, KeysLike, check_keys
from cajole.direct.keyframing.newton import Iterate
from cajole.direct.keyframing.search import OPTIMISERS, KeyframeOptions, search_motion
from cajole.direct.keyframing.setup import ShotSetup, mode_count
from cajole.direct.keyframing.shot import Shot, build_shot
from cajole.direct.keyframing.timing import TimingBounds, optimise_timing, parse_timing
from cajole.dynamics import InitialState
from cajole.errors import InputError
from cajole.memory import require_memory


def keyframe(
    body: Body,
    keys: KeysLike,
    frames: int | None = None,
    dt: float | None = None,
    effort: float = 1e-4,
    modes: int | None = None,
    *,
    start: InitialState | str | None = None,
    loop: bool = False,
    timing: str | tuple[float, float] = "fixed",
    basis: ArrayLike | None = None,
    tangents: bool = True,
    cubature: bool | float = False,
    optimiser: str = "newton",
    starts: str = "best",
    tolerance: float = 1e-8,
    iterations: int = 200,
    rank: float = 1e-2,
    watch: Callable[[Iterate], bool | None] | None = None,
) -> Shot:
    """Minimise J = ½ mean_k weight |Δz_k|²/(m L²) + ½ effort mean_n |w_n|²/(m (L ω₁²)²) over controls w (eq. (4)).

    keys: {frame: displacement (n, 3) or Key}, or pairs of these; a key at frame 0 is the start of the motion.
    frames: number of frames, including the start; dt [s] between them; None: a quarter of a natural period for each gap
        between keys (eq. (10)), summed and divided evenly over the frames. That is seldom a round frame rate:
        shot.animation.resampled(24) is the same motion at another rate.
    effort: weight of added force against errors of keys, dimensionless: 0.1 loose (keys are hints), 1e-2 soft, 1e-4
        normal (keys met to a fraction of a percent).
    modes: linear modes that enrich the basis of keys and tangents; None for 10, or for all of a small body.
        basis: (3n, r) to use instead.
    cubature: for springs, sum only a few weighted ones, see `reduce`; shot.model.report has their error.
    start: InitialState at frame 0, at rest when None; "free" optimises it, at the cost of the force that would hold it.
    loop: the last frame continues into the first.
    timing: "free" moves keys in time if that lowers the cost, with the first and last frame kept; (low, high) bounds
        the stretch of every gap between keys instead. Keys are then at report.keys, given at report.requested_frames.
    optimiser: "newton", "lbfgs" or "cg" (the paper's; soft keys and a given start only).
    starts: "best" tries zero control and two PD-driven motions and keeps the best; or "zero", "pd".
    rank: hard partial keys constrain combinations that move their vertices by more than this share of the largest;
        smaller values need more force.
    watch: called with every iterate; return False to stop with the best motion so far.
    Raises InputError for invalid keys, NotConverged when dt is too large to simulate.
    """
    checks.require_instance(body, Body, "body")
    options = check_options(
        effort, optimiser=optimiser, starts=starts, tolerance=tolerance, iterations=iterations, rank=rank, watch=watch
    )
    start_time = time.perf_counter()
    checked_keys, count = check_keys(body, keys, frames, loop=loop)
    if isinstance(start, str):
        checks.require_choice(start, "start", ("free",))
    if loop and isinstance(start, InitialState):
        raise InputError("a loop finds its own start; leave start out, or set loop=False")
    boundary = "loop" if loop else "free" if isinstance(start, str) else "open"
    if optimiser != "newton" and (boundary != "open" or any(key.hard for key in checked_keys.values())):
        raise InputError(f"hard keys, loops and free starts need optimiser='newton', not {optimiser!r}")
    timing_bounds = parse_timing(timing, boundary)
    setup = ShotSetup.from_keys(
        body, checked_keys, count, modes=mode_count(body, modes), boundary=boundary,
        start=_check_start(body, checked_keys, start), basis=basis, tangents=tangents, cubature=cubature,
    )  # fmt: skip
    return solve_shot(setup, options, dt=dt, timing_bounds=timing_bounds, start_time=start_time)


def solve_shot(
    setup: ShotSetup,
    options: KeyframeOptions,
    *,
    dt: float | None = None,
    timing_bounds: TimingBounds | None = None,
    start_time: float | None = None,
) -> Shot:
    """Solve a prepared shot as `keyframe` does; start_time: time.perf_counter() at the start of its preparation."""
    start_time = time.perf_counter() if start_time is None else start_time
    h = setup.natural_dt if dt is None else checks.require_positive(dt, "dt (s)")
    # derivatives of every step, (2r, 2r) twice, and the sweep over them
    needed = 8 * setup.step_count * (24 * setup.model.size**2 + 6 * setup.model.body.vertex_count)
    require_memory(needed, f"a shot of {setup.step_count} frames", "use fewer frames, or fewer modes")
    result = search_motion(setup, np.full(setup.step_count, h), options)
    if timing_bounds is None or result.stopped:
        return build_shot(setup, result, h, time.perf_counter() - start_time)
    moved, again = optimise_timing(setup, result, h, options, timing_bounds)
    shot = build_shot(moved, again, h, time.perf_counter() - start_time)
    report = replace(shot.report, requested_frames=tuple(setup.keys), fixed_timing_cost=result.solution.cost)
    return replace(shot, report=report)


def check_options(
    effort: float,
    *,
    optimiser: str = "newton",
    starts: str = "best",
    tolerance: float = 1e-8,
    iterations: int = 200,
    rank: float = 1e-2,
    watch: Callable[[Iterate], bool | None] | None = None,
) -> KeyframeOptions:
    """Options of the search, each value checked."""
    if watch is not None and not callable(watch):
        raise InputError(f"watch must be a function of an iterate, not {checks.format_value(watch)}")
    if checks.require_positive(rank, "rank") >= 1:
        raise InputError(f"rank is {rank}, but must be a share below one, e.g. 0.01")
    return KeyframeOptions(
        checks.require_positive(effort, "effort"),
        checks.require_choice(optimiser, "optimiser", OPTIMISERS),
        checks.require_choice(starts, "starts", ("best", "zero", "pd")),
        checks.require_positive(tolerance, "tolerance"),
        checks.repetitions(iterations, "iterations"),
        float(rank),
        watch,
    )


def _check_start(body: Body, keys: dict[int, Key], start: InitialState | str | None) -> tuple[Array, Array] | None:
    """Displacement and velocity (n, 3) of a start that was given."""
    if start is None or isinstance(start, str):
        return None
    checks.require_instance(start, InitialState, "start")
    if 0 in keys:
        raise InputError("both start and a key at frame 0 say where the motion begins; give one of them")
    zero = np.zeros((body.vertex_count, 3))
    u = zero if start.displacement is None else body.check_vertex_vectors(start.displacement, "start displacement")
    v = zero if start.velocity is None else body.check_vertex_vectors(start.velocity, "start velocity")
    body.require_zero_at_fixed_vertices(u, "start displacement")
    body.require_zero_at_fixed_vertices(v, "start velocity")
    return u, v
