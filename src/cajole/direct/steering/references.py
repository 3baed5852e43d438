"""From a motion to a reference: the projected frames, and inverse dynamics between them (§5.3)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicSpline

from cajole import checks
from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import Body
from cajole.direct.steering.bases import held_still, motion_basis
from cajole.direct.steering.motion import (
    MANY_WEIGHTS,
    Force,
    Reference,
    projected_force,
    simulated,
    steady_steps,
)
from cajole.dynamics import Modes
from cajole.errors import InputError
from cajole.memory import require_memory
from cajole.reduction import ReducedModel, reduce
from cajole.reduction import kernels_motion as motion_kernels

FEED_FORWARD = ("inverse", "given", "zero")
# Steps to a frame that are tried by themselves; a beam folded upon itself at 24 frames/s needed 8.
MOST_SUBSTEPS = 16


def reference(
    model: ReducedModel | Body,
    motion: Animation,
    *,
    modes: int | Modes | ArrayLike | None = None,
    components: int | None = None,
    force: Force = None,
    feed_forward: str = "inverse",
    resimulate: bool = False,
    loop: bool = False,
    substeps: int | None = None,
) -> Reference:
    """A full motion as a reference for the controller of `model`.

    model: a reduced model, or a body: it is then reduced to the motion's own main directions and modes beside them, for
        what pushes may do. components: how many of the former, those that hold 0.999999 of it but at most 16 when None;
        modes: how many of the latter (20, or all of a small body), or shapes (3n, k) in place of them.
    motion: on the body's mesh, one step between frames; from `simulate`, a file, anywhere.
    force: the external force [N] that made it, as `simulate` takes it: f(t), (n, 3) or (frames, n, 3). Gravity is
        found with all else: it need not be named.
    feed_forward: "inverse" finds the forces that make the projected motion, w = q̈ + d(q, q̇) + f(q); "given" projects
        `force`, w = Uᵀf, which need not match; "zero" leaves all to the control.
    resimulate: follow what the reduced model does under the given force, instead of the projected motion.
    loop: whether the first frame comes after the last.
    substeps: steps to a frame, along a spline through the frames; None takes one, and more only where a step would
        have no single answer, because the body is folded or pressed together.
    Raises InputError for a motion of another mesh, or a force that is missing or not wanted.
    """
    checks.require_instance(motion, Animation, "motion")
    checks.one_of(feed_forward, "feed_forward", FEED_FORWARD)
    checks.flag(resimulate, "resimulate")
    given = feed_forward == "given" or resimulate
    _refuse(motion, force, given, substeps)
    if isinstance(model, Body):
        _require_vertices(model, motion)
        motion = held_still(model, motion)
        model = reduce(model, motion_basis(model, motion, modes=modes, components=components))
    elif modes is not None or components is not None:
        raise InputError("modes and components make a basis for a body; a reduced model has its own")
    checks.require_instance(model, ReducedModel, "model (a ReducedModel, or a body)")
    _require_vertices(model.body, motion)
    h = 1.0 / motion.fps
    q, v, outside = _projected(model, motion, h)
    if resimulate:
        return _resimulated(model, q, v, h, force, loop, outside)
    made = _stepped(model, q, v, h, loop, outside, 1 if given else substeps)
    if feed_forward == "inverse":
        return replace(made, body_weights=_body_weights(made, motion))
    W = _given(model, force, len(q), h) if given else np.zeros_like(made.feed_forward) - model.constant
    return replace(made, feed_forward=W)


def _refuse(motion: Animation, force: Force, given: bool, substeps: int | None) -> None:
    if len(motion.positions) < 3:
        raise InputError("a reference needs a motion of at least 3 frames")
    if (force is None) == given:
        raise InputError(
            "give `force` with feed_forward='given' or resimulate=True" if force is None
            else "`force` is only used with feed_forward='given' or resimulate=True"
        )  # fmt: skip
    if substeps is not None and checks.count(substeps, "substeps") > 1 and given:
        raise InputError("a given force acts frame by frame; leave substeps out, or use feed_forward='inverse'")


def _require_vertices(body: Body, motion: Animation) -> None:
    if motion.positions.shape[1] != body.count:
        raise InputError(f"the motion has {motion.positions.shape[1]} vertices, but the body has {body.count}")


def _projected(model: ReducedModel, motion: Animation, h: float) -> tuple[Array, Array, Array]:
    """q, q̇ (frames, r) of a motion, and how far it lies outside the basis (frames,)."""
    u = np.asarray(motion.positions) - model.body.vertices
    q = model.project(u)
    if motion.velocities is not None:
        v = model.project_velocity(motion.velocities)
    else:
        v = np.gradient(q, h, axis=0, edge_order=2)
    rest = (u - model.lift(q)).reshape(len(u), -1)
    lengths = np.sqrt(np.maximum(np.einsum("fi,fi->f", rest, (model.body.mass @ rest.T).T), 0.0))
    return q, v, lengths / model.unit_length


def _resimulated(
    model: ReducedModel, q: Array, v: Array, h: float, force: Force, loop: bool, outside: Array
) -> Reference:
    f = projected_force(model, force, len(q), h)
    P, V = model.predictor(q[0], v[0], h)
    # as in `simulate`, the force acts on the first acceleration too
    start = P + 0.25 * h**2 * f[0], V + 0.5 * h * f[0]
    return simulated(model, start, f[1:] - model.constant, h, (q[0], v[0]), loop=loop, motion_error=outside)


def _stepped(
    model: ReducedModel, q: Array, v: Array, h: float, loop: bool, outside: Array, substeps: int | None
) -> Reference:
    """The reference in `substeps` steps to a frame; as few as are steady when None."""
    made = _inverse(model, q, v, h, loop, outside, substeps or 1)
    while substeps is None and made.substeps < MOST_SUBSTEPS:
        # half-way, too: a beam that folds between two frames is steady at both
        finer = _inverse(model, q, v, h, loop, outside, 2 * made.substeps)
        if steady_steps(finer.Gq, finer.Gv, made.dt):
            break
        made = finer
    return made


def _inverse(
    model: ReducedModel, q: Array, v: Array, h: float, loop: bool, outside: Array, substeps: int = 1
) -> Reference:
    """The reference through given frames; accelerations by differences, forces by inverse dynamics."""
    steps = (len(q) - 1) * substeps
    # two derivatives (r, r) of every step, and some twenty rows (r,)
    needed = 8 * steps * (2 * model.size**2 + 20 * model.size)
    require_memory(needed, f"a reference of {steps} steps", "use fewer substeps, or fewer frames")
    if substeps > 1:
        frames = np.arange(len(q))
        fine = np.arange(steps + 1) / substeps
        path = CubicSpline(frames, q)
        q, v, h = path(fine), path(fine, 1) / h, h / substeps
        outside = np.interp(fine, frames, outside)
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
    return Reference(model, h, course, a[1:].copy(), a[1:] + F, Gq, Gv, loop, outside, substeps)


def _given(model: ReducedModel, force: Force, frames: int, h: float) -> Array:
    """w = Uᵀf (T, r) of the force into each frame after the first, without an offset's own force."""
    return projected_force(model, force, frames, h)[1:] - model.constant


def _body_weights(made: Reference, motion: Animation) -> float | None:
    """The feed-forward at its greatest with the forces of the body in place of the model's, in body weights.

    None where it is not suspiciously great: most motions need no second look.
    """
    if made.weights.max() <= MANY_WEIGHTS:
        return None
    model, k = made.model, made.substeps
    frame = max(1, round((int(made.weights.argmax()) + 1) / k))
    u = np.asarray(motion.positions[frame], dtype=np.float64) - model.body.vertices
    own = model.project_force(model.body.force(u))
    w = made.feed_forward[k * frame - 1] + model.constant + own - model.force(made.states[k * frame])
    return float(np.linalg.norm(w)) / model.unit_weight
