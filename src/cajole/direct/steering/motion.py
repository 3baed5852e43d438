"""From a motion to a reference: what the controller follows, and the feed-forward that makes it (§5.3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole import checks
from cajole.animation import Animation
from cajole.body import Body
from cajole.direct.keyframing.shot import EARTH, Shot
from cajole.direct.steering import kernels
from cajole.errors import InputError
from cajole.reduction import ReducedModel
from cajole.reduction import kernels_motion as motion_kernels
from cajole.reduction.offset import constant_force, first_predictor, project_velocity
from cajole.reduction.trajectory import MOST_ITERATIONS, TOLERANCE, Trajectory, newmark_plan, rollout

Array = NDArray[np.float64]

FEED_FORWARD = ("inverse", "given", "zero")
NO_GAINS = np.empty((0, 0, 0))
Force = Callable[[float], ArrayLike] | ArrayLike | None


@dataclass(frozen=True, eq=False)
class Reference:
    """A motion in reduced coordinates, T steps of dt, with everything the regulator needs.

    course (2, T+1, 2, r): before each step its predictor state (P, V), and the frame (q, v) it starts from;
    accelerations, feed_forward (T, r) of each step; Gq, Gv (T, r, r): the exact derivatives of each step.
    loop: after the last step comes the first; motion_error: how far the given motion lies outside the basis, per frame,
    in body sizes (None when it was reduced to begin with).
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

    @property
    def steps(self) -> int:
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
        return np.concatenate([[0.0], in_sizes(self.model, off)])

    @property
    def seam(self) -> float:
        """The distance from the last frame to the first, in body sizes: what a loop asks the control to bridge."""
        return float(in_sizes(self.model, np.linalg.norm(self.states[-1] - self.states[0])))

    def __str__(self) -> str:
        weights = np.linalg.norm(self.feed_forward + constant_force(self.model), axis=1) / weight(self.model)
        rows = [f"reference: {self.steps} steps of {self.dt:.4g} s, {self.model.size} coordinates"]
        if self.motion_error is not None:
            rows.append(f"  outside the basis: {100 * self.motion_error.max():.3g} % of the size at most")
        rows.append(f"  feed-forward: {np.sqrt((weights**2).mean()):.3g} weights (rms), {weights.max():.3g} at most")
        rows.append(f"  mismatch: it alone drifts by {100 * self.drift.max():.3g} % of the size")
        if self.loop:
            rows.append(f"  seam: {100 * self.seam:.3g} % of the size")
        return "\n".join(rows)


def step_row(h: float) -> tuple[float, ...]:
    """The coefficients of one step of h among equal ones."""
    return tuple(newmark_plan(np.array([h, h]))[0].tolist())


def in_sizes(model: ReducedModel, distance: ArrayLike) -> Array:
    """|Δz| as a share of the body's size, √(|Δu|²_M / m) / L."""
    return np.asarray(distance) / (np.sqrt(model.body.total_mass) * model.body.size)


def weight(model: ReducedModel) -> float:
    """The body's weight in the unit of reduced forces, √m g."""
    return float(np.sqrt(model.body.total_mass) * EARTH)


def of_shot(shot: Shot) -> Reference:
    """The reference of a shot: its own controls as feed-forward, which reproduce it to rounding."""
    model, T = shot.model, len(shot.controls)
    start = shot.start or first_predictor(model, shot.states[0], shot.velocities[0], shot.dt)
    path = rollout(model.system, newmark_plan(np.full(T + 1, shot.dt)), start, shot.controls - constant_force(model))
    first = None if len(shot.states) == T else (shot.states[0], shot.velocities[0])
    return simulated(model, path, shot.dt, first, loop=shot.loop)


def reference(
    model: ReducedModel,
    motion: Animation,
    *,
    force: Force = None,
    feed_forward: str = "inverse",
    resimulate: bool = False,
    loop: bool = False,
) -> Reference:
    """A full motion as a reference for the controller of `model`.

    motion: on the body's mesh, one step between frames; from `simulate`, a file, anywhere.
    force: the external force [N] that made it, as `simulate` takes it: f(t), (n, 3) or (frames, n, 3).
    feed_forward: "inverse" finds the forces that make the projected motion, w = q̈ + d(q, q̇) + f(q); "given" projects
        `force`, w = Uᵀf, which need not match; "zero" leaves all to the control.
    resimulate: follow what the reduced model does under the given force, instead of the projected motion.
    loop: whether the first frame comes after the last.
    Raises InputError for a motion of another mesh, or a force that is missing or not wanted.
    """
    checks.require_instance(model, ReducedModel, "model")
    checks.require_instance(motion, Animation, "motion")
    checks.one_of(feed_forward, "feed_forward", FEED_FORWARD)
    if motion.positions.shape[1] != model.body.count:
        raise InputError(f"the motion has {motion.positions.shape[1]} vertices, but the body has {model.body.count}")
    if len(motion.positions) < 3:
        raise InputError("a reference needs a motion of at least 3 frames")
    if (force is None) == (feed_forward == "given" or resimulate):
        raise InputError(
            "give `force` with feed_forward='given' or resimulate=True" if force is None
            else "`force` is only used with feed_forward='given' or resimulate=True"
        )  # fmt: skip
    h = 1.0 / motion.fps
    q, v, outside = _projected(model, motion, h)
    if resimulate:
        f = projected_force(model, force, len(q), h)
        P, V = first_predictor(model, q[0], v[0], h)
        # as in `simulate`, the force acts on the first acceleration too
        start = P + 0.25 * h**2 * f[0], V + 0.5 * h * f[0]
        path = rollout(model.system, newmark_plan(np.full(len(q), h)), start, f[1:] - constant_force(model))
        return simulated(model, path, h, (q[0], v[0]), loop=loop, motion_error=outside)
    made = _inverse(model, q, v, h, loop, outside)
    if feed_forward == "inverse":
        return made
    W = _given(model, force, len(q), h) if feed_forward == "given" else np.zeros((len(q) - 1, model.size))
    if feed_forward == "zero":
        W = W - constant_force(model)
    fields = {name: getattr(made, name) for name in ("course", "accelerations", "Gq", "Gv")}
    return Reference(model, h, feed_forward=W, loop=loop, motion_error=outside, **fields)


