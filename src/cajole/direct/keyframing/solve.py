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
from cajole.direct.keyframing.keys import Key, Keys, checked_keys
from cajole.direct.keyframing.newton import Iterate
from cajole.direct.keyframing.optimisers import OPTIMISERS
from cajole.direct.keyframing.search import Options, search
from cajole.direct.keyframing.setup import Setting, mode_count
from cajole.direct.keyframing.shot import Shot, made
from cajole.direct.keyframing.timing import Freedom, checked_timing, retimed
from cajole.dynamics import State
from cajole.errors import InputError
from cajole.memory import require_memory

STARTS = ("best", "zero", "pd")


def keyframe(
    body: Body,
    keys: Keys,
    frames: int | None = None,
    dt: float | None = None,
    effort: float = 1e-4,
    modes: int | None = None,
    *,
    start: State | str | None = None,
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

    keys: {frame: displacement (n, 3) or Key}, or pairs of these; a key at frame 0 is where the motion begins.
    frames: how many, the start included; dt [s] between them; None: a quarter of a natural period for each gap between
        keys (eq. (10)), summed and spread evenly over the frames; seldom a round frame rate:
        shot.animation.resampled(24) is the same motion at another.
    effort: what added force costs against missing a key, dimensionless: 0.1 loose (keys are hints), 1e-2 soft, 1e-4
        normal (keys met to a fraction of a percent).
    modes: linear modes that enrich the basis of keys and tangents; None for 10, or for all that a small body has.
        basis: (3n, r) to use instead.
    cubature: of a body of springs, sum only a few weighted ones, see `reduce`; shot.model.report tells their error.
    start: State at frame 0, at rest when None; "free" finds the best one, priced by
    the force that would hold it. loop: the last frame flows into the first.
    timing: "free" moves keys in time where that costs less, first and last frame kept; (low, high) instead lets every
    gap between keys last that many times as long. Keys then stand at report.keys, asked for at report.asked.
    optimiser: "newton", "lbfgs" or "cg" (the paper's, soft keys from a given start only).
    starts: "best" tries zero control and two PD-driven motions and keeps the best; or "zero", "pd".
    rank: hard partial keys settle what moves their vertices by more than this share of the most; smaller costs force.
    watch: called with every iterate; returning False stops and gives the best motion so far.
    Raises InputError for keys that cannot be, NotConverged when dt is too large to simulate.
    """
    checks.require_instance(body, Body, "body")
    options = checked_options(
        effort, optimiser=optimiser, starts=starts, tolerance=tolerance, iterations=iterations, rank=rank, watch=watch
    )
    begin = time.perf_counter()
    wanted, count = checked_keys(body, keys, frames, loop=loop)
    ending = _ending(start, loop)
    _refuse_first_order(optimiser, ending, wanted)
    freedom = checked_timing(timing, ending)
    setting = Setting.of(
        body, wanted, count, modes=mode_count(body, modes), ending=ending,
        start=_begin(body, wanted, start), basis=basis, tangents=tangents, cubature=cubature,
    )  # fmt: skip
    return shot_of(setting, options, dt=dt, freedom=freedom, begin=begin)


def shot_of(
    setting: Setting,
    options: Options,
    *,
    dt: float | None = None,
    freedom: Freedom | None = None,
    begin: float | None = None,
) -> Shot:
    """The shot of a setting at hand, as `keyframe` makes it; begin: when its work began, by time.perf_counter."""
    begin = time.perf_counter() if begin is None else begin
    h = setting.natural_dt if dt is None else checks.positive(dt, "dt (s)")
    # derivatives of every step, (2r, 2r) twice, and the sweep over them
    needed = 8 * setting.steps * (24 * setting.model.size**2 + 6 * setting.model.body.count)
    require_memory(needed, f"a shot of {setting.steps} frames", "use fewer frames, or fewer modes")
    found = search(setting, np.full(setting.steps, h), options)
    if freedom is None or found.stopped:
        return made(setting, found, h, time.perf_counter() - begin)
    moved, again = retimed(setting, found, h, options, freedom)
    shot = made(moved, again, h, time.perf_counter() - begin)
    report = replace(shot.report, asked=tuple(setting.keys), fixed_timing_cost=found.outcome.cost)
    return replace(shot, report=report)


def checked_options(
    effort: float,
    *,
    optimiser: str = "newton",
    starts: str = "best",
    tolerance: float = 1e-8,
    iterations: int = 200,
    rank: float = 1e-2,
    watch: Callable[[Iterate], bool | None] | None = None,
) -> Options:
    """How to search, each value checked."""
    if watch is not None and not callable(watch):
        raise InputError(f"watch must be a function of an iterate, not {checks.shown(watch)}")
    return Options(
        checks.positive(effort, "effort"), checks.one_of(optimiser, "optimiser", OPTIMISERS),
        checks.one_of(starts, "starts", STARTS), checks.positive(tolerance, "tolerance"),
        checks.repetitions(iterations, "iterations"), _share(rank), watch,
    )  # fmt: skip


def _share(rank: float) -> float:
    if checks.positive(rank, "rank") >= 1:
        raise InputError(f"rank is {rank}, but must be a share below one, e.g. 0.01")
    return float(rank)


def _ending(start: State | str | None, loop: bool) -> str:
    if isinstance(start, str):
        checks.one_of(start, "start", ("free",))
    if loop and isinstance(start, State):
        raise InputError("a loop finds its own start; leave start out, or set loop=False")
    return "loop" if loop else "free" if isinstance(start, str) else "open"


def _refuse_first_order(optimiser: str, ending: str, keys: dict[int, Key]) -> None:
    if optimiser != "newton" and (ending != "open" or any(key.hard for key in keys.values())):
        raise InputError(f"hard keys, loops and free starts need optimiser='newton', not {optimiser!r}")


def _begin(body: Body, keys: dict[int, Key], start: State | str | None) -> tuple[Array, Array] | None:
    """Displacement and velocity of a start that was given."""
    if start is None or isinstance(start, str):
        return None
    checks.require_instance(start, State, "start")
    if 0 in keys:
        raise InputError("both start and a key at frame 0 say where the motion begins; give one of them")
    zero = np.zeros((body.count, 3))
    u = zero if start.displacement is None else body.checked(start.displacement, "start displacement")
    v = zero if start.velocity is None else body.checked(start.velocity, "start velocity")
    body.require_still(u, "start displacement")
    body.require_still(v, "start velocity")
    return u, v
