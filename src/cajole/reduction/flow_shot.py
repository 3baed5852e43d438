"""A motion of a fluid in its modes, with the paths of its particles: what a controller follows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from cajole import checks
from cajole.arrays import Array
from cajole.errors import InputError
from cajole.flow import FlowMotion
from cajole.linalg import blas_threads
from cajole.reduction.flow_forces import inverse_forces, reduced_forces

if TYPE_CHECKING:
    from cajole.reduction.flow import ReducedFlow


FEED_FORWARDS = ("given", "zero", "inverse")
# Frames that are lifted at a time.
FEW = 16


@dataclass(frozen=True, eq=False)
class FlowShot:
    """states (T+1, r); particles (T+1, N, 2) [m]; feed_forward (T, r): forces that act in every run; T steps of dt [s].

    outside: (T+1,) the share of each frame's speed that the modes leave out; zero for what was simulated in them.
    """

    model: ReducedFlow
    dt: float
    states: Array
    particles: Array
    feed_forward: Array
    outside: Array | None = None

    @property
    def steps(self) -> int:
        """How many there are, T."""
        return len(self.feed_forward)

    @cached_property
    def speed(self) -> float:
        """The fastest velocity on any edge at any frame [m/s]: the unit of velocities."""
        states = self.states.astype(np.float32)
        with blas_threads():
            parts = (self.model.single @ states[n : n + FEW].T for n in range(0, len(states), FEW))
            return max(float(np.abs(part).max()) for part in parts)

    def __repr__(self) -> str:
        return f"FlowShot({self.steps} steps of {self.dt:.4g} s, {self.model.size} modes, {self._tracked()})"

    def __str__(self) -> str:
        rows = [f"flow: {self.steps} steps of {self.dt:.4g} s in {self.model.size} modes, {self._tracked()}"]
        if self.outside is not None:
            rows.append(f"  outside the modes: {100 * self.outside.max():.3g} % of the speed at most")
        return "\n".join(rows)

    def _tracked(self) -> str:
        count = self.particles.shape[1]
        return f"{count} particle{'' if count == 1 else 's'}"


def shot_of(model: ReducedFlow, motion: FlowMotion, start: Array, reduced: bool, feed_forward: str) -> FlowShot:
    """`ReducedFlow.shot`."""
    checks.require_instance(motion, FlowMotion, "motion")
    checks.one_of(feed_forward, "feed_forward", FEED_FORWARDS)
    if motion.flow != model.flow:
        raise InputError(f"motion is one of {motion.flow}, but the model is of {model.flow}")
    driven = reduced_forces(model, motion.force, motion.dt, 0, motion.frames - 1)
    if checks.flag(reduced, "reduced"):
        made = model.rollout(driven, motion.dt, model.project(motion.states[0]), start)
        return made if feed_forward != "zero" else replace(made, feed_forward=np.zeros_like(driven))
    Z = model.project(motion.states)
    whole, held = 2.0 * motion.energies, (Z**2).sum(axis=1)
    missed = np.sqrt(np.clip(whole - held, 0.0, None) / max(whole.max(), np.finfo(float).tiny))
    if feed_forward == "inverse":
        driven = inverse_forces(model, Z, motion.dt)
    elif feed_forward == "zero":
        driven = np.zeros_like(driven)
    return FlowShot(model, motion.dt, Z, motion.follow(start), driven, missed)
