"""A reference: what the controller follows, and the feed-forward that makes it (§5.3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicSpline

from cajole import checks
from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import Body, BodySolid
from cajole.body.body_weights import compute_modal_body_weights
from cajole.direct.keyframing.shot import Shot
from cajole.direct.steering import kernels
from cajole.direct.steering.motion_basis import build_motion_basis, snap_fixed_vertices
from cajole.dynamics import Modes
from cajole.errors import InputError, NotConverged
from cajole.memory import require_memory
from cajole.reduction import ReducedModel, reduce
from cajole.reduction import kernels_trajectory as motion_kernels
from cajole.reduction.trajectory import MAX_ITERATIONS, TOLERANCE, build_newmark_coefficients, rollout

# Body weights of feed-forward beyond which a motion, a body and a basis hardly belong together; and those which no
# basis explains: differences of rough frames alone ask for up to twenty of the right body.
LARGE_FEED_FORWARD, MAX_FEED_FORWARD = 10.0, 50.0
# The least eigenvalue of a steady step's matrix, which is one or more at rest: above zero with something to spare.
MIN_STEP_EIGENVALUE = 0.5
EMPTY_GAINS = np.empty((0, 0, 0))
ForceLike = Callable[[float], ArrayLike] | ArrayLike | None


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
    trajectory: Array
    accelerations: Array
    feed_forward: Array
    Gq: Array
    Gv: Array
    loop: bool = False
    projection_error: Array | None = None
    substeps: int = 1
    max_full_space_feed_forward: float | None = None

    @property
    def step_count(self) -> int:
        """How many steps T the motion has."""
        return len(self.feed_forward)

    @property
    def states(self) -> Array:
        """q (T+1, r) at every frame, the first included."""
        return self.trajectory[1, :, 0]

    @property
    def velocities(self) -> Array:
        """q̇ (T+1, r)."""
        return self.trajectory[1, :, 1]

    @property
    def newmark_coefficients(self) -> Array:
        """The coefficients of every step, as `newmark_plan` makes them."""
        return build_newmark_coefficients(np.full(self.step_count + 1, self.dt))

    @cached_property
    def open_loop_error(self) -> Array:
        """(T+1,) how far the feed-forward alone, without any control, leads from the reference, in body sizes."""
        path = rollout(
            self.model.kernel_data,
            self.newmark_coefficients,
            (self.trajectory[0, 0, 0], self.trajectory[0, 0, 1]),
            self.feed_forward,
        )
        off = np.linalg.norm(path.coordinates - self.states[1:], axis=1)
        return np.concatenate([[0.0], off / self.model.unit_length])

    @property
    def loop_gap(self) -> float:
        """The distance from the last frame to the first, in body sizes: what a loop asks the control to bridge."""
        return float(np.linalg.norm(self.states[-1] - self.states[0])) / self.model.unit_length

    @cached_property
    def feed_forward_body_weights(self) -> Array:
        """(T,) the size of the feed-forward, in body weights."""
        return compute_modal_body_weights(self.feed_forward + self.model.constant_force, self.model.body.total_mass)

    @cached_property
    def has_unique_solutions(self) -> bool:
        """Whether every step has one answer nearby, see `steady_steps`."""
        return has_unique_step_solutions(self.Gq, self.Gv, self.dt)

    @property
    def has_body_mismatch(self) -> bool:
        """Whether the motion asks for more of the body itself, whatever the basis, than any of its own would."""
        needed = self.max_full_space_feed_forward
        return needed is not None and (
            needed > MAX_FEED_FORWARD or needed > 0.5 * float(self.feed_forward_body_weights.max())
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What is suspicious about it, and what to do."""
        if self.max_full_space_feed_forward is None:
            return ()
        most, needed = self.feed_forward_body_weights.max(), self.max_full_space_feed_forward
        if not self.has_body_mismatch:
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
        return f"Reference({kind}{self.step_count} steps of {self.dt:.4g} s in {self.model.size} coordinates)"

    def __str__(self) -> str:
        rows = [f"reference: {self.step_count} steps of {self.dt:.4g} s, {self.model.size} coordinates"]
        if self.substeps > 1:
            rows.append(f"  {self.substeps} steps to a frame of the motion")
        if self.projection_error is not None:
            rows.append(f"  outside the basis: {100 * self.projection_error.max():.3g} % of the size at most")
        rms = np.sqrt((self.feed_forward_body_weights**2).mean())
        rows.append(f"  feed-forward: {rms:.3g} weights (rms), {self.feed_forward_body_weights.max():.3g} at most")
        rows.append(f"  mismatch: it alone {self._describe_open_loop_error()}")
        if self.loop:
            rows.append(f"  seam: {100 * self.loop_gap:.3g} % of the size")
        return "\n".join(rows + [f"  note: {note}" for note in self.notes])

    def _describe_open_loop_error(self) -> str:
        try:
            return f"drifts by {100 * self.open_loop_error.max():.3g} % of the size"
        except NotConverged:
            return "leads to where the model cannot be simulated"


