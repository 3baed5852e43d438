"""Implicit shapes: tables of primitives with a signed distance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole.arrays import Array, IndexArray
from cajole.checks import require_integer, require_positive, require_real_array
from cajole.errors import InputError
from cajole.scenes import kernels_sdf as k
from cajole.storage import hash_content

# the rows of both surfaces, of the drawn one, of the simulated cage, or of decorations drawn on a finer grid
SKIN_AND_CAGE, SKIN, CAGE, DECORATION = 0, 1, 2, 3
# differences over this share of the size: far above rounding, far below any feature
DIFFERENCE_STEP = 1e-5


@dataclass(frozen=True, eq=False)
class ImplicitShape:
    """A table of primitives whose distances are combined in order; negative inside.

    codes (n, 8) and parameters (n, 24): the rows; data: outlines and samples; colors (n, 3) sRGB; parts: names indexed
    by column LABEL of codes; bounds (2, 3) [m]: a box that contains the surface.
    """

    codes: IndexArray
    parameters: Array
    data: Array
    colors: Array
    parts: tuple[str, ...]
    bounds: Array

    @property
    def size(self) -> float:
        """Diagonal of the bounding box [m]."""
        return float(np.linalg.norm(self.bounds[1] - self.bounds[0]))

    @property
    def kernel_arguments(self) -> tuple[IndexArray, Array, Array]:
        """The three arrays that every kernel takes."""
        return self.codes, self.parameters, self.data

    @property
    def content(self) -> str:
        """Content hash of the table."""
        return hash_content(*self.kernel_arguments, self.colors, self.bounds, *self.parts)

    def distance(self, points: ArrayLike) -> Array:
        """Signed distance (n,) [m] at points (n, 3) [m], negative inside."""
        points = require_real_array(points, "points", (None, 3))
        out = np.empty(len(points))
        k.evaluate_points(*self.kernel_arguments, points, out)
        return out

    def gradient(self, points: ArrayLike) -> Array:
        """Gradient (n, 3) of the distance by central differences."""
        points = require_real_array(points, "points", (None, 3))
        step = DIFFERENCE_STEP * self.size * np.eye(3)
        columns = [self.distance(points + e) - self.distance(points - e) for e in step]
        return np.stack(columns, axis=1) / (2 * DIFFERENCE_STEP * self.size)

    def normals(self, points: ArrayLike) -> Array:
        """Unit gradients (n, 3) at points (n, 3): outward normals on the surface."""
        points = require_real_array(points, "points", (None, 3))
        out = np.empty_like(points)
        k.compute_normals(*self.kernel_arguments, points, DIFFERENCE_STEP * self.size, out)
        return out

    def project(self, points: ArrayLike, *, max_step: float | None = None, steps: int = 3) -> Array:
        """Project points (n, 3) onto the surface by Newton steps p - f ∇f / |∇f|² of at most max_step [m]."""
        moved = require_real_array(points, "points", (None, 3)).copy()
        max_step = 0.1 * self.size if max_step is None else require_positive(max_step, "max_step")
        k.project_points(
            *self.kernel_arguments,
            moved,
            DIFFERENCE_STEP * self.size,
            max_step,
            require_integer(steps, "steps", minimum=0),
        )
        return moved

    def compute_colors_and_labels(self, points: ArrayLike, *, blend_width: float) -> tuple[Array, IndexArray]:
        """Colours (n, 3) blended over blend_width [m] between rows, and the label (n,) of the nearest part."""
        points = require_real_array(points, "points", (None, 3))
        colors, labels = np.empty_like(points), np.empty(len(points), dtype=np.int64)
        scratch = np.empty(len(self.codes))
        k.compute_colors_and_labels(
            *self.kernel_arguments,
            self.colors,
            require_positive(blend_width, "blend_width"),
            points,
            colors,
            labels,
            scratch,
        )
        return colors, labels

    def select_skin(self) -> ImplicitShape:
        """Rows of the drawn surface without decorations."""
        return self._select_rows(np.isin(self.codes[:, k.USAGE], (SKIN_AND_CAGE, SKIN)))

    def select_decorations(self) -> ImplicitShape | None:
        """Rows of decorations with all cuts; None when there are none."""
        decor = self.codes[:, k.USAGE] == DECORATION
        if not decor.any():
            return None
        return self._select_rows(decor | (self.codes[:, k.OP] == k.SUBTRACT))

    def select_cage(self, min_radius: float, grading: LatticeGrading | None = None) -> ImplicitShape:
        """Rows that are simulated, thickened to a radius or half thickness of at least min_radius [m] (scaled by the
        grading).
        """
        cage = self._select_rows(np.isin(self.codes[:, k.USAGE], (SKIN_AND_CAGE, CAGE)))
        numbers = cage.parameters.copy()
        for code, n in zip(cage.codes, numbers):
            if code[k.OP] == k.UNION:
                least = min_radius * (
                    1.0
                    if grading is None
                    else float(
                        grading.compute_cell_scale(
                            np.array(
                                float(
                                    n[k.FIRST_PARAMETER + 2]
                                    if code[k.KIND] != k.ROUND_CONE
                                    else 0.5 * (n[k.FIRST_PARAMETER + 2] + n[k.FIRST_PARAMETER + 5])
                                )
                            )
                        )
                    )
                )
                _thicken_row(code, n, least)
        grown = min_radius * np.array([[-1.0], [1.0]])
        return replace(cage, parameters=numbers, bounds=cage.bounds + grown)

    def _select_rows(self, keep: NDArray[np.bool_]) -> ImplicitShape:
        return replace(self, codes=self.codes[keep], parameters=self.parameters[keep], colors=self.colors[keep])


@dataclass(frozen=True)
class LatticeGrading:
    """Lattice grading: cells are coarsening_factor times as large far below `height` [m], blended over `width` [m]."""

    coarsening_factor: float
    height: float
    width: float

    def compute_cell_scale(self, z: Array) -> Array:
        """Local cell size over the finest: s(z) = 1 + (coarsening_factor - 1) / (1 + exp((z - height) / width))."""
        return 1 + (self.coarsening_factor - 1) / (1 + np.exp(np.clip((z - self.height) / self.width, -50, 50)))


def sample_sdf(
    distance: Callable[[Array], ArrayLike],
    bounds: ArrayLike,
    *,
    resolution: int = 64,
    color: ArrayLike = (0.7, 0.7, 0.7),
) -> ImplicitShape:
    """Sample a function points (n, 3) -> distances (n,) on a trilinear grid, `resolution` cells along the longest side.

    bounds: (2, 3) [m], lowest and highest corner of a box around the surface. Raises InputError when the function
    returns another shape or values that are not finite, or is positive (outside) everywhere.
    """
    box = require_real_array(bounds, "bounds", (2, 3))
    extent = box[1] - box[0]
    if (extent <= 0).any():
        raise InputError(f"bounds[1] must exceed bounds[0] along every axis, but they differ by {extent.tolist()}")
    spacing = float(extent.max()) / require_integer(resolution, "resolution", minimum=2, maximum=512)
    counts = np.maximum(np.ceil(extent / spacing).astype(int) + 1, 2)
    axes = [box[0, i] + spacing * np.arange(counts[i]) for i in range(3)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    values = require_real_array(distance(points), "distance(points)", (len(points),))
    if values.min() >= 0:
        raise InputError(
            f"the function is nowhere negative in bounds (least value {values.min():.3g}): "
            "it must be negative inside the body; check its sign, enlarge bounds, or raise resolution"
        )
    numbers = np.zeros((1, 24))
    numbers[0, k.BOUNDING_SPHERE + 3] = k.NO_SURFACE_DISTANCE
    numbers[0, k.FIRST_PARAMETER : k.FIRST_PARAMETER + 7] = [*box[0], spacing, *counts]
    codes = np.array([[k.GRID, k.UNION, 0, 0, 0, len(values), 0, SKIN_AND_CAGE]])
    return ImplicitShape(codes, numbers, values, require_real_array(color, "color", (3,))[None], ("body",), box)


def _thicken_row(code: IndexArray, parameters: Array, min_radius: float) -> None:
    """Raise the radii of one row to min_radius, in place, and its blend radius so that joints fuse."""
    # joints thinner than this share of the lattice size would be lost between two nodes
    min_blend = 0.2
    first, last = {k.ROUND_CONE: (6, 8), k.ELLIPSOID: (3, 6), k.BOX: (3, 6), k.SHEET: (12, 14)}.get(
        code[k.KIND], (0, 0)
    )
    radii = parameters[k.FIRST_PARAMETER + first : k.FIRST_PARAMETER + last]
    grown = np.maximum(radii, min_radius)
    if parameters[k.BOUNDING_SPHERE + 3] < k.NO_SURFACE_DISTANCE:
        parameters[k.BOUNDING_SPHERE + 3] += float((grown - radii).max(initial=0.0))
    radii[:] = grown
    parameters[k.BLEND] = max(parameters[k.BLEND], min_blend * min_radius)
