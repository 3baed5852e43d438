"""Base class of the scenes for `steer`: keyframed forces, cached motions and bases, random pushes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.interpolate import PchipInterpolator

from cajole.animation import Animation
from cajole.arrays import Array, IndexArray
from cajole.body import BodySolid
from cajole.checks import require_integer
from cajole.direct import Controller, Push, Reference, steer
from cajole.direct.steering.sampling import sample_basis
from cajole.dynamics import simulate
from cajole.progress import ProgressCallback, report_progress
from cajole.scenes.builtin import Scene
from cajole.storage import hash_content, load_or_compute

# Raised when motions or bases are made in another way, so that older ones are not read back.
CACHE_VERSION = 1


@dataclass(frozen=True, eq=False)
class KeyframedForce:
    """Sum of force patterns (k, n, 3) [N] with strengths (m, k) interpolated smoothly between times (m,) [s].

    A call with a time returns (n, 3) [N], as `simulate` expects; outside its times it is constant.
    """

    patterns: Array
    times: Array
    strengths: Array

    @cached_property
    def _interpolator(self) -> PchipInterpolator:
        return PchipInterpolator(self.times, self.strengths, axis=0)

    def __call__(self, t: float) -> Array:
        strengths = self._interpolator(np.clip(t, self.times[0], self.times[-1]))
        return np.asarray(np.tensordot(strengths, self.patterns, axes=1))

    def content(self) -> str:
        return hash_content(self.patterns, self.times, self.strengths)


@dataclass(frozen=True, eq=False)
class SteerScene:
    """A motion with a target event: body, the forces that drive it, and the reference to follow.

    steer_options: options of `steer` for the scene.
    """

    steer_options: ClassVar[Mapping[str, Any]]

    scene: Scene
    body: BodySolid
    force: KeyframedForce
    reference: Reference

    def create_controller(self, **options: Any) -> Controller:
        """Run `steer` with the options of this scene; others override them."""
        return steer(self.reference, **{**self.steer_options, **options})


def simulate_with_cache(
    body: BodySolid,
    force: KeyframedForce,
    frames: int,
    dt: float,
    *,
    integrator: str = "newmark",
    progress: ProgressCallback | None,
) -> Animation:
    """Run `simulate` with a keyframed force, or load its result from the cache."""
    key = hash_content(CACHE_VERSION, body.compute_content_hash(), force.content(), frames, dt, integrator)

    def compute_motion() -> dict[str, Array]:
        made = simulate(body, frames, dt, force=force, integrator=integrator, progress=progress)
        return {"positions": made.positions, "velocities": np.asarray(made.velocities)}

    stored = load_or_compute_arrays(key, compute_motion, progress)
    return Animation(body.get_display_mesh(), stored["positions"], fps=1.0 / dt, velocities=stored["velocities"])


def load_sampled_basis(
    body: BodySolid,
    reference_motion: Animation,
    force: KeyframedForce,
    size: int,
    *,
    runs: int,
    progress: ProgressCallback | None,
) -> Array:
    """Basis (3n, size) of a motion and of disturbed runs around it, cached."""
    key = hash_content(
        CACHE_VERSION,
        "basis",
        body.compute_content_hash(),
        force.content(),
        reference_motion.frames,
        reference_motion.fps,
        size,
        runs,
    )

    def compute_basis() -> dict[str, Array]:
        found = sample_basis(
            body, reference_motion, force=force, runs=runs, size=size, integrator="bdf2", progress=progress
        )
        return {"basis": found.basis}

    return load_or_compute_arrays(key, compute_basis, progress)["basis"]


def load_or_compute_arrays(
    key: str, compute: Callable[[], Mapping[str, Array]], progress: ProgressCallback | None
) -> Mapping[str, Array]:
    """Load arrays from the cache, or compute and store them."""
    cache_kind = "motions"
    stored = load_or_compute(cache_kind, key, compute)
    report_progress(progress, 1.0, "ready")
    return stored


@dataclass(frozen=True, eq=False)
class RandomPushSampler:
    """Random pushes on one of `vertices` at a random time in `start_times` [s] in a random direction.

    strength [body weights] for `duration` [s].
    """

    body: BodySolid
    vertices: IndexArray
    start_times: tuple[float, float]
    strength: float
    duration: float

    def sample(self, seed: int) -> Push:
        """Sample the push of a seed."""
        random = np.random.default_rng(require_integer(seed, "seed", minimum=0))
        direction = random.standard_normal(3)
        force = self.strength * self.body.weight * direction / np.linalg.norm(direction)
        x, y, z = force.tolist()
        return Push(
            int(random.choice(self.vertices)), (x, y, z), float(random.uniform(*self.start_times)), self.duration
        )
