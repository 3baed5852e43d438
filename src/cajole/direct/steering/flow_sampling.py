"""`sampled_flow`: snapshots of a motion of a fluid and of a tunnel of disturbed runs around it (§5.1-5.2)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole import checks
from cajole.arrays import Array
from cajole.cluster import Cluster, stream
from cajole.errors import InputError
from cajole.flow import Flow, FlowForceInput, FlowMotion, Gust, evaluate_force
from cajole.memory import require_memory
from cajole.progress import ProgressCallback

Float32Array = NDArray[np.float32]

# Snapshots of disturbed runs at most, unless told otherwise: the Gram matrix of so many takes a few seconds.
MAX_SNAPSHOTS = 1200
# What is held of a run beside its snapshots: its gust and its start, about.
RUN_BYTES = 500


@dataclass(frozen=True, eq=False)
class FlowSamples:
    """snapshots: (k, n) [m/s] in single precision, those of the motion first; gusts: what disturbed each run."""

    snapshots: Float32Array
    gusts: tuple[Gust, ...]

    def __repr__(self) -> str:
        return f"FlowSamples({len(self.snapshots)} snapshots of {len(self.gusts)} runs)"


@dataclass(frozen=True, eq=False)
class _FlowSampleWorker:
    """Simulates one disturbed run; can be sent to another process."""

    flow: Flow
    dt: float
    force: FlowForceInput
    last_step: int
    snapshot_interval: int

    def __call__(self, item: tuple[int, Array, Gust]) -> Float32Array:
        first, state, gust = item
        shown = []
        for step in range(first, self.last_step):
            driven = evaluate_force(self.flow, self.force, step, self.dt)
            blown = gust.compute_acceleration(self.flow, step, self.dt)
            state = self.flow.step(state, self.dt, blown if driven is None else driven + blown)
            if (step - first) % self.snapshot_interval == 0:
                shown.append(state.astype(np.float32))
        return np.array(shown)


def sample_flow(
    motion: FlowMotion,
    *,
    runs: int = 50,
    particles: ArrayLike = (),
    strength: tuple[float, float] = (0.05, 0.20),
    radius: tuple[float, float] = (0.04, 0.12),
    every: int | None = None,
    seed: int = 0,
    cluster: Cluster = None,
    progress: ProgressCallback | None = None,
) -> FlowSamples:
    """Snapshots of `motion` and of `runs` full simulations, each disturbed by one gust at a random time.

    Times are drawn one in each of as many equal parts of the motion. A gust blows for one step from any direction, on
    one of `particles` (N, 2) [m] (where they start) as they pass, or, without any, where the flow is fast.
    strength: the speed that it gives, between these shares of the motion's fastest; radius: between these shares of the
        shorter side of the box. every: frames between snapshots of a run; as many as leave 1200 when left out.
    cluster: who simulates, see `cajole.cluster.map`; the result is the same to the bit.
    Raises InputError for numbers that make no sense, SolveError when a run comes from outside the box, Cancelled.
    """
    checks.require_instance(motion, FlowMotion, "motion")
    count, steps = checks.require_integer(runs, "runs"), motion.frames - 1
    # at least one snapshot of every run
    needed = count * (4 * motion.flow.face_count + RUN_BYTES)
    require_memory(needed, f"the snapshots of {count} runs", "use fewer runs, or a coarser flow")
    checks.repetitions(count, "runs")
    random = np.random.default_rng(checks.require_integer(seed, "seed", minimum=0))
    firsts = np.minimum((steps * (np.arange(count) + random.random(count)) / count).astype(int), steps - 1)
    draw = _GustSampler(motion, _check_range(strength, "strength"), _check_range(radius, "radius"), particles, random)
    gusts = [draw.draw_gust(int(first)) for first in firsts]
    if every is None:
        every = max(1, -int(-(steps - firsts).sum() // MAX_SNAPSHOTS))
    worker = _FlowSampleWorker(motion.flow, motion.dt, motion.force, steps, checks.require_integer(every, "every"))
    items = [(int(first), motion.states[first], gust) for first, gust in zip(firsts, gusts)]
    blocks = list(stream(worker, items, cluster=cluster, progress=progress))
    return FlowSamples(np.concatenate([motion.states.astype(np.float32), *blocks]), tuple(gusts))


def _check_range(value: tuple[float, float], name: str) -> tuple[float, float]:
    low, high = checks.require_real_array(value, name, (2,))
    if not 0 < low <= high:
        raise InputError(f"{name} is ({low:.4g}, {high:.4g}), but must be two positive shares, the smaller first")
    return float(low), float(high)


class _GustSampler:
    """Random gusts along a motion."""

    def __init__(
        self, motion: FlowMotion, strength: tuple[float, float], radius: tuple[float, float], particles: ArrayLike,
        generator: np.random.Generator,
    ):  # fmt: skip
        self._motion, self._generator, self._strength = motion, generator, strength
        self._radius = min(motion.flow.size) * np.array(radius)
        self._max_speed = float(np.abs(motion.states).max())
        self._paths = None if checks.is_empty(particles) else motion.advect(particles)

    def draw_gust(self, frame: int) -> Gust:
        """One that blows in the step after frame `first`."""
        angle, share = self._generator.uniform(0.0, 2.0 * np.pi), self._generator.uniform(*self._strength)
        speed = share * self._max_speed / self._motion.dt
        place = self._draw_position(frame).tolist()
        pushed = float(speed * np.cos(angle)), float(speed * np.sin(angle))
        blown = Gust((place[0], place[1]), pushed, float(self._generator.uniform(*self._radius)))
        return replace(blown, time=frame * self._motion.dt)

    def _draw_position(self, frame: int) -> Array:
        if self._paths is not None:
            return np.asarray(self._paths[frame, self._generator.integers(self._paths.shape[1])])
        u, v = self._motion.flow.split_faces(self._motion.states[frame])
        fast = (0.25 * ((u[1:] + u[:-1]) ** 2 + (v[:, 1:] + v[:, :-1]) ** 2)).ravel()
        share = fast / fast.sum() if fast.any() else None
        cell = self._generator.choice(fast.size, p=share)
        at = np.array(np.unravel_index(cell, (u.shape[0] - 1, u.shape[1])), dtype=np.float64)
        return self._motion.flow.cell_size * (at + 0.5)
