"""Springs among limbs: capsules that push vertices out, taken implicitly by linear steps, with exact derivatives.

A vertex that is nearer to a capsule's axis than its radius R is on a spring of rest length R to the nearest point of
the axis, which slides along with it: x from there, l = |x|, n = x/l, g = 1 - R/l, Q = I - nnᵀ - aaᵀ, where a is the
axis, and without it at the round ends. W = k/2 (l - R)², f = k g x, K = k (nnᵀ + g Q); steps take k nnᵀ for K.
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
from cajole.body.springs import BodySprings, per_item
from cajole.storage import content_hash

# nearer to the axis than this share of the radius no way out is shorter than another: such a vertex is not pushed
NEAREST = 1e-9


@dataclass(frozen=True, eq=False)
class Capsules:
    """Round bars: starts, ends (k, 3) [m] of their axes, radii (k,) or one for all [m].

    stiffness [N/m] of what pushes a vertex out; margin [m]: how far outside the surface it begins to push. A linear
    step meets a limb one step late, so that a margin, not stiffness, keeps vertices out of what is seen.
    """

    starts: Any
    ends: Any
    radii: Any
    stiffness: float = 100.0
    margin: float = 0.0

    def __post_init__(self) -> None:
        starts = checks.real_array(self.starts, "starts", (None, 3))
        ends = checks.real_array(self.ends, "ends", (len(starts), 3))
        radii = per_item(self.radii, len(starts), "radii (m)", zero=False)
        for name, value in (("starts", starts), ("ends", ends), ("radii", radii)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "stiffness", checks.positive(self.stiffness, "stiffness (N/m)"))
        object.__setattr__(self, "margin", checks.positive(self.margin, "margin (m)", zero=True))

    def depths(self, positions: ArrayLike) -> Array:
        """(n,) [m] how deep each of `positions` (n, 3) [m] is in the deepest capsule, without margin; negative outside.

        With no capsule at all everything is infinitely far outside.
        """
        points = checks.real_array(positions, "positions", (None, 3))
        depths = np.full(len(points), -np.inf)
        for c in range(len(self.radii)):
            x, _ = self._from_axis(points, c)
            np.maximum(depths, self.radii[c] - np.linalg.norm(x, axis=1), out=depths)
        return depths

    def touches(self, points: Array) -> list[Touch]:
        """What each capsule that reaches any of `points` (n, 3) [m] does to them."""
        found = []
        for c, radius in enumerate(self.radii + self.margin):
            x, sliding = self._from_axis(points, c)
            lengths = np.linalg.norm(x, axis=1)
            near = np.flatnonzero((lengths < radius) & (lengths > NEAREST * radius))
            if len(near):
                axis = sliding[near, None] * _direction(self.starts[c], self.ends[c])
                found.append(Touch(near, x[near] / lengths[near, None], lengths[near], radius, axis, self.stiffness))
        return found

    def _from_axis(self, points: Array, c: int) -> tuple[Array, NDArray[np.bool_]]:
        """(n, 3) [m] from the nearest point of axis c, and whether that point is between its ends."""
        start, end = self.starts[c], self.ends[c]
        along, arms = end - start, points - start
        square = float(along @ along)
        share = arms @ along / square if square > 0.0 else np.zeros(len(points))
        return arms - np.clip(share, 0.0, 1.0)[:, None] * along, (share > 0.0) & (share < 1.0)


@dataclass(frozen=True, eq=False)
class Touch:
    """k vertices in one capsule: n (k, 3), their lengths l (k,) [m] from the axis, R [m], a (k, 3) or zero at ends."""

    vertices: IndexArray
    normals: Array
    lengths: Array
    radius: float
    axes: Array
    stiffness: float

    @property
    def g(self) -> Array:
        """1 - R/l, negative."""
        return 1.0 - self.radius / self.lengths

    @property
    def forces(self) -> Array:
        """(k, 3) [N] on the left-hand side: k (l - R) n."""
        return self.stiffness * (self.lengths - self.radius)[:, None] * self.normals

    def across(self, rows: Array) -> Array:
        """Q rows, (..., k, 3)."""
        n, a = self.normals, self.axes
        return rows - _along(n, rows)[..., None] * n - _along(a, rows)[..., None] * a

    def blocks(self, kind: int, direction: Array) -> Array:
        """(k, 3, 3) [N/m] of the matrix of `kind`; direction (k, 3) [m] for its change."""
        n = self.normals
        normal = n[:, :, None] * n[:, None]
        if kind == kernels.CLAMPED:
            return self.stiffness * normal
        Q = np.eye(3) - normal - self.axes[:, :, None] * self.axes[:, None]
        if kind == kernels.STIFFNESS:
            return self.stiffness * (normal + self.g[:, None, None] * Q)
        dn = self.across(direction) / self.lengths[:, None]
        dg = self.radius * _along(n, direction) / self.lengths**2
        turned = dn[:, :, None] * n[:, None] + n[:, :, None] * dn[:, None]
        return self.stiffness * ((1.0 - self.g)[:, None, None] * turned + dg[:, None, None] * Q)

    def pulled(self, step: Array, rows: Array) -> Array:
        """Tᵀ rows (m, k, 3), T the slope of k (l - R + n·step) n by the positions; step (k, 3) [m]."""
        n, l = self.normals, self.lengths
        sizes, inward = _along(n, rows), l - self.radius + _along(n, step)
        turned = sizes[..., None] * self.across(step) + inward[:, None] * self.across(rows)
        return self.stiffness * (sizes[..., None] * n + turned / l[:, None])


class BodySpringsAmong(BodySprings):
    """A BodySprings among capsules, which stand still during a step."""

    capsules: Capsules

    def energy(self, displacement: ArrayLike) -> float:
        touches = self._touches(self.checked(displacement))
        return super().energy(displacement) + sum(
            0.5 * touch.stiffness * float(((touch.lengths - touch.radius) ** 2).sum()) for touch in touches
        )

    def step_force(self, u: Array, ahead: Array, v: Array, step: Array) -> Array:
        out = super().step_force(u, ahead, v, step)
        for touch in self._touches(u):
            n, along = touch.normals, _along(touch.normals, step[touch.vertices])
            out[touch.vertices] += touch.forces + touch.stiffness * along[:, None] * n
        return out

    def step_system(self, u: Array, ahead: Array, v: Array, inertia: float, drag: float, out: Array) -> Array:
        forces = super().step_system(u, ahead, v, inertia, drag, out)
        for touch in self._touches(u):
            forces[touch.vertices] += touch.forces
            out[self._blocks[touch.vertices]] += touch.blocks(kernels.CLAMPED, touch.normals)
        return forces

    def step_slopes(
        self, u: Array, step: Array, ahead: Array, velocity: Array, rows: Array
    ) -> tuple[Array, Array, Array]:
        slopes, turns, drags = super().step_slopes(u, step, ahead, velocity, rows)
        for touch in self._touches(u):
            slopes[:, touch.vertices] += touch.pulled(step[touch.vertices], rows[:, touch.vertices])
        return slopes, turns, drags

    def content(self) -> str:
        c = self.capsules
        return content_hash("among", super().content(), c.starts, c.ends, c.radii, c.stiffness, c.margin)

    def _touches(self, u: Array) -> list[Touch]:
        return self.capsules.touches(self._placed(u))

    def _forces(self, u: Array, v: Array, elastic: float, drag: float) -> Array:
        out = super()._forces(u, v, elastic, drag)
        for touch in self._touches(u) if elastic else ():
            out[touch.vertices] += elastic * touch.forces
        return out

    def _fill(self, kind: int, u: Array, v: Array, scale: float, data: Array) -> None:
        super()._fill(kind, u, v, scale, data)
        if kind not in (kernels.STIFFNESS, kernels.CLAMPED, kernels.CHANGE):
            return
        for touch in self._touches(u):
            data[self._blocks[touch.vertices]] += scale * touch.blocks(kind, v[touch.vertices])

    @cached_property
    def _blocks(self) -> IndexArray:
        """(n, 3, 3) where the block of each vertex with itself stands in values on `pattern`."""
        entry, stride = np.arange(3), self.pattern.stride[:, None, None]
        return self._corners[:, None, None] + stride * entry[:, None] + entry


def among(body: BodySprings, capsules: Capsules) -> BodySprings:
    """`body` with `capsules` in its way: same vertices, springs and pattern."""
    checks.require_instance(capsules, Capsules, "capsules")
    other = copy(body)
    other.__class__ = BodySpringsAmong
    assert isinstance(other, BodySpringsAmong)
    other.capsules = capsules
    return other


def _direction(start: Array, end: Array) -> Array:
    length = float(np.linalg.norm(end - start))
    return (end - start) / length if length > 0.0 else np.zeros(3)


def _along(n: Array, rows: Array) -> Array:
    return np.einsum("ka,...ka->...k", n, rows)
