"""Added force in body weights: the one conversion that all verbs and reports use.

The size of a force f (n, 3) [N] is measured by the acceleration that it causes, |M^-½ f| / (√m g), with lumped masses M
and total mass m. The weight of the body itself has size 1. In a mass-orthonormal basis the modal force is w = Uᵀf, and
the size is |w| / (√m g).
"""

from __future__ import annotations

import numpy as np

from cajole.arrays import Array
from cajole.body.base import EARTH_GRAVITY


def compute_body_weights(forces: Array, vertex_masses: Array) -> Array:
    """(...) body weights of forces (..., n, 3) [N] on vertices of masses (n,) [kg]."""
    squares = ((forces**2).sum(axis=-1) / vertex_masses).sum(axis=-1)
    return np.asarray(np.sqrt(squares / vertex_masses.sum()) / EARTH_GRAVITY)


def compute_modal_body_weights(modal_forces: Array, total_mass: float) -> Array:
    """(...) body weights of forces (..., r) on the coordinates of a mass-orthonormal basis; total_mass [kg]."""
    return np.asarray(np.linalg.norm(modal_forces, axis=-1) / float(np.sqrt(total_mass) * EARTH_GRAVITY))


def compute_rms(values: Array) -> float:
    """Root mean square of values (k,); 0 without values."""
    return float(np.sqrt((values**2).mean())) if len(values) else 0.0
