"""Simulations of springs with prescribed motion of fixed vertices, rest lengths and capsules."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import BodySprings, Capsules, attach_capsules
from cajole.dynamics.implicit_stepper import ImplicitStepper, InitialState
from cajole.dynamics.linear_bdf2 import LinearBDF2Stepper
from cajole.errors import InputError, SolveError
from cajole.linalg import limit_blas_threads
from cajole.progress import ProgressCallback, report_progress

# called with each computed frame and its positions (n, 3) [m]
FrameCallback = Callable[[int, Array], None]


def simulate_with_prescribed_motion(
    body: BodySprings,
    frames: int,
    dt: float = 1 / 60,
    *,
    fixed_positions: ArrayLike | None = None,
    rest_lengths: ArrayLike | None = None,
    capsules: Sequence[Capsules] | None = None,
    gravity: ArrayLike | None = None,
    on_frame: FrameCallback | None = None,
    progress: ProgressCallback | None = None,
) -> Animation:
    """Linear BDF2 steps, eq. (3)-(5) of Jeon and Choi 2007, one a frame, from rest.

    fixed_positions: (frames, k, 3) [m] of the fixed vertices, in their order, starting at their rest positions; by
        default they do not move.
    rest_lengths: (frames, m) [m] of the springs, and capsules: one Capsules a frame; entry k applies to the step into
        frame k.
    on_frame: called with every frame and its positions (n, 3) [m].
    Raises NotConverged, naming the frame, if forces overflow.
    """
    frames, h = checks.require_integer(frames, "frames"), checks.require_positive(dt, "dt (s)")
    bodies = build_bodies_per_frame(body, frames, rest_lengths, capsules)
    ways = _compute_fixed_steps(body, fixed_positions, frames)
    load = np.zeros((body.vertex_count, 3)) if gravity is None else body.gravity(gravity)
    steps = LinearBDF2Stepper.from_body(body, h)
    past = ImplicitStepper(body, h, "bdf2").start(InitialState(), load)
    positions, velocities = np.empty((2, frames, body.vertex_count, 3))
    positions[0], velocities[0] = body.vertices, 0.0
    notify: FrameCallback = on_frame or (lambda frame, positions: None)
    with limit_blas_threads():
        notify(0, positions[0])
        for frame in range(1, frames):
            steps.body = body if bodies is None else bodies[frame]
            try:
                past = steps.step(past, load, None if ways is None else ways[frame])
            except SolveError as reason:
                raise type(reason)(f"frame {frame} (t = {frame * h:.4g} s): {reason}{body.unit_hint}") from None
            positions[frame], velocities[frame] = body.vertices + past.displacement, past.velocity
            notify(frame, positions[frame])
            report_progress(progress, frame / (frames - 1), f"frame {frame} of {frames - 1}")
    return Animation(body.get_display_mesh(), positions, fps=1.0 / h, velocities=velocities)


def build_bodies_per_frame(
    body: BodySprings, frames: int, rest_lengths: ArrayLike | None, capsules: Sequence[Capsules] | None
) -> list[BodySprings] | None:
    """Build the body of the step into each frame; None if it does not change."""
    if rest_lengths is None and capsules is None:
        return None
    bodies = [body] * frames
    if rest_lengths is not None:
        lengths = checks.require_real_array(rest_lengths, "rest_lengths (m)", (frames, len(body.edges)))
        bodies = [body.with_rest_lengths(row) for row in lengths]
    if capsules is not None:
        limbs = checks.require_sequence(capsules, "capsules", "a list of Capsules, one a frame")
        if len(limbs) != frames:
            raise InputError(f"capsules are given for {len(limbs)} frames, but there are {frames}; give one a frame")
        for frame, around in enumerate(limbs):
            checks.require_instance(around, Capsules, f"capsules[{frame}]")
        bodies = [attach_capsules(each, around) for each, around in zip(bodies, limbs)]
    return bodies


def _compute_fixed_steps(body: BodySprings, fixed_positions: ArrayLike | None, frames: int) -> Array | None:
    """Step of the fixed vertices into each frame (frames, n, 3) [m]."""
    if fixed_positions is None:
        return None
    places = checks.require_real_array(fixed_positions, "fixed_positions (m)", (frames, len(body.fixed), 3))
    off = np.linalg.norm(places[0] - body.vertices[body.fixed], axis=1)
    if off.max(initial=0.0) > 1e-9 * body.size:
        vertex = body.fixed[int(off.argmax())]
        raise InputError(
            f"fixed_positions start {off.max():.4g} m away from where fixed vertex {vertex} is; "
            "begin where the body stands"
        )
    ways = np.zeros((frames, body.vertex_count, 3))
    ways[1:, body.fixed] = np.diff(places, axis=0)
    return ways
