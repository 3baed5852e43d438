"""A T whose arms swing with growing amplitude until both ends hit two hanging balls at the same time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array, IndexArray
from cajole.body import EARTH_GRAVITY, BodySolid
from cajole.direct import Push
from cajole.direct import build_reference as referred
from cajole.direct.steering.controller import ControllerRun
from cajole.progress import ProgressCallback
from cajole.reduction import reduce
from cajole.scenes.builtin import scene
from cajole.scenes.steer_scenes.steer_scene import (
    KeyframedForce,
    RandomPushSampler,
    SteerScene,
    load_sampled_basis,
    simulate_with_cache,
)

STEP_COUNT, DT, BASIS_SIZE = 501, 0.01, 24
# The couple on the arms turns them in step with their own swing [Hz], growing up to its end [s], then lets go.
DRIVE_FREQUENCY, DRIVE_DURATION = 1.40, 4.3
# what the couple pulls each end with at most, and the nod that goes with it [weights]
COUPLE_LOAD, NOD_LOAD = 0.055, 0.03
# The widest swing, the one that strikes, is looked for from here on [s]; how much sooner or later is in time.
STRIKE_SEARCH_START, STRIKE_TOLERANCE = 4.2, 0.15
# balls [m]: radius, how deep the undisturbed ends would go in, length of the string
BALL_RADIUS, STRIKE_DEPTH, STRING_LENGTH = 0.16, 0.05, 1.4


@dataclass(frozen=True, eq=False)
class PendulumBall:
    """A ball (centre (3,) [m]) on a string; ends: the vertices that must hit it at `strike_frame`."""

    centre: Array
    striking_vertices: IndexArray
    strike_frame: int

    def simulate(self, positions: Array, velocities: Array) -> Array:
        """Centre (frames, 3) of a rigid pendulum while an arm end moves: positions (frames, e, 3) [m], velocities
        [m/s].

        On impact the ball takes over the velocity along the line of impact with restitution.
        """
        # share of the speed of impact that a ball bounces off with
        restitution = 0.6
        hook = self.centre + [0.0, 0.0, STRING_LENGTH]
        x, v, path = self.centre.copy(), np.zeros(3), np.empty((len(positions), 3))
        for frame, (ends, speeds) in enumerate(zip(positions, velocities)):
            v = v + DT * np.array([0.0, 0.0, -EARTH_GRAVITY])
            x, v = _project_on_string(hook, x + DT * v, v)
            away = np.linalg.norm(x - ends, axis=1)
            at = int(away.argmin())
            if away[at] < BALL_RADIUS:
                line = (x - ends[at]) / away[at]
                v = v + (1 + restitution) * max(float((speeds[at] - v) @ line), 0.0) * line
                x, v = _project_on_string(hook, ends[at] + BALL_RADIUS * line, v)
            path[frame] = x
        return path


def _project_on_string(hook: Array, x: Array, v: Array) -> tuple[Array, Array]:
    """Project position and velocity onto the pendulum's sphere."""
    along = (x - hook) / np.linalg.norm(x - hook)
    return hook + STRING_LENGTH * along, v - (v @ along) * along


