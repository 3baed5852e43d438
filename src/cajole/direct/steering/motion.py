"""A reference: what the controller follows, and the feed-forward that makes it (§5.3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array
from cajole.body import Body
from cajole.direct.keyframing.shot import Shot
from cajole.direct.steering import kernels
from cajole.errors import InputError, NotConverged
from cajole.reduction import ReducedModel
from cajole.reduction import kernels_motion as motion_kernels
from cajole.reduction.trajectory import MOST_ITERATIONS, TOLERANCE, newmark_plan, rollout

# Body weights of feed-forward beyond which a motion, a body and a basis hardly belong together; and those which no
# basis explains: differences of rough frames alone ask for up to twenty of the right body.
MANY_WEIGHTS, TOO_MANY_WEIGHTS = 10.0, 50.0
# The least eigenvalue of a steady step's matrix, which is one or more at rest: above zero with something to spare.
STEADY = 0.5
NO_GAINS = np.empty((0, 0, 0))
Force = Callable[[float], ArrayLike] | ArrayLike | None


@dataclass(frozen=True, eq=False)
class Reference:
    """A motion in reduced coordinates, T steps of dt, with everything the regulator needs.

    course (2, T+1, 2, r): before each step its predictor state (P, V), and the frame (q, v) it starts from;
    accelerations, feed_forward (T, r) of each step; Gq, Gv (T, r, r): the exact derivatives of each step.
    loop: after the last step comes the first; motion_error: how far the given motion lies outside the basis, per frame,
    in body sizes (None when it was reduced to begin with). substeps: steps to a frame of the given motion.
    body_weights: what the body itself, in no basis, needs where the feed-forward is greatest, in its weights; known
    where that is suspiciously great.
    """

    model: ReducedModel
    dt: float
    course: Array
    accelerations: Array
    feed_forward: Array
    Gq: Array
    Gv: Array
    loop: bool = False
    motion_error: Array | None = None
    substeps: int = 1
    body_weights: float | None = None

    @property
    def steps(self) -> int:
        """How many steps T the motion has."""
        return len(self.feed_forward)

    @property
    def states(self) -> Array:
        """q (T+1, r) at every frame, the first included."""
        return self.course[1, :, 0]

    @property
    def velocities(self) -> Array:
        """q̇ (T+1, r)."""
        return self.course[1, :, 1]

    @property
    def plan(self) -> Array:
        """The coefficients of every step, as `newmark_plan` makes them."""
        return newmark_plan(np.full(self.steps + 1, self.dt))

    @cached_property
    def drift(self) -> Array:
        """(T+1,) how far the feed-forward alone, without any control, leads from the reference, in body sizes."""
        path = rollout(self.model.system, self.plan, (self.course[0, 0, 0], self.course[0, 0, 1]), self.feed_forward)
        off = np.linalg.norm(path.Q - self.states[1:], axis=1)
        return np.concatenate([[0.0], off / self.model.unit_length])

    @property
    def seam(self) -> float:
        """The distance from the last frame to the first, in body sizes: what a loop asks the control to bridge."""
        return float(np.linalg.norm(self.states[-1] - self.states[0])) / self.model.unit_length

    @cached_property
    def weights(self) -> Array:
        """(T,) the size of the feed-forward, in body weights."""
        return np.linalg.norm(self.feed_forward + self.model.constant, axis=1) / self.model.unit_weight

    @cached_property
    def steady(self) -> bool:
        """Whether every step has one answer nearby, see `steady_steps`."""
        return steady_steps(self.Gq, self.Gv, self.dt)

    @property
    def misfits(self) -> bool:
        """Whether the motion asks for more of the body itself, whatever the basis, than any of its own would."""
        needed = self.body_weights
        return needed is not None and (needed > TOO_MANY_WEIGHTS or needed > 0.5 * float(self.weights.max()))

    @property
    def notes(self) -> tuple[str, ...]:
        """What is suspicious about it, and what to do."""
        if self.body_weights is None:
            return ()
        most, needed = self.weights.max(), self.body_weights
        if not self.misfits:
            return (
                f"the basis locks: it takes {most:.3g} weights to make what the body does with {needed:.2g}; linear"
                " modes alone do that: add the motion's own directions, or more of them (components)",
            )
        return (
            f"the motion asks for {needed:.3g} weights of this body: was it made with another young, density or"
            " damping, or are its frames rough?",
        )

    def __repr__(self) -> str:
        kind = "loop of " if self.loop else ""
        return f"Reference({kind}{self.steps} steps of {self.dt:.4g} s in {self.model.size} coordinates)"

    def __str__(self) -> str:
        rows = [f"reference: {self.steps} steps of {self.dt:.4g} s, {self.model.size} coordinates"]
        if self.substeps > 1:
            rows.append(f"  {self.substeps} steps to a frame of the motion")
        if self.motion_error is not None:
            rows.append(f"  outside the basis: {100 * self.motion_error.max():.3g} % of the size at most")
        rms = np.sqrt((self.weights**2).mean())
        rows.append(f"  feed-forward: {rms:.3g} weights (rms), {self.weights.max():.3g} at most")
        rows.append(f"  mismatch: it alone {self._drifting()}")
        if self.loop:
            rows.append(f"  seam: {100 * self.seam:.3g} % of the size")
        return "\n".join(rows + [f"  note: {note}" for note in self.notes])

    def _drifting(self) -> str:
        try:
            return f"drifts by {100 * self.drift.max():.3g} % of the size"
        except NotConverged:
            return "leads to where the model cannot be simulated"


def steady_steps(Gq: Array, Gv: Array, h: float) -> bool:
    """Whether steps of h [s] have one answer nearby: I + h/2 Gv + h²/4 Gq is well above zero wherever they lead.

    A body that is folded or pressed together loses its stiffness; then long steps have several answers, or none.
    """
    J = (1.0 - STEADY) * np.eye(Gq.shape[1]) + h / 2 * Gv + h**2 / 4 * Gq
    try:
        np.linalg.cholesky(0.5 * (J + J.transpose(0, 2, 1)))
    except np.linalg.LinAlgError:
        return False
    return True


def step_row(h: float) -> tuple[float, ...]:
    """The coefficients of one step of h among equal ones."""
    return tuple(newmark_plan(np.array([h, h]))[0].tolist())


def of_shot(shot: Shot) -> Reference:
    """The reference of a shot: its own controls as feed-forward, which reproduce it to rounding."""
    model, T, h = shot.model, len(shot.controls), shot.dt
    start = shot.start or model.predictor(shot.states[0], shot.velocities[0], h)
    first = None if len(shot.states) == T else (shot.states[0], shot.velocities[0])
    return simulated(model, start, shot.controls - model.constant, h, first, loop=shot.loop, near=shot.states[-T:])


def simulated(
    model: ReducedModel,
    start: tuple[Array, Array],
    W: Array,
    h: float,
    first: tuple[Array, Array] | None,
    *,
    loop: bool = False,
    motion_error: Array | None = None,
    near: Array | None = None,
) -> Reference:
    """The reference of a reduced simulation under W (T, r) from the predictor state `start`.

    first: the frame before its first step, of a loop the last one; near (T, r): states it passes, where they are known.
    The steps are made by the very function that runs the controller: undisturbed, a run then repeats them to the last
    bit, and the feedback is zero and not rounding. Raises NotConverged naming the step.
    """
    T, r = W.shape
    course, out, now = np.empty((2, T + 1, 2, r)), np.empty((1, 3, r)), np.zeros((5, r))
    course[0, 0] = now[:2] = start
    Gq, Gv, A, still = np.empty((T, r, r)), np.empty((T, r, r)), np.zeros((T, r)), np.zeros((1, r))
    work, row = motion_kernels.workspace(model.system), step_row(h)
    for n in range(T):
        A[n] = now[2] if near is None else (near[n] - now[0]) / row[0]
        done = kernels.drive(
            model.system, row, course, A, W, NO_GAINS, kernels.PREDICTOR, now, n, still, TOLERANCE,
            MOST_ITERATIONS, work, Gq[n : n + 1], Gv[n : n + 1], out,
        )  # fmt: skip
        if not done:
            raise NotConverged(f"step {n + 1} of the reference did not converge; use a smaller dt")
        A[n], course[0, n + 1], course[1, n + 1] = now[2], now[:2], now[3:]
    course[1, 0] = now[3:] if first is None else first
    return Reference(model, h, course, A, W, Gq, Gv, loop, motion_error)


def projected_force(model: ReducedModel, force: Force, frames: int, h: float) -> Array:
    """Uᵀf (frames, r) of a force as `simulate` takes it, at frames 0, 1, ..."""
    body: Body = model.body
    if callable(force):
        times = h * np.arange(frames)
        return np.array([model.project_force(body.checked(force(float(t)), f"force({t:.6g})")) for t in times])
    try:
        array = np.asarray(force, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            "a force must be a function of time, numbers (n, 3) or (frames, n, 3) [N], or only Push and Wind objects"
        ) from None
    if array.ndim == 3:
        return model.project_force(checks.real_array(array, "force", (frames, body.count, 3)))
    return np.tile(model.project_force(body.checked(array, "force")), (frames, 1))