def has_unique_step_solutions(Gq: Array, Gv: Array, h: float) -> bool:
    """Whether steps of h [s] have one answer nearby: I + h/2 Gv + h²/4 Gq is well above zero wherever they lead.

    A body that is folded or pressed together loses its stiffness; then long steps have several answers, or none.
    """
    J = (1.0 - MIN_STEP_EIGENVALUE) * np.eye(Gq.shape[1]) + h / 2 * Gv + h**2 / 4 * Gq
    try:
        np.linalg.cholesky(0.5 * (J + J.transpose(0, 2, 1)))
    except np.linalg.LinAlgError:
        return False
    return True


def compute_newmark_coefficients(h: float) -> tuple[float, ...]:
    """The coefficients of one step of h among equal ones."""
    return tuple(build_newmark_coefficients(np.array([h, h]))[0].tolist())


def build_shot_reference(shot: Shot) -> Reference:
    """The reference of a shot: its own controls as feed-forward, which reproduce it to rounding."""
    model, T, h = shot.model, len(shot.controls), shot.dt
    start = shot.start or model.compute_predictor(shot.states[0], shot.velocities[0], h)
    first = None if len(shot.states) == T else (shot.states[0], shot.velocities[0])
    return simulate_reference(
        model, start, shot.controls - model.constant_force, h, first, loop=shot.loop, initial_guess=shot.states[-T:]
    )


def simulate_reference(
    model: ReducedModel,
    start: tuple[Array, Array],
    feed_forward: Array,
    h: float,
    first_frame: tuple[Array, Array] | None,
    *,
    loop: bool = False,
    projection_error: Array | None = None,
    initial_guess: Array | None = None,
) -> Reference:
    """The reference of a reduced simulation under W (T, r) from the predictor state `start`.

    first: the frame before its first step, of a loop the last one; near (T, r): states it passes, where they are known.
    The steps are made by the very function that runs the controller: undisturbed, a run then repeats them to the last
    bit, and the feedback is zero and not rounding. Raises NotConverged naming the step.
    """
    T, r = feed_forward.shape
    course, out, now = np.empty((2, T + 1, 2, r)), np.empty((1, 3, r)), np.zeros((5, r))
    course[0, 0] = now[:2] = start
    Gq, Gv, A, still = np.empty((T, r, r)), np.empty((T, r, r)), np.zeros((T, r)), np.zeros((1, r))
    work, row = motion_kernels.allocate_workspace(model.kernel_data), compute_newmark_coefficients(h)
    for n in range(T):
        A[n] = now[2] if initial_guess is None else (initial_guess[n] - now[0]) / row[0]
        done = kernels.rollout_with_feedback(
            model.kernel_data,
            row,
            course,
            A,
            feed_forward,
            EMPTY_GAINS,
            kernels.PREDICTOR_STATE,
            now,
            n,
            still,
            TOLERANCE,
            MAX_ITERATIONS,
            work,
            Gq[n : n + 1],
            Gv[n : n + 1],
            out,
        )
        if not done:
            raise NotConverged(f"step {n + 1} of the reference did not converge; use a smaller dt")
        A[n], course[0, n + 1], course[1, n + 1] = now[2], now[:2], now[3:]
    course[1, 0] = now[3:] if first_frame is None else first_frame
    return Reference(model, h, course, A, feed_forward, Gq, Gv, loop, projection_error)


