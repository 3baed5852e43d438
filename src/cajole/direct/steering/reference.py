"""`Reference`: the motion of a body that a controller tracks, and the feed-forward that produces it (§5.3)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import CubicSpline

from cajole import checks
from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import Body, BodySolid, flatten_to_columns
from cajole.body.body_weights import compute_modal_body_weights
from cajole.direct.keyframing.shot import Shot
from cajole.direct.steering import kernels
from cajole.dynamics import Modes
from cajole.dynamics.modal_analysis import count_modes
from cajole.errors import InputError, NotConverged
from cajole.memory import require_memory
from cajole.reduction import ForceLike, NominalTrajectory, ReducedModel, compute_mass_pca, extend_basis, reduce
from cajole.reduction import kernels_trajectory as motion_kernels
from cajole.reduction.bases import compute_mode_shapes
from cajole.reduction.trajectory import MAX_ITERATIONS, TOLERANCE, build_newmark_coefficients, rollout

# Body weights of feed-forward above which motion, body and basis hardly fit; and weights that no basis explains:
# differences of rough frames alone need up to twenty weights of the right body.
LARGE_FEED_FORWARD, MAX_FEED_FORWARD = 10.0, 50.0
# Modes beside the motion's own directions, unless given.
DEFAULT_MODES = 20


@dataclass(frozen=True, eq=False)
class Reference(NominalTrajectory):
    """A motion of a body in reduced coordinates, T steps of dt [s].

    trajectory (2, T+1, 2, r): the predictor state (P, V) before each step, and the frame (q, v) from which it starts;
    accelerations, feed_forward (T, r) of each step; Gq, Gv (T, r, r): the exact derivatives of each step.
    loop: True if the first step follows the last; projection_error: distance of the given motion from the basis per
    frame, in body sizes (None if it was reduced already); substeps: steps per frame of the given motion.
    max_full_space_feed_forward: body weights that the unreduced body needs where the feed-forward is largest; computed
    only if the feed-forward is suspiciously large.
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
    linear_range: ClassVar[float] = 0.2
    error_label: ClassVar[str] = "error, % of the size"
    force_label: ClassVar[str] = "added force, weights"

    @property
    def is_periodic(self) -> bool:
        return self.loop

    @property
    def stacked_states(self) -> Array:
        """(T+1, 2r) predictor states (P, V) before each step."""
        return np.asarray(self.trajectory[0].reshape(self.step_count + 1, -1))

    def compute_gentleness(self, feedback: Array) -> Array:
        return compute_modal_body_weights(feedback, self.model.body.total_mass)

    @property
    def effort_unit(self) -> float:
        return self.model.unit_effort

    def compute_error(self, states: Array, particles: Array, frames: NDArray[np.int64]) -> Array:
        return np.asarray(np.linalg.norm(states - self.states[frames], axis=1) / self.model.unit_length)

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
        """(T, 5) coefficients of every step, see `build_newmark_coefficients`."""
        return build_newmark_coefficients(np.full(self.step_count + 1, self.dt))

    @cached_property
    def open_loop_error(self) -> Array:
        """(T+1,) distance from the reference under the feed-forward alone, without control, in body sizes."""
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
        """The distance from the last frame to the first, in body sizes; in a loop the control must bridge it."""
        return float(np.linalg.norm(self.states[-1] - self.states[0])) / self.model.unit_length

    @cached_property
    def feed_forward_body_weights(self) -> Array:
        """(T,) the size of the feed-forward, in body weights."""
        return self.compute_gentleness(self.feed_forward + self.model.constant_force)

    @cached_property
    def has_unique_solutions(self) -> bool:
        """True if every step has a unique solution nearby, see `has_unique_step_solutions`."""
        return has_unique_step_solutions(self.Gq, self.Gv, self.dt)

    @property
    def has_body_mismatch(self) -> bool:
        """True if the unreduced body needs more force for this motion than for any motion of its own."""
        needed = self.max_full_space_feed_forward
        return needed is not None and (
            needed > MAX_FEED_FORWARD or needed > 0.5 * float(self.feed_forward_body_weights.max())
        )

    @property
    def notes(self) -> tuple[str, ...]:
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
        try:
            drift = f"drifts by {100 * self.open_loop_error.max():.3g} % of the size"
        except NotConverged:
            drift = "leads to where the model cannot be simulated"
        rows.append(f"  mismatch: it alone {drift}")
        if self.loop:
            rows.append(f"  seam: {100 * self.loop_gap:.3g} % of the size")
        return "\n".join(rows + [f"  note: {note}" for note in self.notes])


