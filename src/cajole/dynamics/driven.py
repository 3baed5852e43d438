"""Simulations in which more than forces changes with time: what is held moves, springs contract, limbs pass by."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import BodySprings, Capsules, among
from cajole.dynamics.linearised import LinearStep
from cajole.dynamics.stepping import State, Stepper
from cajole.errors import InputError, SolveError
from cajole.linalg import blas_threads
from cajole.progress import Progress, report

# told of each frame as it is made, with its positions (n, 3) [m]
Watch = Callable[[int, Array], None]


def simulate_driven(
    body: BodySprings,
    frames: int,
    dt: float = 1 / 60,
    *,
    held: ArrayLike | None = None,
    rest_lengths: ArrayLike | None = None,
    capsules: Sequence[Capsules] | None = None,
    gravity: ArrayLike | None = None,
    watch: Watch | None = None,
    progress: Progress | None = None,
) -> Animation:
    """Linear BDF2 steps, eq. (3)-(5) of Jeon and Choi 2007, one a frame, from rest.

    held: (frames, k, 3) [m] where the fixed vertices are, in their order; they stand still when None.
    rest_lengths: (frames, m) [m] of the springs, and capsules: one Capsules a frame; entry k holds in the step into
        frame k. The first of `held` must be where the body stands.
    watch: called with every frame and its positions (n, 3) [m], for those who look on.
    Raises NotConverged, naming the frame, when forces overflow.
    """
    frames, h = checks.count(frames, "frames"), checks.positive(dt, "dt (s)")
    bodies = bodies_in_time(body, frames, rest_lengths, capsules)
    ways = _ways(body, held, frames)
    load = np.zeros((body.count, 3)) if gravity is None else body.gravity(gravity)
    steps = LinearStep.of(body, h)
    past = Stepper(body, h, "bdf2").start(State(), load)
    positions, velocities = np.empty((2, frames, body.count, 3))
    positions[0], velocities[0] = body.vertices, 0.0
    with blas_threads():
        _tell(watch, 0, positions)
        for frame in range(1, frames):
            steps.body = body if bodies is None else bodies[frame]
            try:
                past = steps.take(past, load, None if ways is None else ways[frame])
            except SolveError as reason:
                raise type(reason)(f"frame {frame} (t = {frame * h:.4g} s): {reason}{body.size_hint}") from None
            positions[frame], velocities[frame] = body.vertices + past.u, past.v
            _tell(watch, frame, positions)
            report(progress, frame / (frames - 1), f"frame {frame} of {frames - 1}")
    return Animation(body.drawn_mesh(), positions, fps=1.0 / h, velocities=velocities)


def _tell(watch: Watch | None, frame: int, positions: Array) -> None:
    if watch is not None:
        watch(frame, positions[frame])


def bodies_in_time(
    body: BodySprings, frames: int, rest_lengths: ArrayLike | None, capsules: Sequence[Capsules] | None
) -> list[BodySprings] | None:
    """`body` as it is in the step into each frame; None where it is always the same."""
    if rest_lengths is None and capsules is None:
        return None
    bodies = [body] * frames
    if rest_lengths is not None:
        lengths = checks.real_array(rest_lengths, "rest_lengths (m)", (frames, len(body.edges)))
        bodies = [body.rested(row) for row in lengths]
    if capsules is not None:
        limbs = checks.several(capsules, "capsules", "a list of Capsules, one a frame")
        if len(limbs) != frames:
            raise InputError(f"capsules are given for {len(limbs)} frames, but there are {frames}; give one a frame")
        for frame, around in enumerate(limbs):
            checks.require_instance(around, Capsules, f"capsules[{frame}]")
        bodies = [among(each, around) for each, around in zip(bodies, limbs)]
    return bodies


def _ways(body: BodySprings, held: ArrayLike | None, frames: int) -> Array | None:
    """(frames, n, 3) [m] the step of what is held into each frame."""
    if held is None:
        return None
    places = checks.real_array(held, "held (m)", (frames, len(body.fixed), 3))
    off = np.linalg.norm(places[0] - body.vertices[body.fixed], axis=1)
    if off.max(initial=0.0) > 1e-9 * body.size:
        vertex = body.fixed[int(off.argmax())]
        raise InputError(
            f"held starts {off.max():.4g} m away from where fixed vertex {vertex} is; begin where the body stands"
        )
    ways = np.zeros((frames, body.count, 3))
    ways[1:, body.fixed] = np.diff(places, axis=0)
    return ways
