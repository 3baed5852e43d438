"""From keys to a motion in the studio: the work, what is seen of it meanwhile, and what is kept of it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole import checks
from cajole.arrays import Array, IndexArray
from cajole.body import Body
from cajole.direct import Shot
from cajole.direct.keyframing.keys import checked_keys
from cajole.direct.keyframing.newton import Iterate
from cajole.direct.keyframing.pulling import Moment
from cajole.direct.keyframing.setup import Setting
from cajole.direct.keyframing.shot import KeyframeReport
from cajole.direct.keyframing.solve import checked_options, shot_of
from cajole.dynamics.vibration import count_modes
from cajole.reduction import reduce
from cajole.studio.modes.keys import Keys, common_pins, is_held, wanted
from cajole.studio.modes.telling import percent

# Motions that a search begins with, each led to its end; exact keys take one more. And how far a gradient falls.
STARTS, TOLERANCE = 3, 1e-8


@dataclass(frozen=True)
class Dials:
    """What is asked of the motion beside its keys; dt [s], the natural one when None."""

    effort: float = 1e-4
    detail: int = 10
    frames: int = 121
    dt: float | None = None
    loop: bool = False


def asked(keys: Keys, dials: Dials) -> tuple[Any, ...]:
    """All that a motion depends on: equal when it need not be made again."""
    made_of = ((id(key.moment.displacement), id(key.moment.pins)) for key in keys)
    return (dials, *((key.frame, *poses, key.hard, key.weight) for key, poses in zip(keys, made_of)))


@dataclass(frozen=True, eq=False)
class Take:
    """A motion that was made: states (frames, r) in `basis` (3n, r), added force (frames,) in body weights.

    missed: how far each key, by its id, is from what it asked for, in body sizes; about: cost, iterations, seconds and
    the report; what made it: `asked`, with the moments of the keys, so that ids of their parts stay theirs; held: (k,)
    vertices that pins held.
    """

    basis: Array
    states: Array
    velocities: Array
    controls: Array
    start: tuple[Array, Array] | None
    curve: Array
    dt: float
    loop: bool
    missed: Mapping[str, float]
    about: Mapping[str, Any]
    asked: tuple[Any, ...]
    moments: tuple[Moment, ...]
    held: IndexArray
    _shot: list[Shot] = field(default_factory=list)

    def shot(self, body: Body) -> Shot:
        """As `keyframe` returned it; of a motion that was read back, made anew from its controls."""
        if not self._shot:
            self._shot.append(self._restored(body))
        return self._shot[0]

    def _restored(self, body: Body) -> Shot:
        about, model = self.about, reduce(holding(body, self.held), self.basis)
        report = KeyframeReport(
            keys=tuple(about["keys"]), errors=tuple(about["errors"]), gentleness=self.curve[-len(self.controls) :],
            cost=about["cost"], iterations=about["iterations"], converged=about["converged"], seconds=about["seconds"],
            starts=(), basis=None, frames=len(self.states), dt=self.dt,
        )  # fmt: skip
        # the feedback of the last sweep is large and of no further use: `steer` makes its own
        gains = np.empty((0, model.size, 2 * model.size))
        return Shot(model, self.states, self.velocities, self.controls, gains, self.dt, report, self.start, self.loop)


def holding(body: Body, held: IndexArray) -> Body:
    """The body that a shot is made of: `body`, held by the pins of its keys where there are such."""
    return body.holding(held) if len(held) else body


def taken(shot: Shot, keys: Keys, dials: Dials, pins: IndexArray) -> Take:
    """What is kept of a shot through `keys`; pins: vertices (k,) that all of them pin."""
    report = shot.report
    held = np.intersect1d(pins, shot.model.body.fixed)
    errors = dict(zip(report.keys, report.errors))
    before = len(shot.states) - len(report.gentleness)
    about = {
        "cost": float(report.cost),
        "worst": float(max(report.errors, default=0.0)),
        "iterations": int(report.iterations),
        "seconds": float(report.seconds),
        "converged": bool(report.converged),
        "keys": [int(frame) for frame in report.keys],
        "errors": [float(error) for error in report.errors],
        "text": told(report, len(pins), len(held)),
    }
    return Take(
        shot.model.basis, shot.states, shot.velocities, shot.controls, shot.start,
        np.concatenate([np.zeros(before), report.gentleness]), shot.dt, shot.loop,
        {key.id: float(errors.get(key.frame, 0.0)) for key in keys}, about, asked(keys, dials),
        tuple(key.moment for key in keys), held, [shot],
    )  # fmt: skip


def told(report: KeyframeReport, pins: int, held: int) -> str:
    """What was reached, in a sentence or two; pins: how many points are pinned, held: how many of them hold."""
    worst, force = percent(max(report.errors, default=0.0)), percent(report.mean_gentleness)
    pinned = f", held at {held} pinned point{'' if held == 1 else 's'}" if held else ""
    said = f"Keys hit within {worst} of body size, with {force} of body weight{pinned}."
    if pins > held:
        said += " Nothing holds the body, which can turn about its pins: pin three points or more, not in a line."
    if report.key_notes:
        said += f" {len(report.key_notes)} of the keys have elements inside out: spread their pulls or pull less."
    if not report.converged:
        said += " It is the best so far, not yet the best there is: optimise again to go on."
    return " ".join([said, *(f"{note[0].upper()}{note[1:]}." for note in report.notes)])


class Shooter:
    """Makes takes. What keys and detail alone decide is kept, so that another effort is quickly tried."""

    def __init__(self, body: Body):
        self._body = body
        self._setting: tuple[tuple[Any, ...], Setting, tuple[Moment, ...]] | None = None

    def natural_dt(self, keys: Keys, dials: Dials) -> float | None:
        """The time between frames [s] that suits the keys, where it is known."""
        known = self._setting is not None and self._setting[0] == _decides(keys, dials)
        return float(self._setting[1].natural_dt) if known and self._setting is not None else None

    def setting(self, keys: Keys, dials: Dials) -> Setting:
        """The model and all else that must be there before the search. Raises InputError for keys that cannot be."""
        decides = _decides(keys, dials)
        if self._setting is None or self._setting[0] != decides:
            held = self._held(keys)
            body, ending = holding(self._body, held), "loop" if dials.loop else "open"
            checked, count = checked_keys(body, wanted(keys, held), dials.frames, loop=dials.loop)
            # pinned vertices leave fewer modes than the dial may ask for
            detail = min(dials.detail, count_modes(body))
            made = Setting.of(body, checked, count, modes=detail, ending=ending)
            # the moments are kept, or another pose might be given the id of one that is gone
            self._setting = (decides, made, tuple(key.moment for key in keys))
        return self._setting[1]

    def shoot(self, setting: Setting, keys: Keys, dials: Dials, watch: Callable[[Iterate], bool]) -> Take:
        """The best motion; watch: told of every iterate, False stops and keeps the best so far."""
        shot = shot_of(setting, checked_options(dials.effort, tolerance=TOLERANCE, watch=watch), dt=dials.dt)
        return taken(shot, keys, dials, common_pins(self._body, keys))

    def _held(self, keys: Keys) -> IndexArray:
        pins = common_pins(self._body, keys)
        return pins if is_held(self._body, pins) else pins[:0]


def _decides(keys: Keys, dials: Dials) -> tuple[Any, ...]:
    return asked(keys, replace(dials, effort=1.0, dt=None))


class Pace:
    """How far a search has come: it makes several starts, and leads each to its end."""

    def __init__(self, hard: bool):
        self._parts = STARTS + (1 if hard else 0)
        self._done, self._first, self._last = 0, 0.0, -1
        self._share = 0.0
        self._begin = time.perf_counter()
        self.steps = 0

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._begin

    def fraction(self, iterate: Iterate) -> float:
        """Of the whole work, as far as anybody can tell; it never falls."""
        if iterate.iteration <= self._last:
            self._done += 1
        if iterate.iteration <= self._last or self._last < 0:
            self._first = iterate.gradient
        self._last, self.steps = iterate.iteration, self.steps + 1
        fallen = math.log(max(self._first, 1e-300) / max(iterate.gradient, 1e-300)) / -math.log(TOLERANCE)
        share = (min(self._done, self._parts - 1) + min(max(fallen, 0.0), 1.0)) / self._parts
        self._share = max(self._share, min(share, 0.99))
        return self._share


# --- saving


def packed_take(take: Take, keys: Keys, dials: Dials) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """A take as plain JSON and arrays."""
    names = ("basis", "states", "velocities", "controls", "curve")
    arrays: dict[str, NDArray[Any]] = {f"take_{name}": getattr(take, name) for name in names}
    arrays["take_held"] = take.held
    if take.start is not None:
        arrays["take_start"] = np.stack(take.start)
    document = {"dt": take.dt, "loop": take.loop, "missed": dict(take.missed), "about": dict(take.about)}
    return document | {"stale": take.asked != asked(keys, dials)}, arrays


def unpacked_take(
    body: Body, document: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], keys: Keys, dials: Dials
) -> Take:
    """A take that was saved. Raises InputError, or what plain lookups raise, for one of another body."""
    basis = checks.real_array(arrays["take_basis"], "saved basis", (3 * body.count, None))
    r = basis.shape[1]
    states = checks.real_array(arrays["take_states"], "saved states", (None, r))
    start = checks.real_array(arrays["take_start"], "saved start", (2, r)) if "take_start" in arrays else None
    # those that were saved before pins held anything have none
    held = checks.index_array(arrays.get("take_held", np.empty(0, dtype=np.int64)), "saved pins", (None,), body.count)
    return Take(
        basis, states, checks.real_array(arrays["take_velocities"], "saved velocities", (len(states), r)),
        checks.real_array(arrays["take_controls"], "saved controls", (None, r)),
        None if start is None else (start[0], start[1]),
        checks.real_array(arrays["take_curve"], "saved forces", (len(states),)),
        checks.positive(document["dt"], "saved dt (s)"), bool(document["loop"]), dict(document["missed"]),
        dict(document["about"]), () if document["stale"] else asked(keys, dials),
        tuple(key.moment for key in keys), held,
    )  # fmt: skip