def has_unique_step_solutions(Gq: Array, Gv: Array, h: float) -> bool:
    """True if I + h/2 Gv + h²/4 Gq of all steps is well above zero: then steps of h [s] have a unique solution nearby.

    A folded or compressed body loses its stiffness; then long steps have several solutions, or none.
    """
    # the matrix is I or more at rest; half of it keeps a margin
    J = 0.5 * np.eye(Gq.shape[1]) + h / 2 * Gv + h**2 / 4 * Gq
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
    """The reference of a reduced simulation under feed_forward (T, r) from the predictor state `start`.

    first_frame: (q, v) before the first step, of a loop the last frame; initial_guess: (T, r) states near the solution.
    The steps use the kernel that runs the controller: an undisturbed run then repeats them to the last bit, and its
    feedback is exactly zero. Raises NotConverged naming the step.
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
            kernels.NO_GAINS,
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

    model: a reduced model, or a body, which is then reduced to the motion's principal components and linear modes that
        cover pushes. components: number of the former, None takes those with 0.999999 of the energy, at most 16;
        modes: number of the latter (20, or all of a small body), or shapes (3n, k) instead.
    motion: on the body's mesh, from `simulate`, a file or elsewhere.
    force: the external force [N] that produced it, as `simulate` takes it: f(t), (n, 3) or (frames, n, 3). Inverse
        dynamics recovers gravity with everything else.
    feed_forward: "inverse" computes the forces that produce the projected motion, w = q̈ + d(q, q̇) + f(q); "given"
        projects `force`, w = Uᵀf, which need not match; "zero" leaves everything to the control.
    resimulate: track the motion of the reduced model under the given force, instead of the projected motion.
    loop: True if the first frame follows the last.
    substeps: steps per frame, along a spline through the frames; None takes 1, and more only where the body is folded
        or compressed so far that a step has no unique solution.
    Raises InputError for a motion of another mesh, and for a force that is missing or not needed.
    """
    checks.require_instance(motion, Animation, "motion")
    checks.require_choice(feed_forward, "feed_forward", ("inverse", "given", "zero"))
    checks.require_bool(resimulate, "resimulate")
    given = feed_forward == "given" or resimulate
    if len(motion.positions) < 3:
        raise InputError("a reference needs a motion of at least 3 frames")
    if force is None and given:
        raise InputError("give `force` with feed_forward='given' or resimulate=True")
    if force is not None and not given:
        raise InputError("`force` is only used with feed_forward='given' or resimulate=True")
    if substeps is not None and checks.require_integer(substeps, "substeps") > 1 and given:
        raise InputError("a given force acts frame by frame; leave substeps out, or use feed_forward='inverse'")
    if isinstance(model, Body):
        _require_same_vertex_count(model, motion)
        motion = snap_fixed_vertices(model, motion)
        model = reduce(model, build_motion_basis(model, motion, modes=modes, components=components))
    elif modes is not None or components is not None:
        raise InputError("modes and components make a basis for a body; a reduced model has its own")
    checks.require_instance(model, ReducedModel, "model (a ReducedModel, or a body)")
    _require_same_vertex_count(model.body, motion)
    h = 1.0 / motion.fps
    u = np.asarray(motion.positions) - model.body.vertices
    q = model.project(u)
    if motion.velocities is not None:
        v = model.project_velocity(motion.velocities)
    else:
        v = np.gradient(q, h, axis=0, edge_order=2)
    rest = (u - model.lift(q)).reshape(len(u), -1)
    lengths = np.sqrt(np.maximum(np.einsum("fi,fi->f", rest, (model.body.mass @ rest.T).T), 0.0))
    outside = lengths / model.unit_length
    if resimulate:
        f = model.project_force_over_time(force, len(q), h)
        P, V = model.compute_predictor(q[0], v[0], h)
        # as in `simulate`, the force acts on the first acceleration too
        start = P + 0.25 * h**2 * f[0], V + 0.5 * h * f[0]
        return simulate_reference(
            model, start, f[1:] - model.constant_force, h, (q[0], v[0]), loop=loop, projection_error=outside
        )
    reference = _solve_inverse_dynamics(model, q, v, h, loop, outside, 1 if given else substeps or 1)
    # a beam folded upon itself at 24 frames/s needed 8 substeps
    while not given and substeps is None and reference.substeps < 16:
        # half-way states count too: a beam that folds between two frames is stiff at both
        finer = _solve_inverse_dynamics(model, q, v, h, loop, outside, 2 * reference.substeps)
        if has_unique_step_solutions(finer.Gq, finer.Gv, reference.dt):
            break
        reference = finer
    if feed_forward == "inverse":
        return replace(reference, max_full_space_feed_forward=_compute_full_space_feed_forward(reference, motion))
    W = np.zeros_like(reference.feed_forward)
    if given:
        W = model.project_force_over_time(force, len(q), h)[1:]
    return replace(reference, feed_forward=W - model.constant_force)


