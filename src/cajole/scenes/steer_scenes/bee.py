"""A potted flower on which a bee lands: the bee follows a fixed path, so the bloom must be there in time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.interpolate import CubicSpline

from cajole.arrays import Array
from cajole.body import BodySolid
from cajole.body.rayleigh import stretch_rayleigh_damping
from cajole.direct import Push, Wind
from cajole.direct.steering.controller import ControllerRun
from cajole.direct.steering.reference import simulate_reference
from cajole.progress import ProgressCallback
from cajole.reduction import ReducedModel, reduce
from cajole.scenes.builtin import Scene, scene
from cajole.scenes.flower import BLOOMS
from cajole.scenes.steer_scenes.steer_scene import (
    KeyframedForce,
    RandomPushSampler,
    SteerScene,
    load_sampled_basis,
    simulate_with_cache,
)

STEP_COUNT, DT, BASIS_SIZE = 1281, 0.01, 24
# n = 3 x 3968
TETS = 15_000
# For the basis the motion is filmed on the mesh with steps this many times as long; disturbed runs beside it.
SNAPSHOT_STRIDE, DISTURBED_RUNS = 8, 10
# when the bee sits on the bloom [s], and how far off its middle the spot may be to hold it [m]
LANDING_SPAN, BEE_RADIUS = (7.4, 8.0), 0.015


@dataclass(frozen=True, eq=False)
class BeeLandingScene(SteerScene):
    """The flower, its scripted forces, its reference of 1281 steps in a loop, and the path of the bee.

    landing_vertex: where the bee lands; bee_path (frames, 3) [m]: fixed.
    """

    steer_options: ClassVar[Mapping[str, Any]] = {"tracking": 1.0, "effort": 1e-3}

    landing_vertex: int
    bee_path: Array

    def sample_push(self, seed: int, *, strength: float = 1.0) -> Push:
        """Random push on the upper stem or the disc of the main bloom, 3.2 to 1.2 s before the landing, for 0.3 s.

        strength: in body weights.
        """
        # where the stem is pushed [m]: lower down it hardly moves
        min_push_height = 1.4
        parts = np.concatenate([self.scene.parts[name] for name in ("bloom disc", "bloom calyx", "stem")])
        where = parts[self.body.vertices[parts, 2] > min_push_height]
        return RandomPushSampler(
            self.body, where, (LANDING_SPAN[0] - 3.2, LANDING_SPAN[0] - 1.2), strength, 0.3
        ).sample(seed)

    def compute_miss_distance(self, run: ControllerRun) -> float:
        """Greatest distance [m] of the landing vertex from the bee while it sits."""
        first, last = (round(t / DT) for t in LANDING_SPAN)
        return float(np.linalg.norm((self.compute_landing_path(run) - self.bee_path)[first : last + 1], axis=1).max())

    def has_reached_target(self, run: ControllerRun) -> bool:
        """True if the landing vertex stays under the bee while it sits."""
        return self.compute_miss_distance(run) <= BEE_RADIUS

    def compute_landing_path(self, run: ControllerRun) -> Array:
        """Path (frames, 3) [m] of the landing vertex in the first loop of a run."""
        return compute_vertex_path(self.reference.model, run.states[: STEP_COUNT + 1], self.landing_vertex)


def compute_vertex_path(model: ReducedModel, states: Array, vertex: int) -> Array:
    """Positions (frames, 3) [m] of one vertex."""
    rest = model.body.vertices[vertex] + model.lift(np.zeros(model.size))[vertex]
    return np.asarray(rest + states @ model.basis[3 * vertex : 3 * vertex + 3].T)


def build_bee_landing_scene(*, tets: int | None = None, progress: ProgressCallback | None = None) -> BeeLandingScene:
    """Load the flower of n = 3 x 3968 (tets: another resolution); the first call computes its basis for about a minute.

    The reference is the reduced motion under the scripted forces and wind; its last frame meets the first
    approximately.
    """
    # seconds; how hard the blooms are pulled aside: far to the left, far to the right, and back
    force_keys = ((0.0, 0.0), (2.8, -1.0), (4.2, -0.9), (7.2, 1.0), (8.6, 0.9), (11.2, 0.0), (12.81, 0.0))
    # The flower is this much slower than the scene's: softer, so that it swings far under forces below its weight.
    time_stretch = 2
    made = scene("flower", tets=tets or TETS, progress=progress)
    damping = stretch_rayleigh_damping(made.damping, time_stretch)
    made = replace(made, young=made.young / time_stretch**2, damping=damping)
    body = made.body()
    table = np.array(force_keys)
    script = KeyframedForce(np.array([_build_bloom_load(body, made)]), table[:, 0], table[:, 1:])
    film = simulate_with_cache(
        body, script, STEP_COUNT // SNAPSHOT_STRIDE + 1, SNAPSHOT_STRIDE * DT, integrator="bdf2", progress=progress
    )
    model = reduce(body, load_sampled_basis(body, film, script, BASIS_SIZE, runs=DISTURBED_RUNS, progress=progress))
    wind = Wind(strength=0.8, pace=0.5, seed=4)
    W = model.project_force_over_time(script, STEP_COUNT + 1, DT)[1:] + wind.compute_reduced_force(
        model, DT, 1, STEP_COUNT
    )
    still = np.zeros(model.size)
    reference = simulate_reference(model, model.compute_predictor(still, still, DT), W, DT, (still, still), loop=True)
    # the vertex in the middle of the main bloom's face
    bloom = BLOOMS[0]
    face = np.asarray(bloom.center) + 0.5 * bloom.disc_radius * bloom.frame[2]
    disc = made.parts["bloom disc"]
    spot = int(disc[np.linalg.norm(made.mesh.vertices[disc] - face, axis=1).argmin()])
    return BeeLandingScene(
        made, body, script, reference, spot, _compute_bee_path(compute_vertex_path(model, reference.states, spot))
    )


def _build_bloom_load(body: BodySolid, flower: Scene) -> Array:
    """Lateral load (n, 3) [N] on both blooms."""
    # what strength one is, in body weights, of the first and of the second bloom
    bloom_loads = (0.8, 0.2)
    names = [(f"{bloom.name}", f"{bloom.name} disc", f"{bloom.name} calyx") for bloom in BLOOMS]
    parts = [np.concatenate([flower.parts[name] for name in each if name in flower.parts]) for each in names]
    return np.asarray(
        np.sum([body.distribute_force(part, (pull, 0, 0)) for part, pull in zip(parts, bloom_loads)], axis=0)
    )


def _compute_bee_path(landing_path: Array) -> Array:
    """Path (frames, 3) [m]: from the right, with the landing vertex while seated, and out to the left."""
    # where the bee comes from and goes to [m]
    flight_ends = ((2.6, -1.6, 2.9), (-1.6, -1.8, 3.1))
    seated = np.arange(LANDING_SPAN[0], LANDING_SPAN[1] + 0.5 * DT, 0.1)
    places = landing_path[np.round(seated / DT).astype(int)]
    away = np.array([0.3, -0.5, 0.25])
    times = np.concatenate([[0.0, LANDING_SPAN[0] - 1.2], seated, [LANDING_SPAN[1] + 1.2, STEP_COUNT * DT]])
    knots = np.vstack([flight_ends[0], places[0] + away, places, places[-1] + away * [-1, 1, 1], flight_ends[1]])
    return np.asarray(CubicSpline(times, knots)(DT * np.arange(STEP_COUNT + 1)))
