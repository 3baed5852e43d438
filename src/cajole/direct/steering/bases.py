"""The basis in which a motion is steered: its own main directions, and modes for what disturbs it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import Body, columns_of
from cajole.dynamics import Modes
from cajole.dynamics.vibration import count_modes
from cajole.errors import InputError
from cajole.reduction import enriched, principal
from cajole.reduction.bases import mode_shapes

# Directions of the motion itself in the basis, unless asked: this share of its energy, but no more than so many.
ENERGY, COMPONENTS = 0.999999, 16
MODES = 20
# What held vertices may move in a file that rounds to single precision, in body sizes.
HELD = 1e-5


def motion_basis(
    body: Body, motion: Animation, *, modes: int | Modes | ArrayLike | None = None, components: int | None = None
) -> Array:
    """(3n, r) a motion's own main directions, and `modes` beside them.

    components: how many of its own; None takes those that hold 0.999999 of it, but 16 at most.
    modes: how many linear modes, or shapes (3n, k) in place of them, as `sampled_basis` finds; None takes 20, or all
        that a small body has.
    """
    shapes = _shapes(body, modes)
    moved = columns_of(np.asarray(motion.positions) - body.vertices)
    if not moved.any():
        return shapes
    if components is None:
        own = principal(body, moved, energy=ENERGY)[:, :COMPONENTS]
    else:
        own = principal(body, moved, size=checks.count(components, "components"))
    return enriched(body, own, shapes, size=shapes.shape[1])


def _shapes(body: Body, modes: int | Modes | ArrayLike | None) -> Array:
    if modes is None:
        return mode_shapes(body, min(MODES, count_modes(body)))
    if isinstance(modes, Modes):
        return modes.shapes
    if isinstance(modes, int | np.integer):
        return mode_shapes(body, checks.count(int(modes), "modes"))
    return checks.real_array(modes, "modes", (3 * body.count, None))


def held_still(body: Body, motion: Animation) -> Animation:
    """The same with held vertices exactly where they are held. Raises InputError when the motion moves them."""
    positions = np.array(motion.positions, dtype=np.float64)
    off = np.linalg.norm(positions[:, body.fixed] - body.vertices[body.fixed], axis=2).max(axis=0, initial=0.0)
    if off.max(initial=0.0) > HELD * body.size:
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
