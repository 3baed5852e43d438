"""From a signed distance to a mesh of well-shaped tets of a wanted number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cajole.checks import count, positive
from cajole.errors import InputError, SolveError
from cajole.mesh import MeshTet
from cajole.progress import Progress, report
from cajole.scenes.improving import improved
from cajole.scenes.lattice import stuff, volumes
from cajole.scenes.repair import largest_component, mended, misoriented
from cajole.scenes.sdf import Floats, Grade, Ints, Shape, sampled

# snapping distances, tried in this order: the first gives the better shapes, the second has the larger safety
ALPHAS = ((0.35, 0.45), (0.25, 0.41))
# other places of the lattice relative to the shape, tried when a fold, a pinch or a bad angle survives
NUDGES = (1.0, 0.98, 1.02, 0.965)
# radius and half thickness of every part, over the cell size: thinner ones fall between the nodes
CLAMP = 0.85
# dihedral angles [degrees] that every tet must keep
ANGLES = (25.0, 145.0)
COUNT_TOLERANCE = 0.1


@dataclass(frozen=True, eq=False)
class Stuffed:
    """A finished cage with how it came about: cell size [m], splits and deletions of the repair, tries."""

    mesh: MeshTet
    cell: float
    splits: int
    deletions: int
    tries: int


def tetrahedralise(
    sdf: Shape | Callable[[Floats], ArrayLike],
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
    sdf: Shape | Callable[[Floats], ArrayLike],
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
    cell = _sized(shape, target, clamp, grade)
    reason = ""
    for tries, (alphas, nudge) in enumerate([(alphas, nudge) for alphas in ALPHAS for nudge in NUDGES], 1):
        report(progress, 0.2 + 0.1 * (tries - 1), "filling with tets")
        found = _attempt(shape, cell * nudge, alphas, clamp, grade, target)
        if isinstance(found, str):
            reason = found
            continue
        mesh, splits, deletions = found
        report(progress, 1.0, f"{len(mesh.tets)} tets")
        return Stuffed(mesh, cell * nudge, splits, deletions, tries)
    raise SolveError(
        f"no sound mesh of about {target} tets was found: {reason}; ask for more tets, keep gaps between parts above "
        f"{1.5 * cell:.3g} m, or raise clamp (now {clamp:g})"
    )


def _shape(sdf: Shape | Callable[[Floats], ArrayLike], bounds: ArrayLike | None) -> Shape:
    if isinstance(sdf, Shape):
        return sdf
    if not callable(sdf):
        raise InputError(f"sdf must be a Shape or a function of points, not {type(sdf).__name__}")
    if bounds is None:
        raise InputError("a function as sdf needs bounds=(lowest corner, highest corner) around its surface")
    return sampled(sdf, bounds)


def _stuff(shape: Shape, cell: float, alphas: tuple[float, float], clamp: float, grade: Grade | None) -> tuple:
    vertices, tets = stuff(shape.caged(clamp * cell, grade), cell, alphas, grade)
    return largest_component(vertices, tets)


def _sized(shape: Shape, target: int, clamp: float, grade: Grade | None) -> float:
    """The cell size whose mesh comes nearest to `target` tets: count ~ cell^-p, p found on the way."""
    # 12 tets a cell, were the box half full
    cell = float((6 * np.prod(shape.bounds[1] - shape.bounds[0]) / target) ** (1 / 3))
    cell = min(cell, 0.5 * shape.size)
    best, nearest, power, before = cell, np.inf, 2.5, None
    for _ in range(14):
        found = len(_stuff(shape, cell, ALPHAS[0], clamp, grade)[1])
        if found == 0:
            cell *= 0.6
            continue
        off = np.log(found / target)
        if abs(off) < nearest:
            best, nearest = cell, abs(off)
        if nearest < 0.02:
            break
        if before is not None and abs(np.log(cell / before[0])) > 1e-3:
            slope = (before[1] - off) / np.log(cell / before[0])
            power = float(np.clip(slope, 1.2, 4.0))
        before = (cell, off)
        cell *= float(np.exp(np.clip(off / power, -0.7, 0.7)))
    if not np.isfinite(nearest):
        raise SolveError("the distance is negative nowhere on the lattice: the shape is empty or far too small")
    return best


def _attempt(
    shape: Shape, cell: float, alphas: tuple[float, float], clamp: float, grade: Grade | None, target: int
) -> tuple[MeshTet, int, int] | str:
    """One sound mesh with its splits and deletions, or the reason why there is none."""
    vertices, tets = _stuff(shape, cell, alphas, clamp, grade)
    vertices, tets, splits, deletions = mended(vertices, tets)
    fault = _fault(vertices, tets)
    if fault:
        return fault
    off = len(tets) / target - 1
    if abs(off) > COUNT_TOLERANCE:
        return f"the count misses the target by {off:+.0%}"
    spacing = np.full(len(vertices), cell) if grade is None else cell * grade.scale(vertices[:, 2])
    vertices = improved(shape.caged(clamp * cell, grade), vertices, tets, spacing, ANGLES)
    mesh = MeshTet(vertices, tets)
    angles = mesh.dihedral_angles
    if angles.min() < ANGLES[0] or angles.max() > ANGLES[1]:
        return f"dihedral angles reach {angles.min():.1f} to {angles.max():.1f} degrees"
    return mesh, splits, deletions


def _fault(vertices: Floats, tets: Ints) -> str:
    folded = int((volumes(vertices, tets) <= 0).sum())
    if folded:
        return f"{folded} tets were folded by snapping"
    twisted = misoriented(tets)
    return f"{twisted} inner faces are seen twice from the same side" if twisted else ""
