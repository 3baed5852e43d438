"""From a signed distance to a mesh of well-shaped tets of a wanted number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from cajole.arrays import Array, IndexArray
from cajole.checks import count, positive
from cajole.errors import InputError, SolveError
from cajole.mesh import MeshTet
from cajole.mesh.tet import signed_volumes
from cajole.progress import Progress, report
from cajole.scenes.improving import improved, mean_ratios
from cajole.scenes.lattice import stuff
from cajole.scenes.repair import largest_component, mended, misoriented
from cajole.scenes.sdf import Grade, Shape, sampled

# snapping distances, tried in this order: the first gives the better shapes, the second has the larger safety
ALPHAS = ((0.35, 0.45), (0.25, 0.41))
# other places of the lattice relative to the shape, tried when a fold, a pinch or a bad angle survives
NUDGES = (1.0, 0.98, 1.02, 0.965)
# origins in cells: the symmetric one first; flat faces that all meet a layer of nodes make the count jump, others not
SHIFTS = ((0.0, 0.0, 0.0), (0.13, 0.29, 0.41))
# radius and half thickness of every part, over the cell size: thinner ones fall between the nodes
CLAMP = 0.85
# least mean ratio that ends the search at once; short of it a few more places are tried and the best is taken
GOOD = 0.6
PATIENCE = 3
# dihedral angles [degrees] that every tet must keep
ANGLES = (25.0, 145.0)
COUNT_TOLERANCE = 0.1
# cells in the box per wanted tet from which the shape counts as empty, or as dust in its bounds
SPARSEST = 300
# the search for the cell size ends when the count is this near (as a logarithm)
SIZED = 0.03


@dataclass(frozen=True)
class Place:
    """Where a lattice lies: cube edge [m], shift of its origin in cells, snapping distances."""

    cell: float
    shift: tuple[float, float, float]
    alphas: tuple[float, float] = ALPHAS[0]


@dataclass(frozen=True, eq=False)
class Stuffed:
    """A finished cage and how it came about: cell size [m], splits and deletions of the repair, tries, worst shape."""

    mesh: MeshTet
    cell: float
    splits: int
    deletions: int
    tries: int
    worst: float


def tetrahedralise(
    sdf: Shape | Callable[[Array], ArrayLike],
    *,
    target: int = 5000,
    bounds: ArrayLike | None = None,
    clamp: float = CLAMP,
    grade: Grade | None = None,
    progress: Progress | None = None,
) -> MeshTet:
    """About `target` well-shaped tets inside a signed distance that is negative inside.

    sdf: a Shape, or any function points (n, 3) -> distances (n,), which needs `bounds` (2, 3) [m] and is sampled on a
    grid. Parts thinner than `clamp` cells are thickened. All dihedral angles lie within 25 to 145 degrees; the surface
    is one closed 2-manifold. Raises InputError for a wrong sdf and SolveError when the shape is too fine for `target`.
    """
    return stuffed(sdf, target=target, bounds=bounds, clamp=clamp, grade=grade, progress=progress).mesh


def stuffed(
    sdf: Shape | Callable[[Array], ArrayLike],
    *,
    target: int = 5000,
    bounds: ArrayLike | None = None,
    clamp: float = CLAMP,
    grade: Grade | None = None,
    progress: Progress | None = None,
) -> Stuffed:
    """As `tetrahedralise`, with the account of how it came about."""
    shape = _shape(sdf, bounds)
    count(target, "target", least=50, most=2_000_000)
    positive(clamp, "clamp", zero=True)
    report(progress, 0.0, "sizing the lattice")
    sized = _sized(shape, target, clamp, grade)
    places = [replace(sized, cell=sized.cell * nudge, alphas=alphas) for alphas in ALPHAS for nudge in NUDGES]
    found: list[Stuffed] = []
    reasons: list[str] = []
    for tries, place in enumerate(places, 1):
        report(progress, 0.2 + 0.1 * (tries - 1), "filling with tets")
        try:
            found.append(_attempt(shape, place, clamp, grade, target, tries))
        except SolveError as reason:
            reasons.append(str(reason))
        if found and (found[-1].worst >= GOOD or tries >= PATIENCE):
            best = max(found, key=lambda one: one.worst)
            report(progress, 1.0, f"{len(best.mesh.tets)} tets")
            return best
    raise SolveError(
        f"no sound mesh of about {target} tets was found in {len(places)} tries, first because {reasons[0]}; ask for "
        f"more tets, keep gaps between parts above {1.5 * sized.cell:.3g} m, or raise clamp (now {clamp:g})"
    )


def _shape(sdf: Shape | Callable[[Array], ArrayLike], bounds: ArrayLike | None) -> Shape:
    if isinstance(sdf, Shape):
        return sdf
    if not callable(sdf):
        raise InputError(f"sdf must be a Shape or a function of points, not {type(sdf).__name__}")
    if bounds is None:
        raise InputError("a function as sdf needs bounds=(lowest corner, highest corner) around its surface")
    return sampled(sdf, bounds)


def _stuff(shape: Shape, place: Place, clamp: float, grade: Grade | None) -> tuple[Array, IndexArray]:
    vertices, tets = stuff(shape.caged(clamp * place.cell, grade), place.cell, place.shift, place.alphas, grade)
    return largest_component(vertices, tets)


def _sized(shape: Shape, target: int, clamp: float, grade: Grade | None) -> Place:
    """The lattice whose mesh comes nearest to `target` tets: count ~ cell^-p with p a little below 3."""
    tried: dict[Place, float] = {}
    for shift in SHIFTS:
        # 12 tets a cell, were the box half full
        cell = float((6 * np.prod(shape.bounds[1] - shape.bounds[0]) / target) ** (1 / 3))
        cell = min(cell, 0.25 * shape.size)
        for _ in range(10):
            place = Place(cell, shift)
            found = len(_stuff(shape, place, clamp, grade)[1])
            tried[place] = float(np.log(found / target)) if found else -np.inf
            if abs(tried[place]) < SIZED:
                return place
            cell *= float(np.exp(np.clip(tried[place] / 2.7, -0.5, 0.5)))
            if np.prod((shape.bounds[1] - shape.bounds[0]) / cell) > SPARSEST * target:
                break
    nearest = min(tried, key=lambda place: abs(tried[place]))
    if not np.isfinite(tried[nearest]):
        raise SolveError("the distance is negative nowhere on the lattice: the shape is empty or far too small")
    return nearest


def _attempt(shape: Shape, place: Place, clamp: float, grade: Grade | None, target: int, tries: int) -> Stuffed:
    """One sound mesh. Raises SolveError with the reason why there is none."""
    cell = place.cell
    vertices, tets, splits, deletions = mended(*_stuff(shape, place, clamp, grade))
    _require_sound(vertices, tets)
    off = len(tets) / target - 1
    if abs(off) > COUNT_TOLERANCE:
        raise SolveError(f"the count misses the target by {off:+.0%}")
    spacing = np.full(len(vertices), cell) if grade is None else cell * grade.scale(vertices[:, 2])
    vertices = improved(shape.caged(clamp * cell, grade), vertices, tets, spacing, ANGLES)
    mesh = MeshTet(vertices, tets)
    angles = mesh.dihedral_angles
    if angles.min() < ANGLES[0] or angles.max() > ANGLES[1]:
        raise SolveError(f"dihedral angles reach {angles.min():.1f} to {angles.max():.1f} degrees")
    return Stuffed(mesh, cell, splits, deletions, tries, float(mean_ratios(vertices, tets).min()))


def _require_sound(vertices: Array, tets: IndexArray) -> None:
    folded = int((signed_volumes(vertices, tets) <= 0).sum())
    if folded:
        raise SolveError(f"{folded} tets were folded by snapping")
    twisted = misoriented(tets)
    if twisted:
        raise SolveError(f"{twisted} inner faces are seen twice from the same side")
