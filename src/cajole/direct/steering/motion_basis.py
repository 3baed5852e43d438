"""The basis in which a motion is steered: its own main directions, and modes for what disturbs it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import Body, flatten_to_columns
from cajole.dynamics import Modes
from cajole.dynamics.modal_analysis import count_modes
from cajole.errors import InputError
from cajole.reduction import compute_mass_pca, extend_basis
from cajole.reduction.bases import compute_mode_shapes

# Directions of the motion itself in the basis, unless asked: this share of its energy, but no more than so many.
DEFAULT_ENERGY_SHARE, MAX_DEFAULT_COMPONENTS = 0.999999, 16
DEFAULT_MODES = 20
# What held vertices may move in a file that rounds to single precision, in body sizes.
FIXED_VERTEX_TOLERANCE = 1e-5


def build_motion_basis(
    body: Body, motion: Animation, *, modes: int | Modes | ArrayLike | None = None, components: int | None = None
) -> Array:
    """(3n, r) a motion's own main directions, and `modes` beside them.

    components: how many of its own; None takes those that hold 0.999999 of it, but 16 at most.
    modes: how many linear modes, or shapes (3n, k) in place of them, as `sampled_basis` finds; None takes 20, or all
        that a small body has.
    """
    shapes = _resolve_modes(body, modes)
    moved = flatten_to_columns(np.asarray(motion.positions) - body.vertices)
    if not moved.any():
        return shapes
    if components is None:
        own = compute_mass_pca(body, moved, energy_share=DEFAULT_ENERGY_SHARE)[:, :MAX_DEFAULT_COMPONENTS]
    else:
        own = compute_mass_pca(body, moved, size=checks.require_integer(components, "components"))
    return extend_basis(body, own, shapes, size=shapes.shape[1])


def _resolve_modes(body: Body, modes: int | Modes | ArrayLike | None) -> Array:
    if modes is None:
        return compute_mode_shapes(body, min(DEFAULT_MODES, count_modes(body)))
    if isinstance(modes, Modes):
        return modes.shapes
    if isinstance(modes, int | np.integer):
        return compute_mode_shapes(body, checks.require_integer(int(modes), "modes"))
    return checks.require_real_array(modes, "modes", (3 * body.vertex_count, None))


def snap_fixed_vertices(body: Body, motion: Animation) -> Animation:
    """The same with held vertices exactly where they are held. Raises InputError when the motion moves them."""
    positions = np.array(motion.positions, dtype=np.float64)
    off = np.linalg.norm(positions[:, body.fixed] - body.vertices[body.fixed], axis=2).max(axis=0, initial=0.0)
    if off.max(initial=0.0) > FIXED_VERTEX_TOLERANCE * body.size:
        vertex = body.fixed[int(off.argmax())]
        raise InputError(
            f"the motion moves vertex {vertex} by {off.max():.3g} m, but it is held; hold what the motion holds"
            " (fixed=, --fixed)"
        )
    positions[:, body.fixed] = body.vertices[body.fixed]
    speeds = None if motion.velocities is None else np.array(motion.velocities, dtype=np.float64)
    if speeds is not None:
        speeds[:, body.fixed] = 0.0
    return replace(motion, positions=positions, velocities=speeds)
