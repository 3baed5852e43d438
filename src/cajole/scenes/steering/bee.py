"""The potted flower on which a bee lands: the bee follows its own script, so the bloom must be there in time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.interpolate import CubicSpline

from cajole.arrays import Array
from cajole.body import BodySolid
from cajole.direct import Push, Reference, Wind
from cajole.direct.steering.controller import Run
from cajole.direct.steering.motion import projected_force, simulated
from cajole.progress import Progress
from cajole.reduction import ReducedModel, reduce
from cajole.scenes.assembly import Scene, scene
from cajole.scenes.flower import BLOOMS
from cajole.scenes.steering.script import Mischief, Script, SteerScene, filmed, tunnel

STEPS, DT, SIZE = 1281, 0.01, 24
# n = 3 x 3968
TETS = 15_000
# The flower is this much slower than the scene's: softer, so that it swings far under forces below its weight.
SLOWER = 2
# For the basis the motion is filmed on the mesh with steps this many times as long; disturbed runs beside it.
COARSER, RUNS = 8, 10
# seconds; how hard the blooms are pulled aside: far to the left, far to the right, and back
SCRIPT = ((0.0, 0.0), (2.8, -1.0), (4.2, -0.9), (7.2, 1.0), (8.6, 0.9), (11.2, 0.0), (12.81, 0.0))
# what strength one is, in body weights, of the first and of the second bloom
PULL = (0.8, 0.2)
WIND = Wind(strength=0.8, pace=0.5, seed=4)
# when the bee sits on the bloom [s], and how far off its middle the spot may be to hold it [m]
SEATED, BEE_RADIUS = (7.4, 8.0), 0.015
# where the stem is pushed [m]: lower down it hardly moves
UPPER = 1.4
# where the bee comes from and goes to [m]
OUTSIDE = ((2.6, -1.6, 2.9), (-1.6, -1.8, 3.1))


@dataclass(frozen=True, eq=False)
class BeeLanding(SteerScene):
    """The flower, the script of the forces on it, its reference of 1281 steps in a loop, and the path of the bee.

    spot: the vertex that the bee lands on; flight (frames, 3) [m]: its own path, which nothing changes.
    """

    dials: ClassVar[Mapping[str, Any]] = {"tracking": 1.0, "effort": 1e-3}

    spot: int
    flight: Array

    def random_push(self, seed: int, *, strength: float = 1.0) -> Push:
        """On the upper stem or the heart of the main bloom, 3.2 to 1.2 s before the bee sits, for 0.3 s.

        strength: in body weights.
        """
        parts = np.concatenate([self.scene.parts[name] for name in ("bloom disc", "bloom calyx", "stem")])
        where = parts[self.body.vertices[parts, 2] > UPPER]
        return Mischief(self.body, where, (SEATED[0] - 3.2, SEATED[0] - 1.2), strength, 0.3).push(seed)

    def miss(self, run: Run) -> float:
        """The greatest distance of the spot from the bee while it should sit [m]."""
        first, last = (round(t / DT) for t in SEATED)
        return float(np.linalg.norm((self.spot_of(run) - self.flight)[first : last + 1], axis=1).max())

    def outcome(self, run: Run) -> bool:
        """Whether the bee lands: the spot is under it all the time that it sits."""
        return self.miss(run) <= BEE_RADIUS

    def spot_of(self, run: Run) -> Array:
        """Where the landing spot is (frames, 3) [m], in the first lap of a run."""
        return spot_path(self.reference.model, run.states[: STEPS + 1], self.spot)


def spot_path(model: ReducedModel, states: Array, vertex: int) -> Array:
    """Positions (frames, 3) [m] of one vertex."""
    rest = model.body.vertices[vertex] + model.lift(np.zeros(model.size))[vertex]
    return np.asarray(rest + states @ model.basis[3 * vertex : 3 * vertex + 3].T)


def bee_landing(*, tets: int | None = None, progress: Progress | None = None) -> BeeLanding:
    """The flower of n = 3 x 3968 (tets: a coarser or finer one). The first call makes its basis, about a minute.

    The reference is what the reduced flower does under the scripted forces and a wind; its last frame meets the first
    only nearly.
    """
    made = scene("flower", tets=tets or TETS, progress=progress)
    alpha, beta = made.damping
    made = replace(made, young=made.young / SLOWER**2, damping=(alpha / SLOWER, beta * SLOWER))
    body = made.body()
    table = np.array(SCRIPT)
    script = Script(np.array([_pulled(body, made)]), table[:, 0], table[:, 1:])
    film = filmed(body, script, STEPS // COARSER + 1, COARSER * DT, integrator="bdf2", progress=progress)
    model = reduce(body, tunnel(body, film, script, SIZE, runs=RUNS, progress=progress))
    reference = _looped(model, script)
    spot = _spot(made)
    return BeeLanding(made, body, script, reference, spot, _flight(spot_path(model, reference.states, spot)))


def _pulled(body: BodySolid, made: Scene) -> Array:
    """Both blooms pulled aside (n, 3) [N]."""
    names = [(f"{bloom.name}", f"{bloom.name} disc", f"{bloom.name} calyx") for bloom in BLOOMS]
    parts = [np.concatenate([made.parts[name] for name in each if name in made.parts]) for each in names]
    return np.sum([body.spread(part, (pull, 0, 0)) for part, pull in zip(parts, PULL)], axis=0)


def _looped(model: ReducedModel, script: Script) -> Reference:
    W = projected_force(model, script, STEPS + 1, DT)[1:] + WIND.reduced(model, DT, 1, STEPS)
    still = np.zeros(model.size)
    return simulated(model, model.predictor(still, still, DT), W, DT, (still, still), loop=True)


def _spot(made: Scene) -> int:
    """The vertex in the middle of the main bloom's face."""
    bloom = BLOOMS[0]
    face = np.asarray(bloom.center) + 0.5 * bloom.disc * bloom.frame[2]
    disc = made.parts["bloom disc"]
    return int(disc[np.linalg.norm(made.mesh.vertices[disc] - face, axis=1).argmin()])


def _flight(spot: Array) -> Array:
    """In from the right, on the spot of the reference while seated, and out to the left (frames, 3) [m]."""
    seated = np.arange(SEATED[0], SEATED[1] + 0.5 * DT, 0.1)
    places = spot[np.round(seated / DT).astype(int)]
    away = np.array([0.3, -0.5, 0.25])
    times = np.concatenate([[0.0, SEATED[0] - 1.2], seated, [SEATED[1] + 1.2, STEPS * DT]])
    knots = np.vstack([OUTSIDE[0], places[0] + away, places, places[-1] + away * [-1, 1, 1], OUTSIDE[1]])
    return np.asarray(CubicSpline(times, knots)(DT * np.arange(STEPS + 1)))