def simulated(
    model: ReducedModel,
    path: Trajectory,
    h: float,
    first: tuple[Array, Array] | None,
    *,
    loop: bool = False,
    motion_error: Array | None = None,
) -> Reference:
    """The reference of a reduced simulation; first: the frame before its first step, of a loop the last one.

    The steps are made once more by the very function that runs the controller: undisturbed, a run then repeats them to
    the last bit, and the feedback is zero and not rounding.
    """
    T, r = path.W.shape
    q0, v0 = (path.Q[-1], path.Vq[-1]) if first is None else first
    course, out, now = np.empty((2, T + 1, 2, r)), np.empty((T, 3, r)), np.zeros((5, r))
    course[0, 0], course[1, 0] = (path.P[0], path.V[0]), (q0, v0)
    now[0], now[1] = path.P[0], path.V[0]
    Gq, Gv, A, still = np.empty_like(path.Gq), np.empty_like(path.Gv), path.A.copy(), np.zeros((1, r))
    work, row = motion_kernels.workspace(model.system), step_row(h)
    for n in range(T):
        kernels.drive(
            model.system, row, course, A, path.W, NO_GAINS, kernels.PREDICTOR, now, n, still, TOLERANCE,
            MOST_ITERATIONS, work, Gq[n : n + 1], Gv[n : n + 1], out[n : n + 1],
        )  # fmt: skip
        A[n], course[0, n + 1], course[1, n + 1] = now[2], now[:2], now[3:]
    return Reference(model, h, course, A, path.W, Gq, Gv, loop, motion_error)


def _projected(model: ReducedModel, motion: Animation, h: float) -> tuple[Array, Array, Array]:
    """q, q̇ (frames, r) of a motion, and how far it lies outside the basis (frames,)."""
    u = np.asarray(motion.positions) - model.body.vertices
    q = model.project(u)
    if motion.velocities is not None:
        v = np.array([project_velocity(model, np.asarray(rate)) for rate in motion.velocities])
    else:
        v = np.gradient(q, h, axis=0, edge_order=2)
    rest = (u - model.lift(q)).reshape(len(u), -1)
    lengths = np.sqrt(np.maximum(np.einsum("fi,fi->f", rest, (model.body.mass @ rest.T).T), 0.0))
    return q, v, in_sizes(model, lengths)


def _inverse(model: ReducedModel, q: Array, v: Array, h: float, loop: bool, outside: Array) -> Reference:
    """The reference through given frames; accelerations by differences, forces by inverse dynamics."""
    a = np.empty_like(q)
    a[1:-1] = (q[2:] - 2.0 * q[1:-1] + q[:-2]) / h**2
    a[0], a[-1] = a[1], a[-2]
    T, r = len(q) - 1, model.size
    Gq, Gv, F = np.empty((T, r, r)), np.empty((T, r, r)), np.empty((T, r))
    work = motion_kernels.workspace(model.system)
    for n in range(T):
        motion_kernels.evaluate(model.system, q[n + 1], v[n + 1], work, F[n], Gq[n], Gv[n])
    P, V = q[1:] - 0.25 * h**2 * a[1:], v[1:] - 0.5 * h * a[1:]
    end = P[-1] + h * V[-1] + h**2 * a[-1], V[-1] + h * a[-1]
    predictors = np.stack([np.vstack([P, end[0]]), np.vstack([V, end[1]])], axis=1)
    course = np.stack([predictors, np.stack([q, v], axis=1)])
    return Reference(model, h, course, a[1:].copy(), a[1:] + F, Gq, Gv, loop, outside)


def _given(model: ReducedModel, force: Force, frames: int, h: float) -> Array:
    """w = Uᵀf (T, r) of the force into each frame after the first, without an offset's own force."""
    return projected_force(model, force, frames, h)[1:] - constant_force(model)


def projected_force(model: ReducedModel, force: Force, frames: int, h: float, *, begin: int = 0) -> Array:
    """Uᵀf (frames, r) of a force as `simulate` takes it, at frames begin, begin + 1, ..."""
    body: Body = model.body
    if callable(force):
        rows = [body.checked(force((begin + k) * h), f"force({(begin + k) * h:.6g})") for k in range(frames)]
        return np.array([row.ravel() @ model.basis for row in rows])
    try:
        array = np.asarray(force, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            "a force must be a function of time, numbers (n, 3) or (frames, n, 3) [N], or only Push and Wind objects"
        ) from None
    if array.ndim == 3:
        return checks.real_array(array, "force", (frames, body.count, 3)).reshape(frames, -1) @ model.basis
    return np.tile(body.checked(array, "force").ravel() @ model.basis, (frames, 1))