def build_motion_basis(
    body: Body, motion: Animation, *, modes: int | Modes | ArrayLike | None = None, components: int | None = None
) -> Array:
    """A basis (3n, r) of the principal components of a motion and of modes; see `build_reference`."""
    if modes is None:
        shapes = compute_mode_shapes(body, min(DEFAULT_MODES, count_modes(body)))
    elif isinstance(modes, Modes):
        shapes = modes.shapes
    elif isinstance(modes, int | np.integer):
        shapes = compute_mode_shapes(body, checks.require_integer(int(modes), "modes"))
    else:
        shapes = checks.require_real_array(modes, "modes", (3 * body.vertex_count, None))
    displacements = flatten_to_columns(np.asarray(motion.positions) - body.vertices)
    if not displacements.any():
        return shapes
    if components is None:
        own = compute_mass_pca(body, displacements, energy_share=0.999999)[:, :16]
    else:
        own = compute_mass_pca(body, displacements, size=checks.require_integer(components, "components"))
    return extend_basis(body, own, shapes, size=shapes.shape[1])


def snap_fixed_vertices(body: Body, motion: Animation) -> Animation:
    """The motion with fixed vertices exactly at rest. Raises InputError if it moves them beyond single precision."""
    positions = np.array(motion.positions, dtype=np.float64)
    off = np.linalg.norm(positions[:, body.fixed] - body.vertices[body.fixed], axis=2).max(axis=0, initial=0.0)
    if off.max(initial=0.0) > 1e-5 * body.size:  # rounding of files in single precision
        vertex = body.fixed[int(off.argmax())]
        raise InputError(
            f"the motion moves vertex {vertex} by {off.max():.3g} m, but it is held; hold what the motion holds"
            " (fixed=, --fixed)"
        )
    positions[:, body.fixed] = body.vertices[body.fixed]
    velocities = None if motion.velocities is None else np.array(motion.velocities, dtype=np.float64)
    if velocities is not None:
        velocities[:, body.fixed] = 0.0
    return replace(motion, positions=positions, velocities=velocities)


def _require_same_vertex_count(body: Body, motion: Animation) -> None:
    if motion.positions.shape[1] != body.vertex_count:
        raise InputError(f"the motion has {motion.positions.shape[1]} vertices, but the body has {body.vertex_count}")


def _solve_inverse_dynamics(
    model: ReducedModel, q: Array, v: Array, h: float, loop: bool, projection_error: Array, substeps: int
) -> Reference:
    """The reference through frames q, v (frames, r): accelerations by differences, forces by inverse dynamics."""
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


def _compute_full_space_feed_forward(reference: Reference, motion: Animation) -> float | None:
    """The largest feed-forward with the forces of the unreduced body in place of the model's, in body weights.

    None where the feed-forward is not suspiciously large.
    """
    if reference.feed_forward_body_weights.max() <= LARGE_FEED_FORWARD:
        return None
    model, k = reference.model, reference.substeps
    frame = max(1, round((int(reference.feed_forward_body_weights.argmax()) + 1) / k))
    u = np.asarray(motion.positions[frame], dtype=np.float64) - model.body.vertices
    own = model.project_force(model.body.force(u))
    w = reference.feed_forward[k * frame - 1] + model.constant_force + own - model.force(reference.states[k * frame])
    return float(reference.compute_gentleness(w))


def diagnose_divergence(reference: NominalTrajectory) -> str:
    """The likeliest cause of a divergence without disturbance, and the remedy."""
    if not isinstance(reference, Reference):
        return "the motion does not fit the model; use more modes or a smaller dt"
    if reference.has_body_mismatch:
        return reference.notes[0]
    if not reference.has_unique_solutions:
        inverted, model = "", reference.model
        if isinstance(model.body, BodySolid):
            counts = [len(model.body.inverted(u)) for u in model.lift(reference.states[:: reference.substeps])]
            worst = int(np.argmax(counts))
            inverted = f" ({counts[worst]} tets are inside out at frame {worst})" if counts[worst] else ""
        return (
            f"the motion folds or squeezes the body so far{inverted} that a step of {reference.dt:.3g} s has no single"
            " answer; leave substeps out or raise it, give more frames a second, or make the motion with a stiffer or"
            " more damped body"
        )
    if reference.notes:
        return reference.notes[0]
    return (
        "the motion does not fit this body (was it made with another young, density or damping?), or its frames are too"
        " far apart for how fast it moves: give more of them, or raise substeps"
    )