@dataclass(frozen=True, eq=False)
class StrikeScene(SteerScene):
    """The T, its forces, its full motion, the reference of 501 steps and 24 coordinates, and two balls."""

    steer_options: ClassVar[Mapping[str, Any]] = {"tracking": 1.0, "effort": 1e-2}

    full_motion: Animation
    balls: tuple[PendulumBall, PendulumBall]

    def sample_push(self, seed: int, *, strength: float = 1.0) -> Push:
        """Random push on the upper half, from 0.5 to 3.5 s, 0.2 s long; strength in body weights."""
        where = np.flatnonzero(self.body.vertices[:, 2] > 1.5)
        return RandomPushSampler(self.body, where, (0.5, 3.5), strength, 0.2).sample(seed)

    def compute_miss_distances(self, run: ControllerRun) -> tuple[float, float]:
        """Least distance [m] of each end from the surface of its ball in the strike window; 0 for a hit."""
        gaps = [self._compute_gaps(run, ball)[_get_strike_window(ball)].min() for ball in self.balls]
        return max(float(gaps[0]), 0.0), max(float(gaps[1]), 0.0)

    def has_reached_target(self, run: ControllerRun) -> bool:
        """True if both ends hit their balls in the strike window and not before."""
        too_soon = any(
            self._compute_gaps(run, ball)[: _get_strike_window(ball).start].min() <= 0.0 for ball in self.balls
        )
        return max(self.compute_miss_distances(run)) == 0.0 and not too_soon

    def compute_ball_paths(self, run: ControllerRun) -> Array:
        """Paths (frames, 2, 3) [m] of the balls in a run."""
        return np.stack([ball.simulate(*self._compute_arm_end_motion(run, ball)) for ball in self.balls], axis=1)

    def _compute_gaps(self, run: ControllerRun, ball: PendulumBall) -> Array:
        return np.asarray(
            np.linalg.norm(self._compute_arm_end_motion(run, ball)[0] - ball.centre, axis=2).min(axis=1) - BALL_RADIUS
        )

    def _compute_arm_end_motion(self, run: ControllerRun, ball: PendulumBall) -> tuple[Array, Array]:
        model = self.reference.model
        u, v = (
            model.lift(run.states)[:, ball.striking_vertices],
            model.lift_velocity(run.velocities)[:, ball.striking_vertices],
        )
        return self.body.vertices[ball.striking_vertices] + u, v


def build_strike_scene(*, progress: ProgressCallback | None = None) -> StrikeScene:
    """Load the T of n = 3 x 365 and its two balls; the first call simulates it for half a minute."""
    # disturbed runs that the basis is taken from
    disturbed_runs = 12
    made = scene("strike", progress=progress)
    body = made.body()
    script = _build_drive_force(body)
    centre = simulate_with_cache(body, script, STEP_COUNT + 1, DT, progress=progress)
    model = reduce(body, load_sampled_basis(body, centre, script, BASIS_SIZE, runs=disturbed_runs, progress=progress))
    balls = tuple(_place_ball(body, centre, side) for side in (1, -1))
    return StrikeScene(made, body, script, referred(model, centre), centre, (balls[0], balls[1]))


def _build_drive_force(body: BodySolid) -> KeyframedForce:
    """A couple on the two ends at their swing frequency, and a nod along the arms."""
    right, left = (_find_arm_end(body, side) for side in (1, -1))
    couple = body.distribute_force(right, (0, COUPLE_LOAD, 0)) - body.distribute_force(left, (0, COUPLE_LOAD, 0))
    nod = body.distribute_force(np.concatenate([right, left]), (NOD_LOAD, 0, 0))
    t = np.linspace(0.0, STEP_COUNT * DT, STEP_COUNT + 1)
    growing = np.where(t < DRIVE_DURATION, t / DRIVE_DURATION, 0.0)
    strengths = np.stack(
        [growing * np.sin(2 * np.pi * DRIVE_FREQUENCY * t), growing * np.cos(np.pi * DRIVE_FREQUENCY * t)], axis=1
    )
    return KeyframedForce(np.array([couple, nod]), t, strengths)


def _find_arm_end(body: BodySolid, side: int) -> IndexArray:
    # from here on an arm is its end [m]
    arm_end_x = 1.5
    return np.flatnonzero(side * body.vertices[:, 0] > arm_end_x)


def _place_ball(body: BodySolid, motion: Animation, side: int) -> PendulumBall:
    """Place a ball in front of the foremost vertex of an end at its widest swing."""
    ends, first = _find_arm_end(body, side), round(STRIKE_SEARCH_START / DT)
    ahead = side * (motion.positions[first:, ends, 1] - body.vertices[ends, 1])
    frame = first + int(ahead.mean(axis=1).argmax())
    tip = int(ends[(side * motion.positions[frame, ends, 1]).argmax()])
    way = motion.positions[frame, tip] - motion.positions[frame - 10, tip]
    way[2] = 0.0
    return PendulumBall(
        motion.positions[frame, tip] + (BALL_RADIUS - STRIKE_DEPTH) * way / np.linalg.norm(way), ends, frame
    )


def _get_strike_window(ball: PendulumBall) -> slice:
    late = round(STRIKE_TOLERANCE / DT)
    return slice(ball.strike_frame - late, ball.strike_frame + late + 1)
