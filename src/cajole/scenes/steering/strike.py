"""The T that must hit two hanging balls: its arms swing round, wider every time, until both ends strike at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array, IndexArray
from cajole.body import EARTH_GRAVITY, BodySolid
from cajole.direct import Push
from cajole.direct import reference as referred
from cajole.direct.steering.controller import Run
from cajole.progress import Progress
from cajole.reduction import reduce
from cajole.scenes.assembly import scene
from cajole.scenes.steering.script import Mischief, Script, SteerScene, filmed, tunnel

STEPS, DT, SIZE = 501, 0.01, 24
# disturbed runs that the basis is taken from
RUNS = 12
# The couple on the arms turns them in step with their own swing [Hz], growing up to its end [s], then lets go.
BEAT, DRIVEN = 1.40, 4.3
# what the couple pulls each end with at most, and the nod that goes with it [weights]
COUPLE, NOD = 0.055, 0.03
# The widest swing, the one that strikes, is looked for from here on [s]; how much sooner or later is in time.
LATE, EARLY = 4.2, 0.15
# balls [m]: radius, how deep the undisturbed ends would go in, length of the string
RADIUS, DEPTH, STRING = 0.16, 0.05, 1.4
# share of the speed of impact that a ball bounces off with
BOUNCE = 0.6


@dataclass(frozen=True, eq=False)
class Ball:
    """A ball (centre (3,) [m]) on a string of STRING metres; ends: the vertices that shall strike it at `frame`."""

    centre: Array
    ends: IndexArray
    frame: int

    def swung(self, positions: Array, velocities: Array) -> Array:
        """Its centre (frames, 3) while an end moves: positions (frames, e, 3) [m], velocities [m/s], one frame each DT.

        A rigid pendulum; struck, it takes over the speed along the line of impact and bounces off.
        """
        hook = self.centre + [0.0, 0.0, STRING]
        x, v, path = self.centre.copy(), np.zeros(3), np.empty((len(positions), 3))
        for frame, (ends, speeds) in enumerate(zip(positions, velocities)):
            v = v + DT * np.array([0.0, 0.0, -EARTH_GRAVITY])
            x, v = _hung(hook, x + DT * v, v)
            away = np.linalg.norm(x - ends, axis=1)
            at = int(away.argmin())
            if away[at] < RADIUS:
                line = (x - ends[at]) / away[at]
                v = v + (1 + BOUNCE) * max(float((speeds[at] - v) @ line), 0.0) * line
                x, v = _hung(hook, ends[at] + RADIUS * line, v)
            path[frame] = x
        return path


def _hung(hook: Array, x: Array, v: Array) -> tuple[Array, Array]:
    """Back on the string: position and velocity without their part along it."""
    along = (x - hook) / np.linalg.norm(x - hook)
    return hook + STRING * along, v - (v @ along) * along


@dataclass(frozen=True, eq=False)
class Strike(SteerScene):
    """The T, what moves it, its full motion, that motion as a reference of 501 steps and 24 coordinates, two balls."""

    dials: ClassVar[Mapping[str, Any]] = {"tracking": 1.0, "effort": 1e-2}

    centre: Animation
    balls: tuple[Ball, Ball]

    def random_push(self, seed: int, *, strength: float = 1.0) -> Push:
        """Anywhere on the upper half, from 0.5 to 3.5 s on, 0.2 s long; strength in body weights."""
        where = np.flatnonzero(self.body.vertices[:, 2] > 1.5)
        return Mischief(self.body, where, (0.5, 3.5), strength, 0.2).push(seed)

    def misses(self, run: Run) -> tuple[float, float]:
        """How far each end stays off the surface of its ball while it should strike [m]; 0 when it does."""
        gaps = [self._gaps(run, ball)[_in_time(ball)].min() for ball in self.balls]
        return max(float(gaps[0]), 0.0), max(float(gaps[1]), 0.0)

    def outcome(self, run: Run) -> bool:
        """Whether both ends strike their balls in time, and not before."""
        too_soon = any(self._gaps(run, ball)[: _in_time(ball).start].min() <= 0.0 for ball in self.balls)
        return max(self.misses(run)) == 0.0 and not too_soon

    def balls_of(self, run: Run) -> Array:
        """Where the balls are (frames, 2, 3) [m] as a run strikes them, or not."""
        return np.stack([ball.swung(*self._ends(run, ball)) for ball in self.balls], axis=1)

    def _gaps(self, run: Run, ball: Ball) -> Array:
        return np.asarray(np.linalg.norm(self._ends(run, ball)[0] - ball.centre, axis=2).min(axis=1) - RADIUS)

    def _ends(self, run: Run, ball: Ball) -> tuple[Array, Array]:
        model = self.reference.model
        u, v = model.lift(run.states)[:, ball.ends], model.lift_velocity(run.velocities)[:, ball.ends]
        return self.body.vertices[ball.ends] + u, v


def strike(*, progress: Progress | None = None) -> Strike:
    """The T of n = 3 x 365 and its two balls. The first call simulates it, half a minute; then it is in the cache."""
    made = scene("strike", progress=progress)
    body = made.body()
    script = _script(body)
    centre = filmed(body, script, STEPS + 1, DT, progress=progress)
    model = reduce(body, tunnel(body, centre, script, SIZE, runs=RUNS, progress=progress))
    balls = tuple(_placed(body, centre, side) for side in (1, -1))
    return Strike(made, body, script, referred(model, centre), centre, (balls[0], balls[1]))


def _script(body: BodySolid) -> Script:
    """A couple on the two ends in the beat of their swing, and a nod along the arms."""
    right, left = (_ends(body, side) for side in (1, -1))
    couple = body.spread(right, (0, COUPLE, 0)) - body.spread(left, (0, COUPLE, 0))
    nod = body.spread(np.concatenate([right, left]), (NOD, 0, 0))
    t = np.linspace(0.0, STEPS * DT, STEPS + 1)
    growing = np.where(t < DRIVEN, t / DRIVEN, 0.0)
    strengths = np.stack([growing * np.sin(2 * np.pi * BEAT * t), growing * np.cos(np.pi * BEAT * t)], axis=1)
    return Script(np.array([couple, nod]), t, strengths)


def _ends(body: BodySolid, side: int) -> IndexArray:
    return np.flatnonzero(side * body.vertices[:, 0] > REACH)


# from here on an arm is its end [m]
REACH = 1.5


def _placed(body: BodySolid, centre: Animation, side: int) -> Ball:
    """A ball before the foremost vertex of an end at its widest swing, on its way."""
    ends, first = _ends(body, side), round(LATE / DT)
    ahead = side * (centre.positions[first:, ends, 1] - body.vertices[ends, 1])
    frame = first + int(ahead.mean(axis=1).argmax())
    tip = int(ends[(side * centre.positions[frame, ends, 1]).argmax()])
    way = centre.positions[frame, tip] - centre.positions[frame - 10, tip]
    way[2] = 0.0
    return Ball(centre.positions[frame, tip] + (RADIUS - DEPTH) * way / np.linalg.norm(way), ends, frame)


def _in_time(ball: Ball) -> slice:
    late = round(EARLY / DT)
    return slice(ball.frame - late, ball.frame + late + 1)
