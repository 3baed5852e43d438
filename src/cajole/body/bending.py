"""Bending: the half of a shell that bends at its edges, with what has yielded there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cajole.arrays import Array
from cajole.body import kernels_shell_bending as kernels
from cajole.body import kernels_shell_rest
from cajole.body.hinges import Hinges
from cajole.body.plasticity import ROUNDING, hardened

Places = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]


class Bent(NamedTuple):
    """Positions (n, 3), and of every hinge ∇θ (4, 3) and the moment [N m]."""

    positions: Array
    gradients: Array
    moments: Array


@dataclass(frozen=True, eq=False)
class Bending:
    """Hinges with their rest angles, of which `yielded` is plastic, and their stiffness; all (h,), angles in [rad].

    stiffness: a factor of what the triangles say; factors (g, 3, k): those of the hinges' groups with its root in them.
    places: elements, slots and stride of the matrices that are filled.
    """

    hinges: Hinges
    places: Places
    stiffness: Array
    rest: Array
    yielded: Array
    factors: Array

    @classmethod
    def of(cls, hinges: Hinges, places: Places, stiffness: Array, undeformed: Array) -> Bending:
        none = np.zeros(len(hinges.vertices))
        return cls(hinges, places, stiffness, none, none, _stiffened(hinges, stiffness)).shaped(undeformed)

    def shaped(self, undeformed: Array) -> Bending:
        """With the angles of another shape (n, 3) at rest, and what has yielded on top."""
        angles = self._angles(undeformed, np.zeros_like(self.rest))
        return replace(self, rest=half_turns(angles + self.yielded))

    def yielding(self, phi: Array, undeformed: Array, most: Array, hardening: Array) -> Bending:
        """After the plastic update at angles φ (h,) from rest; most [1/m] and hardening [m] of every hinge."""
        widths = np.empty_like(self.rest)
        kernels_shell_rest.widths(undeformed, self.hinges.vertices, widths)
        slip = self._slip(phi, most * widths)
        if not slip.any():
            return self
        flowed = replace(self, rest=half_turns(self.rest + slip), yielded=self.yielded + slip)
        if not hardening.any():
            return flowed
        stiffness = hardened(self.stiffness, hardening * np.abs(slip) / widths)
        return replace(flowed, stiffness=stiffness, factors=_stiffened(self.hinges, stiffness))

    def _slip(self, phi: Array, limit: Array) -> Array:
        """By how far each hinge flows (h,) [rad]."""
        slip = np.zeros_like(phi)
        if (np.abs(phi) > limit + ROUNDING).any():
            strained = np.einsum("gki,gi->gk", self.factors, np.append(phi, 0.0)[self.hinges.groups])
            kernels_shell_rest.yielded(phi, limit, ROUNDING, *self.hinges.owners, self.factors, strained, slip)
        return slip

    def angles(self, positions: Array) -> Array:
        """φ = θ - θ̄ (h,) at `positions` (n, 3), from half a turn back to half a turn ahead."""
        return self._angles(positions, self.rest)

    def _angles(self, positions: Array, rest: Array) -> Array:
        out = np.empty_like(rest)
        kernels.angles(positions, self.hinges.vertices, rest, out)
        return out

    # --- energy and its derivatives; what adds, adds to what it is given

    def energy(self, positions: Array) -> float:
        """[J]"""
        phi = self.angles(positions)
        return float(kernels.moments(self.hinges.groups, self.factors, phi, np.empty_like(phi)))

    def at(self, positions: Array) -> Bent:
        phi, m, grads = np.empty_like(self.rest), np.empty_like(self.rest), np.empty((len(self.rest), 4, 3))
        kernels.bent(positions, self.hinges.vertices, self.rest, phi, grads)
        kernels.moments(self.hinges.groups, self.factors, phi, m)
        return Bent(positions, grads, m)

    def add_force(self, bent: Bent, out: Array) -> None:
        kernels.spread(self.hinges.vertices, bent.gradients, bent.moments, out)

    def add_force_change(self, bent: Bent, v: Array, scale: float, out: Array) -> None:
        """out += scale K v."""
        turned, dm = self._turned(bent, v)
        kernels.spread(self.hinges.vertices, bent.gradients, scale * dm, out)
        kernels.spread(self.hinges.vertices, turned, scale * bent.moments, out)

    def add_stiffness(self, bent: Bent, scale: float, data: Array, *, clamped: bool) -> None:
        """data += scale K; clamped: without the moments, which makes it positive semidefinite."""
        h = self.hinges
        kernels.squares(h.groups, self.factors, h.sizes, h.places, bent.gradients, *self.places, scale, data)
        if not clamped:
            self._add_curvatures(bent.positions, bent.moments, scale, data)

    def add_stiffness_change(self, bent: Bent, v: Array, scale: float, data: Array) -> None:
        """data += scale dK along v."""
        h, (x, grads, m) = self.hinges, bent
        turned, dm = self._turned(bent, v)
        # (B dg)ᵀ(B g) + (B g)ᵀ(B dg): twice the symmetric part that `products` adds
        kernels.products(
            h.groups, self.factors, h.sizes, h.places, turned, grads, *self.places, 2.0 * scale, data
        )  # fmt: skip
        self._add_curvatures(x, dm, scale, data)
        kernels.curvature_changes(x, v, h.vertices, h.homes, m, h.places, *self.places, scale, data)

    def _add_curvatures(self, x: Array, moments: Array, scale: float, data: Array) -> None:
        h = self.hinges
        kernels.curvatures(x, h.vertices, h.homes, moments, h.places, *self.places, scale, data)

    def _turned(self, bent: Bent, v: Array) -> tuple[Array, Array]:
        """Along v: the change of ∇θ (h, 4, 3) and of the moments."""
        turned, rate, dm = np.empty_like(bent.gradients), np.empty_like(self.rest), np.empty_like(self.rest)
        kernels.gradient_changes(bent.positions, v, self.hinges.vertices, turned)
        kernels.rates(v, self.hinges.vertices, bent.gradients, rate)
        kernels.moments(self.hinges.groups, self.factors, rate, dm)
        return turned, dm


def _stiffened(hinges: Hinges, stiffness: Array) -> Array:
    """Factors of the groups (g, 3, k) with the root of each hinge's stiffness in them."""
    roots = np.append(np.sqrt(stiffness), 0.0)[hinges.groups]
    return np.ascontiguousarray(hinges.factors * roots[:, None, :])


def half_turns(angles: Array) -> Array:
    """Angles [rad] without the whole turns in them, within half a turn of zero."""
    return np.where(np.abs(angles) > np.pi, angles - 2.0 * np.pi * np.round(angles / (2.0 * np.pi)), angles)
