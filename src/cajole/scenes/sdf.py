"""Shapes as tables of signed distances: what the table holds, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole.arrays import Array, IndexArray
from cajole.checks import count, positive, real_array
from cajole.errors import InputError
from cajole.scenes import kernels as k
from cajole.storage import content_hash

# the rows of both surfaces, of the drawn one, of the simulated cage, or of decorations drawn on a finer grid
BOTH, SKIN, CAGE, DECOR = 0, 1, 2, 3
# joints thinner than this share of the lattice size would be lost between two nodes
LEAST_BLEND = 0.2
# differences over this share of the size: far above rounding, far below any feature
STEP = 1e-5


@dataclass(frozen=True, eq=False)
class Shape:
    """A table of primitives whose distances are joined in order; negative inside.

    `codes` (n, 8) and `numbers` (n, 24) are the rows, `pool` their outlines, `colors` (n, 3) sRGB, `parts` the names
    that column LABEL of `codes` points to, `bounds` (2, 3) [m] a box that contains the surface.
    """

    codes: IndexArray
    numbers: Array
    pool: Array
    colors: Array
    parts: tuple[str, ...]
    bounds: Array

    @property
    def size(self) -> float:
        """Diagonal of the bounding box [m]."""
        return float(np.linalg.norm(self.bounds[1] - self.bounds[0]))

    @property
    def table(self) -> tuple[IndexArray, Array, Array]:
        """The three arrays that every kernel takes."""
        return self.codes, self.numbers, self.pool

    @property
    def content(self) -> str:
        """A digest: equal tables, equal string."""
        return content_hash(*self.table, self.colors, self.bounds, *self.parts)

    def distance(self, points: ArrayLike) -> Array:
        """Signed distance (n,) [m] at points (n, 3) [m], negative inside."""
        points = real_array(points, "points", (None, 3))
        out = np.empty(len(points))
        k.distances(*self.table, points, out)
        return out

    def gradient(self, points: ArrayLike) -> Array:
        """Gradient (n, 3) of the distance by central differences."""
        points = real_array(points, "points", (None, 3))
        step = STEP * self.size * np.eye(3)
        columns = [self.distance(points + e) - self.distance(points - e) for e in step]
        return np.stack(columns, axis=1) / (2 * STEP * self.size)

    def normals(self, points: ArrayLike) -> Array:
        """Unit gradients (n, 3) at points (n, 3): outward normals on the surface."""
        points = real_array(points, "points", (None, 3))
        out = np.empty_like(points)
        k.normals(*self.table, points, STEP * self.size, out)
        return out

    def projected(self, points: ArrayLike, *, reach: float | None = None, steps: int = 3) -> Array:
        """Points (n, 3) moved onto the surface by Newton steps p - f ∇f / |∇f|² of at most `reach` [m]."""
        moved = real_array(points, "points", (None, 3)).copy()
        reach = 0.1 * self.size if reach is None else positive(reach, "reach")
        k.project(*self.table, moved, STEP * self.size, reach, count(steps, "steps", least=0))
        return moved

    def shaded(self, points: ArrayLike, *, sigma: float) -> tuple[Array, IndexArray]:
        """Colours (n, 3) blended over `sigma` [m] between rows, and the label (n,) of the nearest part."""
        points = real_array(points, "points", (None, 3))
        colors, labels = np.empty_like(points), np.empty(len(points), dtype=np.int64)
        scratch = np.empty(len(self.codes))
        k.shade(*self.table, self.colors, positive(sigma, "sigma"), points, colors, labels, scratch)
        return colors, labels

    def drawn(self) -> Shape:
        """The rows of the visible surface, decorations excepted."""
        return self._rows(np.isin(self.codes[:, k.PLACE], (BOTH, SKIN)))

    def decorations(self) -> Shape | None:
        """The rows of decorations, with all cuts, in a box around them; None when there are none."""
        decor = self.codes[:, k.PLACE] == DECOR
        if not decor.any():
            return None
        return self._rows(decor | (self.codes[:, k.OP] == k.SUBTRACT))

    def caged(self, floor: float, grade: Grade | None = None) -> Shape:
        """The rows that are simulated, no part thinner than radius or half thickness `floor` [m] (times the grade)."""
        cage = self._rows(np.isin(self.codes[:, k.PLACE], (BOTH, CAGE)))
        numbers = cage.numbers.copy()
        for code, n in zip(cage.codes, numbers):
            if code[k.OP] == k.UNION:
                least = floor * (1.0 if grade is None else float(grade.scale(np.array(_height(code, n)))))
                _thicken(code, n, least)
        grown = floor * np.array([[-1.0], [1.0]])
        return replace(cage, numbers=numbers, bounds=cage.bounds + grown)

    def _rows(self, keep: NDArray[np.bool_]) -> Shape:
        return replace(self, codes=self.codes[keep], numbers=self.numbers[keep], colors=self.colors[keep])


@dataclass(frozen=True)
class Grade:
    """A lattice that is `coarser` times as coarse far below `height` [m], blending over `width` [m]."""

    coarser: float
    height: float
    width: float

    def scale(self, z: Array) -> Array:
        """Local cell size over the finest: s(z) = 1 + (coarser - 1) / (1 + exp((z - height) / width))."""
        return 1 + (self.coarser - 1) / (1 + np.exp(np.clip((z - self.height) / self.width, -50, 50)))


def sampled(
    distance: Callable[[Array], ArrayLike],
    bounds: ArrayLike,
    *,
    resolution: int = 64,
    color: ArrayLike = (0.7, 0.7, 0.7),
) -> Shape:
    """Any function points (n, 3) -> distances (n,) as a one-row Shape of trilinear samples, `resolution` cells long.

    bounds: (2, 3) [m], lowest and highest corner of a box around the surface. Raises InputError when the function
    answers with another shape, with values that are not finite, or is positive (outside) everywhere.
    """
    box = real_array(bounds, "bounds", (2, 3))
    extent = box[1] - box[0]
    if (extent <= 0).any():
        raise InputError(f"bounds[1] must exceed bounds[0] along every axis, but they differ by {extent.tolist()}")
    spacing = float(extent.max()) / count(resolution, "resolution", least=2, most=512)
    counts = np.maximum(np.ceil(extent / spacing).astype(int) + 1, 2)
    axes = [box[0, i] + spacing * np.arange(counts[i]) for i in range(3)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    values = real_array(distance(points), "distance(points)", (len(points),))
    if values.min() >= 0:
        raise InputError(
            f"the function is nowhere negative in bounds (least value {values.min():.3g}): "
            "it must be negative inside the body; check its sign, enlarge bounds, or raise resolution"
        )
    numbers = np.zeros((1, 24))
    numbers[0, k.BOUND + 3] = k.FAR
    numbers[0, k.PARAMS : k.PARAMS + 7] = [*box[0], spacing, *counts]
    codes = np.array([[k.GRID, k.UNION, 0, 0, 0, len(values), 0, BOTH]])
    return Shape(codes, numbers, values, real_array(color, "color", (3,))[None], ("body",), box)


def _height(code: IndexArray, n: Array) -> float:
    return float(n[k.PARAMS + 2] if code[k.KIND] != k.CONE else 0.5 * (n[k.PARAMS + 2] + n[k.PARAMS + 5]))


def _thicken(code: IndexArray, n: Array, least: float) -> None:
    """Raise the radii of one row to `least`, in place, and its blend so that joints fuse."""
    first, last = {k.CONE: (6, 8), k.ELLIPSOID: (3, 6), k.BOX: (3, 6), k.SHEET: (12, 14)}.get(code[k.KIND], (0, 0))
    radii = n[k.PARAMS + first : k.PARAMS + last]
    grown = np.maximum(radii, least)
    if n[k.BOUND + 3] < k.FAR:
        n[k.BOUND + 3] += float((grown - radii).max(initial=0.0))
    radii[:] = grown
    n[k.BLEND] = max(n[k.BLEND], LEAST_BLEND * least)
