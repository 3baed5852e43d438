"""What the scenes for `steer` share: what they are, scripted forces, films and bases from the cache, random pushes."""

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
from cajole.checks import count
from cajole.direct import Controller, Push, Reference, steer
from cajole.direct.steering.sampling import sampled_basis
from cajole.dynamics import simulate
from cajole.progress import Progress, report
from cajole.scenes.assembly import Scene
from cajole.storage import cached, content_hash

KIND = "motions"
# Raised when motions or bases are made in another way, so that older ones are not read back.
VERSION = 1


@dataclass(frozen=True, eq=False)
class Script:
    """A force of a few patterns (k, n, 3) [N], each with its strength (m, k) at times (m,) [s] and smooth between.

    Called with a time it gives (n, 3) [N], as `simulate` takes it; before and after its times it keeps the ends.
    """

    patterns: Array
    times: Array
    strengths: Array

    @cached_property
    def _curve(self) -> PchipInterpolator:
        return PchipInterpolator(self.times, self.strengths, axis=0)

    def __call__(self, t: float) -> Array:
        strengths = self._curve(np.clip(t, self.times[0], self.times[-1]))
        return np.asarray(np.tensordot(strengths, self.patterns, axes=1))

    def content(self) -> str:
        return content_hash(self.patterns, self.times, self.strengths)


@dataclass(frozen=True, eq=False)
class SteerScene:
    """A motion in which something must happen: who moves, the forces that move it, and the reference to keep to.

    dials: those of `steer` that suit the scene.
    """

    dials: ClassVar[Mapping[str, Any]]

    scene: Scene
    body: BodySolid
    script: Script
    reference: Reference

    def controller(self, **dials: Any) -> Controller:
        """`steer` with the dials that suit this scene; others override them."""
        return steer(self.reference, **{**self.dials, **dials})


def filmed(
    body: BodySolid, script: Script, frames: int, dt: float, *, integrator: str = "newmark", progress: Progress | None
) -> Animation:
    """`simulate` under a script, kept in the cache."""
    key = content_hash(VERSION, body.content(), script.content(), frames, dt, integrator)

    def make() -> dict[str, Array]:
        made = simulate(body, frames, dt, force=script, integrator=integrator, progress=progress)
        return {"positions": made.positions, "velocities": np.asarray(made.velocities)}

    stored = kept(key, make, progress)
    return Animation(body.drawn_mesh(), stored["positions"], fps=1.0 / dt, velocities=stored["velocities"])


def tunnel(
    body: BodySolid, centre: Animation, script: Script, size: int, *, runs: int, progress: Progress | None
) -> Array:
    """The basis (3n, size) of a motion and of disturbed runs around it, kept in the cache."""
    key = content_hash(VERSION, "basis", body.content(), script.content(), centre.frames, centre.fps, size, runs)

    def make() -> dict[str, Array]:
        found = sampled_basis(body, centre, force=script, runs=runs, size=size, integrator="bdf2", progress=progress)
        return {"basis": found.basis}

    return kept(key, make, progress)["basis"]


def kept(key: str, make: Callable[[], Mapping[str, Array]], progress: Progress | None) -> Mapping[str, Array]:
    """What `make` makes, from the cache when it is there."""
    stored = cached(KIND, key, make)
    report(progress, 1.0, "ready")
    return stored


@dataclass(frozen=True, eq=False)
class Mischief:
    """Random pushes: one of `vertices`, a time between `times` [s], any direction.

    strength [body weights] for `duration` [s].
    """

    body: BodySolid
    vertices: IndexArray
    times: tuple[float, float]
    strength: float
    duration: float

    def push(self, seed: int) -> Push:
        """The same push for the same seed."""
        random = np.random.default_rng(count(seed, "seed", least=0))
        direction = random.standard_normal(3)
        force = self.strength * self.body.weight * direction / np.linalg.norm(direction)
        x, y, z = force.tolist()
        return Push(int(random.choice(self.vertices)), (x, y, z), float(random.uniform(*self.times)), self.duration)