def project_force(model: ReducedModel, force: ForceLike, frames: int, h: float) -> Array:
    """Uᵀf (frames, r) of a force as `simulate` takes it, at frames 0, 1, ..."""
    body: Body = model.body
    if callable(force):
        times = h * np.arange(frames)
        return np.array(
            [model.project_force(body.check_vertex_vectors(force(float(t)), f"force({t:.6g})")) for t in times]
        )
    try:
        array = np.asarray(force, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            "a force must be a function of time, numbers (n, 3) or (frames, n, 3) [N], or only Push and Wind objects"
        ) from None
    if array.ndim == 3:
        return model.project_force(checks.require_real_array(array, "force", (frames, body.vertex_count, 3)))
    return np.tile(model.project_force(body.check_vertex_vectors(array, "force")), (frames, 1))


FEED_FORWARD_KINDS = ("inverse", "given", "zero")
# Steps to a frame that are tried by themselves; a beam folded upon itself at 24 frames/s needed 8.
MAX_AUTOMATIC_SUBSTEPS = 16


def build_reference(
    model: ReducedModel | Body,
    motion: Animation,
    *,
    modes: int | Modes | ArrayLike | None = None,
    components: int | None = None,
    force: ForceLike = None,
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
    checks.require_choice(feed_forward, "feed_forward", FEED_FORWARD_KINDS)
    checks.require_bool(resimulate, "resimulate")
    given = feed_forward == "given" or resimulate
    _check_inputs(motion, force, given, substeps)
    if isinstance(model, Body):
        _require_same_vertex_count(model, motion)
        motion = snap_fixed_vertices(model, motion)
        model = reduce(model, build_motion_basis(model, motion, modes=modes, components=components))
    elif modes is not None or components is not None:
        raise InputError("modes and components make a basis for a body; a reduced model has its own")
    checks.require_instance(model, ReducedModel, "model (a ReducedModel, or a body)")
    _require_same_vertex_count(model.body, motion)
    h = 1.0 / motion.fps
    q, v, outside = _project_motion(model, motion, h)
    if resimulate:
        return _resimulate(model, q, v, h, force, loop, outside)
    made = _solve_with_substeps(model, q, v, h, loop, outside, 1 if given else substeps)
    if feed_forward == "inverse":
        return replace(made, max_full_space_feed_forward=_compute_full_space_feed_forward(made, motion))
    W = (
        _project_given_force(model, force, len(q), h)
        if given
        else np.zeros_like(made.feed_forward) - model.constant_force
    )
    return replace(made, feed_forward=W)


def _check_inputs(motion: Animation, force: ForceLike, is_force_given: bool, substeps: int | None) -> None:
    if len(motion.positions) < 3:
        raise InputError("a reference needs a motion of at least 3 frames")
    if (force is None) == is_force_given:
        raise InputError(
            "give `force` with feed_forward='given' or resimulate=True" if force is None
            else "`force` is only used with feed_forward='given' or resimulate=True"
        )  # fmt: skip
    if substeps is not None and checks.require_integer(substeps, "substeps") > 1 and is_force_given:
        raise InputError("a given force acts frame by frame; leave substeps out, or use feed_forward='inverse'")


def _require_same_vertex_count(body: Body, motion: Animation) -> None:
    if motion.positions.shape[1] != body.vertex_count:
        raise InputError(f"the motion has {motion.positions.shape[1]} vertices, but the body has {body.vertex_count}")


def _project_motion(model: ReducedModel, motion: Animation, h: float) -> tuple[Array, Array, Array]:
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


def _resimulate(
    model: ReducedModel, q: Array, v: Array, h: float, force: ForceLike, loop: bool, projection_error: Array
) -> Reference:
    f = project_force(model, force, len(q), h)
    P, V = model.compute_predictor(q[0], v[0], h)
    # as in `simulate`, the force acts on the first acceleration too
    start = P + 0.25 * h**2 * f[0], V + 0.5 * h * f[0]
    return simulate_reference(
        model, start, f[1:] - model.constant_force, h, (q[0], v[0]), loop=loop, projection_error=projection_error
    )


def _solve_with_substeps(
    model: ReducedModel, q: Array, v: Array, h: float, loop: bool, projection_error: Array, substeps: int | None
) -> Reference:
    """The reference in `substeps` steps to a frame; as few as are steady when None."""
    made = _solve_inverse_dynamics(model, q, v, h, loop, projection_error, substeps or 1)
    while substeps is None and made.substeps < MAX_AUTOMATIC_SUBSTEPS:
        # half-way, too: a beam that folds between two frames is steady at both
        finer = _solve_inverse_dynamics(model, q, v, h, loop, projection_error, 2 * made.substeps)
        if has_unique_step_solutions(finer.Gq, finer.Gv, made.dt):
            break
        made = finer
    return made


def _solve_inverse_dynamics(
    model: ReducedModel, q: Array, v: Array, h: float, loop: bool, projection_error: Array, substeps: int = 1
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
        projection_error = np.interp(fine, frames, projection_error)
    a = np.empty_like(q)
    a[1:-1] = (q[2:] - 2.0 * q[1:-1] + q[:-2]) / h**2
    a[0], a[-1] = a[1], a[-2]
    T, r = len(q) - 1, model.size
    Gq, Gv, F = np.empty((T, r, r)), np.empty((T, r, r)), np.empty((T, r))
    work = motion_kernels.allocate_workspace(model.kernel_data)
    for n in range(T):
        motion_kernels.evaluate(model.kernel_data, q[n + 1], v[n + 1], work, F[n], Gq[n], Gv[n])
    P, V = q[1:] - 0.25 * h**2 * a[1:], v[1:] - 0.5 * h * a[1:]
    end = P[-1] + h * V[-1] + h**2 * a[-1], V[-1] + h * a[-1]
    predictors = np.stack([np.vstack([P, end[0]]), np.vstack([V, end[1]])], axis=1)
    course = np.stack([predictors, np.stack([q, v], axis=1)])
    return Reference(model, h, course, a[1:].copy(), a[1:] + F, Gq, Gv, loop, projection_error, substeps)


def _project_given_force(model: ReducedModel, force: ForceLike, frames: int, h: float) -> Array:
    """w = Uᵀf (T, r) of the force into each frame after the first, without an offset's own force."""
    return project_force(model, force, frames, h)[1:] - model.constant_force


def _compute_full_space_feed_forward(made: Reference, motion: Animation) -> float | None:
    """The feed-forward at its greatest with the forces of the body in place of the model's, in body weights.

    None where it is not suspiciously great: most motions need no second look.
    """
    if made.feed_forward_body_weights.max() <= LARGE_FEED_FORWARD:
        return None
    model, k = made.model, made.substeps
    frame = max(1, round((int(made.feed_forward_body_weights.argmax()) + 1) / k))
    u = np.asarray(motion.positions[frame], dtype=np.float64) - model.body.vertices
    own = model.project_force(model.body.force(u))
    w = made.feed_forward[k * frame - 1] + model.constant_force + own - model.force(made.states[k * frame])
    return float(compute_modal_body_weights(w, model.body.total_mass))


def diagnose_divergence(reference: Reference) -> str:
    """The likeliest cause that the reference shows, and the remedy."""
    if reference.has_body_mismatch:
        return reference.notes[0]
    if not reference.has_unique_solutions:
        return (
            f"the motion folds or squeezes the body so far{_describe_inverted_elements(reference)} that a step of"
            f" {reference.dt:.3g} s has no single answer; leave substeps out or raise it, give more frames a second, or"
            " make the motion with a stiffer or more damped body"
        )
    if reference.notes:
        return reference.notes[0]
    return (
        "the motion does not fit this body (was it made with another young, density or damping?), or its frames are too"
        " far apart for how fast it moves: give more of them, or raise substeps"
    )


def _describe_inverted_elements(reference: Reference) -> str:
    """How many tets the motion turns inside out, in brackets; nothing when none, or when there are no tets."""
    model, k = reference.model, reference.substeps
    if not isinstance(model.body, BodySolid):
        return ""
    counts = [len(model.body.inverted(u)) for u in model.lift(reference.states[::k])]
    worst = int(np.argmax(counts))
    return f" ({counts[worst]} tets are inside out at frame {worst})" if counts[worst] else ""
