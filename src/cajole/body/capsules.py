"""Mass-spring systems among capsules that push vertices out, implicit in linear steps, with exact derivatives.

A vertex nearer to the axis of a capsule than its radius R is attached by a spring of rest length R to the nearest point
of the axis, which slides: x from there, l = |x|, n = x/l, g = 1 - R/l, Q = I - nnᵀ - aaᵀ with the axis a, or I - nnᵀ at
the round ends. W = k/2 (l - R)², f = k g x, K = k (nnᵀ + g Q); implicit steps use k nnᵀ for K.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole import checks
from cajole.arrays import Array, IndexArray
from cajole.body import kernels_springs as kernels
from cajole.body.springs import BodySprings, expand_per_item
from cajole.storage import hash_content


@dataclass(frozen=True, eq=False)
class Capsules:
    """Capsules: starts, ends (k, 3) [m] of their axes, radii (k,) or one for all [m].

    stiffness [N/m] of the contact springs; margin [m]: distance outside the surface at which they begin to push. A
    linear step responds to a capsule one step late, so use a margin, not stiffness, to avoid visible penetration.
    """

    starts: Any
    ends: Any
    radii: Any
    stiffness: float = 100.0
    margin: float = 0.0

    def __post_init__(self) -> None:
        starts = checks.require_real_array(self.starts, "starts", (None, 3))
        ends = checks.require_real_array(self.ends, "ends", (len(starts), 3))
        radii = expand_per_item(self.radii, len(starts), "radii (m)", zero=False)
        for name, value in (("starts", starts), ("ends", ends), ("radii", radii)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "stiffness", checks.require_positive(self.stiffness, "stiffness (N/m)"))
        object.__setattr__(self, "margin", checks.require_positive(self.margin, "margin (m)", allow_zero=True))

    def compute_penetration_depths(self, positions: ArrayLike) -> Array:
        """Largest depth (n,) [m] of `positions` (n, 3) [m] in any capsule, without margin; negative outside.

        It is -inf if there are no capsules.
        """
        points = checks.require_real_array(positions, "positions", (None, 3))
        depths = np.full(len(points), -np.inf)
        for c in range(len(self.radii)):
            x, _ = self._compute_axis_offsets(points, c)
            np.maximum(depths, self.radii[c] - np.linalg.norm(x, axis=1), out=depths)
        return depths

    def find_contacts(self, points: Array) -> list[CapsuleContact]:
        """Find the contacts of each capsule, margin included, with `points` (n, 3) [m]."""
        found = []
        for c, radius in enumerate(self.radii + self.margin):
            x, sliding = self._compute_axis_offsets(points, c)
            lengths = np.linalg.norm(x, axis=1)
            # on the axis the direction outwards is undefined: such a vertex is not pushed
            near = np.flatnonzero((lengths < radius) & (lengths > 1e-9 * radius))
            if len(near):
                along = self.ends[c] - self.starts[c]
                length = float(np.linalg.norm(along))
                axis = sliding[near, None] * (along / length if length > 0.0 else np.zeros(3))
                normals = x[near] / lengths[near, None]
                found.append(CapsuleContact(near, normals, lengths[near], radius, axis, self.stiffness))
        return found

    def _compute_axis_offsets(self, points: Array, c: int) -> tuple[Array, NDArray[np.bool_]]:
        """Offsets (n, 3) [m] from the nearest points of axis c, and a mask (n,) of those between its ends."""
        start, end = self.starts[c], self.ends[c]
        along, arms = end - start, points - start
        square = float(along @ along)
        share = arms @ along / square if square > 0.0 else np.zeros(len(points))
        return arms - np.clip(share, 0.0, 1.0)[:, None] * along, (share > 0.0) & (share < 1.0)


@dataclass(frozen=True, eq=False)
class CapsuleContact:
    """Contacts of k vertices with one capsule: n (k, 3), l (k,) [m], R [m], and a (k, 3), zero at the round ends."""

    vertices: IndexArray
    normals: Array
    distances: Array
    radius: float
    axes: Array
    stiffness: float

    @property
    def relative_extension(self) -> Array:
        """g = 1 - R/l (k,), negative."""
        return 1.0 - self.radius / self.distances

    @property
    def forces(self) -> Array:
        """Internal forces k (l - R) n (k, 3) [N]."""
        return self.stiffness * (self.distances - self.radius)[:, None] * self.normals

    def project_tangential(self, vectors: Array) -> Array:
        """Q times vectors (..., k, 3)."""
        n, a = self.normals, self.axes
        return vectors - _compute_row_dots(n, vectors)[..., None] * n - _compute_row_dots(a, vectors)[..., None] * a

    def compute_stiffness_blocks(self, kind: int, direction: Array) -> Array:
        """Blocks (k, 3, 3) [N/m] of the matrix of `kind`; direction (k, 3) [m] for its derivative."""
        n = self.normals
        normal = n[:, :, None] * n[:, None]
        if kind == kernels.CLAMPED_STIFFNESS:
            return self.stiffness * normal
        Q = np.eye(3) - normal - self.axes[:, :, None] * self.axes[:, None]
        if kind == kernels.STIFFNESS:
            return self.stiffness * (normal + self.relative_extension[:, None, None] * Q)
        dn = self.project_tangential(direction) / self.distances[:, None]
        dg = self.radius * _compute_row_dots(n, direction) / self.distances**2
        turned = dn[:, :, None] * n[:, None] + n[:, :, None] * dn[:, None]
        return self.stiffness * ((1.0 - self.relative_extension)[:, None, None] * turned + dg[:, None, None] * Q)

    def apply_transposed_jacobian(self, step: Array, adjoints: Array) -> Array:
        """Tᵀ λ (m, k, 3) for adjoints λ, T = ∂/∂x of k (l - R + n·step) n; step (k, 3) [m]."""
        n, l = self.normals, self.distances
        sizes, inward = _compute_row_dots(n, adjoints), l - self.radius + _compute_row_dots(n, step)
        turned = sizes[..., None] * self.project_tangential(step) + inward[:, None] * self.project_tangential(adjoints)
        return self.stiffness * (sizes[..., None] * n + turned / l[:, None])


class BodySpringsCapsules(BodySprings):
    """A BodySprings among capsules that do not move during a step."""

    capsules: Capsules

    def energy(self, displacement: ArrayLike) -> float:
        contacts = self._find_contacts(self.check_vertex_vectors(displacement))
        squares = [contact.stiffness * float(((contact.distances - contact.radius) ** 2).sum()) for contact in contacts]
        return super().energy(displacement) + sum(0.5 * square for square in squares)

    def compute_linear_step_force(self, u: Array, predicted: Array, v: Array, step: Array) -> Array:
        out = super().compute_linear_step_force(u, predicted, v, step)
        for contact in self._find_contacts(u):
            n, along = contact.normals, _compute_row_dots(contact.normals, step[contact.vertices])
            out[contact.vertices] += contact.forces + contact.stiffness * along[:, None] * n
        return out

    def assemble_linear_step(
        self, u: Array, predicted: Array, v: Array, mass_factor: float, damping_factor: float, out: Array
    ) -> Array:
        forces = super().assemble_linear_step(u, predicted, v, mass_factor, damping_factor, out)
        for contact in self._find_contacts(u):
            forces[contact.vertices] += contact.forces
            blocks = contact.compute_stiffness_blocks(kernels.CLAMPED_STIFFNESS, contact.normals)
            out[self._diagonal_blocks[contact.vertices]] += blocks
        return forces

    def compute_linear_step_vjp(
        self, u: Array, step: Array, predicted: Array, velocity: Array, adjoints: Array
    ) -> tuple[Array, Array, Array]:
        slopes, turns, drags = super().compute_linear_step_vjp(u, step, predicted, velocity, adjoints)
        for contact in self._find_contacts(u):
            rows = contact.vertices
            slopes[:, rows] += contact.apply_transposed_jacobian(step[rows], adjoints[:, rows])
        return slopes, turns, drags

    def get_content(self) -> tuple[Array | IndexArray | str | float, ...]:
        c = self.capsules
        return "among", hash_content(*super().get_content()), c.starts, c.ends, c.radii, c.stiffness, c.margin

    def _find_contacts(self, u: Array) -> list[CapsuleContact]:
        return self.capsules.find_contacts(self.vertices + u)

    def _sum_forces(self, u: Array, v: Array, elastic_factor: float, damping_factor: float) -> Array:
        out = super()._sum_forces(u, v, elastic_factor, damping_factor)
        for contact in self._find_contacts(u) if elastic_factor else ():
            out[contact.vertices] += elastic_factor * contact.forces
        return out

    def _add_matrix(self, kind: int, u: Array, v: Array, scale: float, data: Array) -> None:
        super()._add_matrix(kind, u, v, scale, data)
        if kind not in (kernels.STIFFNESS, kernels.CLAMPED_STIFFNESS, kernels.STIFFNESS_DERIVATIVE):
            return
        for contact in self._find_contacts(u):
            blocks = contact.compute_stiffness_blocks(kind, v[contact.vertices])
            data[self._diagonal_blocks[contact.vertices]] += scale * blocks

    @cached_property
    def _diagonal_blocks(self) -> IndexArray:
        """Indices (n, 3, 3) of the diagonal blocks in values on `pattern`."""
        entry, stride = np.arange(3), self.pattern.row_strides[:, None, None]
        return self._diagonal_block_offsets[:, None, None] + stride * entry[:, None] + entry


def attach_capsules(body: BodySprings, capsules: Capsules) -> BodySprings:
    """Return `body` in contact with `capsules`: same vertices, springs and pattern."""
    checks.require_instance(capsules, Capsules, "capsules")
    other = copy(body)
    other.__class__ = BodySpringsCapsules
    assert isinstance(other, BodySpringsCapsules)
    other.capsules = capsules
    return other


def _compute_row_dots(n: Array, rows: Array) -> Array:
    return np.asarray(np.einsum("ka,...ka->...k", n, rows))
