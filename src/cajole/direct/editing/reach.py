"""The definition of a reached target, used by the solver, the reports, the command line and the studio.

A constraint asks for N x = N t, with orthonormal directions N (k, 3). Its error is a fraction of its drag,

    |N x - N t| / max(d, d_min),    d_min = max(MIN_DRAG L, MIN_DRAG_RATIO max d),

where d is the largest distance [m] from the input to any position that this constraint asked for, and L is the size
of the body. d does not shrink when a drag returns: after a full turn the target is near the input again, but the drag
was long. The lower bound d_min gives a meaningful fraction for pins and for very short drags. The target is reached if
the fraction is at most REACHED_TOLERANCE.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cajole.arrays import Array

# Largest error of a reached target, as a fraction of its drag; smaller errors are not visible.
REACHED_TOLERANCE = 1e-3
# Shortest distance that counts as a drag: in body sizes, and as a fraction of the longest drag of the edit.
MIN_DRAG, MIN_DRAG_RATIO = 3e-3, 1e-2


def is_target_reached(relative_error: float) -> bool:
    """True if an error, as a fraction of the drag, is that of a reached target."""
    return relative_error <= REACHED_TOLERANCE


@dataclass(frozen=True)
class TargetError:
    """Error of one constraint: distance [m] from the target, length of the drag [m], size of the body [m]."""

    distance: float
    drag_distance: float
    body_size: float

    @property
    def relative(self) -> float:
        """Distance from the target as a fraction of the drag."""
        return self.distance / self.drag_distance

    @property
    def in_body_sizes(self) -> float:
        return self.distance / self.body_size

    @property
    def is_reached(self) -> bool:
        return is_target_reached(self.relative)

    def __str__(self) -> str:
        state = "reached" if self.is_reached else "not reached"
        return f"{state}, off by {100 * self.relative:.2g} % of the drag ({100 * self.in_body_sizes:.2g} % of the size)"


@dataclass(frozen=True)
class DragResult:
    """Result of a drag.

    relative_error: largest error of a constraint, as a fraction of its drag. error_history: largest error of the
    dragged vertices before and after each correction, as a fraction of the drag.
    """

    relative_error: float
    error_history: tuple[float, ...]

    @property
    def reached(self) -> bool:
        """True if every constraint is within REACHED_TOLERANCE (1e-3) of its drag."""
        return is_target_reached(self.relative_error)

    def __str__(self) -> str:
        if self.reached:
            return f"target reached to {self.relative_error:.1e} of the drag"
        return (
            f"the target could not be reached: {100 * self.relative_error:.2g} % of the drag is left; the body does "
            "not reach that far, or other constraints or contacts hold it back. Drag less far, use more modes, or bake "
            "and continue"
        )


def bound_drag_distances(distances: Array, body_size: float) -> Array:
    """(k,) [m] drag distances of all constraints of an edit, with the lower bound d_min."""
    return np.maximum(distances, max(MIN_DRAG_RATIO * distances.max(initial=0.0), MIN_DRAG * body_size))


def measure_target_errors(
    residuals: Sequence[Array], drag_distances: Array, body_size: float
) -> tuple[TargetError, ...]:
    """Errors of constraints with residuals N x - N t [m] and drag distances (k,) [m] from `bound_drag_distances`."""
    return tuple(
        TargetError(float(np.linalg.norm(residual)), float(distance), body_size)
        for residual, distance in zip(residuals, drag_distances)
    )
