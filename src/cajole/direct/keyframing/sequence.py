"""`keyframe_sequence`: segments with different fixed vertices, as of a walk, joined in position and velocity.

A segment moves in u = u₀ + U z, with u₀ the shape at its start. U is zero at its fixed vertices, so they stay exactly
where the previous segment put them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import BodySolid, MaterialStVK, flatten_to_columns
from cajole.direct.keyframing.keys import Key, KeysLike, check_keys, parse_key_pairs, require_displacement
from cajole.direct.keyframing.search import KeyframeOptions, search_motion
from cajole.direct.keyframing.setup import ShotSetup, mode_count, order_poses
from cajole.direct.keyframing.shot import Shot, build_shot
from cajole.direct.keyframing.solve import check_options
from cajole.dynamics import InitialState
from cajole.dynamics import modes as vibration_modes
from cajole.errors import InputError
from cajole.mesh import MeshTet
from cajole.reduction import compute_key_tangents, extend_basis, orthonormalise
from cajole.reduction.bases import REST_POSE_SHARE, compute_mass_norm, normalise_columns
from cajole.reduction.reduced_solid import move_fixed_vertices, reduce_with_offset

# Largest distance [body sizes] of a key's fixed vertices from their positions at the hand-over: soft keys miss by less,
# and beyond it the key was meant for another place.
MAX_FIXED_DRIFT = 0.05


@dataclass(frozen=True, eq=False)
class Segment:
    """A part of a motion with its keys, duration and fixed vertices.

    keys: as for `keyframe`, frames counted from the segment's own start; frames: their number, including the hand-over;
    fixed: vertices fixed at their positions at the hand-over.
    """

    keys: KeysLike
    frames: int
    fixed: ArrayLike | None = None


@dataclass(frozen=True, eq=False)
class ShotSequence:
    """Shots joined at their ends; lost_velocity_shares: of the velocity, lost as vertices became fixed."""

    shots: tuple[Shot, ...]
    lost_velocity_shares: tuple[float, ...]

    @cached_property
    def animation(self) -> Animation:
        """The whole motion; frames at which segments meet appear once."""
        first = self.shots[0].animation
        parts = [first.positions, *(shot.animation.positions[1:] for shot in self.shots[1:])]
        return Animation(first.mesh, np.concatenate(parts), fps=first.fps)

    def __repr__(self) -> str:
        frames = sum(len(shot.states) for shot in self.shots) - len(self.lost_velocity_shares)
        return f"ShotSequence({len(self.shots)} segments, {frames} frames, {self.shots[0].dt:.4g} s apart)"

    def __str__(self) -> str:
        rows = [f"segment {i}: {shot.report}" for i, shot in enumerate(self.shots)]
        rows += [
            f"hand-over {i}: {100 * share:.3g} % of the velocity stopped"
            for i, share in enumerate(self.lost_velocity_shares)
        ]
        return "\n".join(rows)


def keyframe_sequence(
    mesh: MeshTet,
    material: MaterialStVK | Sequence[MaterialStVK],
    segments: Sequence[Segment],
    *,
    damping: tuple[float, float] = (0.0, 0.0),
    start: InitialState | None = None,
    dt: float | None = None,
    effort: float = 1e-4,
    modes: int | None = None,
    **options: Any,
) -> ShotSequence:
    """Keyframe each segment from the end of the previous one, in position and velocity.

    mesh, material, damping: as for BodySolid, the same throughout; key displacements are relative to its rest shape.
    A key's fixed vertices may be up to 5 % of the size from their positions at the hand-over: it is bent to fit.
    start: InitialState at the first frame, at rest when None; dt [s]: from the first segment's keys when None.
    modes: as in `keyframe`, for each segment.
    options: starts, tolerance, iterations, rank and watch of `keyframe`. Raises InputError naming the segment.
    """
    chosen = check_options(effort, **options)
    checks.require_instance(mesh, MeshTet, "mesh")
    segments = checks.require_sequence(segments, "segments", "a list of Segments")
    if len(segments) == 0:
        raise InputError("a sequence needs at least one Segment")
    u, v = _check_start(mesh, start)
    h = None if dt is None else checks.require_positive(dt, "dt (s)")
    shots: list[Shot] = []
    stopped: list[float] = []
    for number, segment in enumerate(segments):
        checks.require_instance(segment, Segment, f"segment {number}")
        body = BodySolid(mesh, material, fixed=segment.fixed, damping=damping)
        v, share = _stop_fixed_vertices(body, v)
        shot = _solve_segment(body, segment, number, (u, v), h, mode_count(body, modes), chosen)
        shots.append(shot)
        stopped += [share] if number else []
        h = shot.dt
        u = shot.model.lift(shot.states[-1])
        v = shot.model.lift_velocity(shot.velocities[-1])
    return ShotSequence(tuple(shots), tuple(stopped))


def _check_start(mesh: MeshTet, start: InitialState | None) -> tuple[Array, Array]:
    shape = mesh.vertices.shape
    given = InitialState() if start is None else start
    checks.require_instance(given, InitialState, "start")
    u = np.zeros(shape) if given.displacement is None else given.displacement
    v = np.zeros(shape) if given.velocity is None else given.velocity
    return checks.require_real_array(u, "start displacement", shape), checks.require_real_array(
        v, "start velocity", shape
    )


def _stop_fixed_vertices(body: BodySolid, velocity: Array) -> tuple[Array, float]:
    """The velocity with fixed vertices at rest, and the share |Δv|_M / |v|_M that this removes."""
    kept = velocity.copy()
    kept[body.fixed] = 0.0
    lost = (velocity - kept).ravel()
    before = float(velocity.ravel() @ (body.mass @ velocity.ravel()))
    return kept, float(np.sqrt(lost @ (body.mass @ lost) / before)) if before > 0 else 0.0


def _solve_segment(
    body: BodySolid,
    segment: Segment,
    number: int,
    start: tuple[Array, Array],
    dt: float | None,
    modes: int,
    options: KeyframeOptions,
) -> Shot:
    begin = time.perf_counter()
    try:
        keys, frames = _adapt_keys(body, segment, start[0])
    except InputError as reason:
        raise InputError(f"segment {number}: {reason}") from None
    poses, gaps = order_poses(keys, frames, "open", start[0])
    model = reduce_with_offset(body, start[0], _build_basis(body, poses, start[1], modes))
    setting = ShotSetup.from_model(model, keys, frames, "open", start, poses, gaps, None)
    h = setting.natural_dt if dt is None else dt
    return build_shot(
        setting, search_motion(setting, np.full(setting.step_count, h), options), h, time.perf_counter() - begin
    )


def _adapt_keys(body: BodySolid, segment: Segment, start_displacement: Array) -> tuple[dict[int, Key], int]:
    """Checked keys whose fixed vertices are where u₀ has them."""
    pairs = []
    for frame, given in parse_key_pairs(segment.keys):
        key = given if isinstance(given, Key) else Key(given)
        if frame == 0:
            raise InputError("a key stands at frame 0, but a segment begins where the one before it ends; move it")
        pose = require_displacement(body, key, frame)
        drift = float(np.abs(start_displacement[body.fixed] - pose[body.fixed]).max(initial=0.0)) / body.size
        if drift > MAX_FIXED_DRIFT:
            raise InputError(
                f"the key at frame {frame} has held vertices {100 * drift:.2g} % of the size from where they stand at "
                "the hand-over; model it from there, or free them"
            )
        pairs.append((frame, replace(key, displacement=move_fixed_vertices(body, pose, start_displacement))))
    return check_keys(body, pairs, segment.frames, fixed_displacement=start_displacement)


def _build_basis(body: BodySolid, poses: Array, velocity: Array, modes: int) -> Array:
    """Basis (3n, r) around poses[0]: displacements to the keys, tangents, the initial velocity, and linear modes."""
    linear = vibration_modes(body, max(modes, 1))
    ways = flatten_to_columns(poses[1:] - poses[0])
    # displacement by the velocity in a radian of the first mode: a length, as the other columns
    swing = velocity.reshape(-1, 1) / np.sqrt(linear.eigenvalues[0])
    columns = np.hstack([ways, compute_key_tangents(body, poses), swing])
    columns.reshape(body.vertex_count, 3, -1)[body.fixed] = 0.0
    least = REST_POSE_SHARE * max(compute_mass_norm(body, way) for way in ways.T)
    U = orthonormalise(body, normalise_columns(body, columns, least), drop_dependent=True)
    return extend_basis(body, U, linear.shapes, size=modes) if modes else U
