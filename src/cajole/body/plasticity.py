"""Plasticity: how a shell's folds stay, and how they grow stiffer or softer where they do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array
from cajole.errors import InputError, SolveError

# [rad] what angles above their limit are of rounding alone: a second update at the same shape finds nothing to do
ANGLE_TOLERANCE = 1e-12
# bending that became so many times stiffer or softer leaves no digits to the rest
MAX_STIFFNESS_RATIO = 1e12


@dataclass(frozen=True, eq=False)
class Plasticity:
    """Bending that yields: an edge keeps what it is bent beyond `most_curvature` from its rest angle.

    With the curvature Δκ = l Δθ/2A of an edge of length l between triangles of area A together, undeformed, of which
    |Δκ| - most_curvature is too much, the rest angle takes the excess over, and the edge's bending stiffness is
    multiplied by exp(hardening · excess): folds harden above zero and soften below. A motion cut into more steps
    yields the same. (Bergou 2007, section 4, whose rest angle as printed keeps the wrong part of the excess.)
    On regular meshes a cylinder of radius R has Δκ = 1/2R at the edges along its axis.
    most_curvature [1/m], hardening [m]: numbers, or one for each hinge of the body (in the order of
    `body.hinges.vertices`); a large most_curvature where an edge never yields.
    """

    yield_curvature: float | ArrayLike
    hardening: float | ArrayLike = 0.0

    def __post_init__(self) -> None:
        if checks.count_axes(self.yield_curvature) == 0:
            checks.require_positive(self.yield_curvature, "yield_curvature (1/m)", allow_zero=True)  # type: ignore[arg-type]
        if checks.count_axes(self.hardening) == 0:
            checks.require_real_number(self.hardening, "hardening (m)")

    def expand_to_hinges(self, count: int) -> tuple[Array, Array]:
        """most_curvature and hardening of each of `count` hinges."""
        most = expand_per_hinge(self.yield_curvature, "yield_curvature (1/m)", count)
        return require_nonnegative(most, "yield_curvature (1/m)"), expand_per_hinge(
            self.hardening, "hardening (m)", count
        )


def expand_per_hinge(value: float | ArrayLike, name: str, count: int) -> Array:
    """(count,) from one number for all hinges, or one for each."""
    if checks.count_axes(value) == 0:
        return np.full(count, checks.require_real_number(value, name))
    return checks.require_real_array(value, f"{name} of each hinge", (count,)).copy()


def require_nonnegative(values: Array, name: str) -> Array:
    """`values` (k,), or InputError that names the first one below zero."""
    if (values < 0).any():
        i = int(np.argmax(values < 0))
        raise InputError(f"{name}[{i}] is {values[i]}, but must be at least zero")
    return values


def apply_hardening(stiffness: Array, log_growth: Array) -> Array:
    """stiffness · exp(growth) of each hinge; SolveError where it leaves the range in which numbers mean anything."""
    with np.errstate(over="ignore", under="ignore"):
        factors = np.exp(log_growth)
        after = stiffness * factors
    wrong = (stiffness > 0) & ~((after < MAX_STIFFNESS_RATIO) & (after > 1.0 / MAX_STIFFNESS_RATIO))
    if wrong.any():
        i = int(np.argmax(wrong))
        raise SolveError(
            f"hinge {i} would bend {after[i]:.3g} times as stiffly as at first after yielding; bring its hardening "
            f"nearer to zero, or raise yield_curvature"
        )
    return np.asarray(after)
