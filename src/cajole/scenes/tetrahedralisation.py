"""Mesh generation: well-shaped tets inside a signed distance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from cajole.arrays import Array, IndexArray
from cajole.checks import require_integer, require_positive
from cajole.errors import InputError, SolveError
from cajole.mesh import MeshTet
from cajole.mesh.tet import compute_signed_volumes
from cajole.progress import ProgressCallback, report_progress
from cajole.scenes import kernels_mesh_improvement, kernels_tets
from cajole.scenes.isosurface_stuffing import TET_EDGES, remove_unused_vertices, stuff_isosurface
from cajole.scenes.sdf import DIFFERENCE_STEP, ImplicitShape, LatticeGrading, sample_sdf

# the face opposite each vertex, turned outward for a positive tet
TET_FACES = np.array([[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]])


def extract_largest_component(vertices: Array, tets: IndexArray) -> tuple[Array, IndexArray]:
    """The largest face-connected component of tets, with its vertices renumbered."""
    if len(tets) == 0:
        return vertices[:0], tets
    labels = label_face_components(tets)
    kept = tets[labels == np.bincount(labels).argmax()]
    return remove_unused_vertices(vertices, kept)


def label_face_components(tets: IndexArray) -> IndexArray:
    """Component label (m,) of each tet; tets are connected through shared faces."""
    owners = np.repeat(np.arange(len(tets)), 4)
    order, same = _match_faces(np.sort(tets[:, TET_FACES].reshape(-1, 3), axis=1))
    one, two = owners[order[:-1]][same], owners[order[1:]][same]
    graph = coo_matrix((np.ones(len(one)), (one, two)), shape=(len(tets), len(tets)))
    return np.asarray(connected_components(graph, directed=False)[1])


def count_misoriented_faces(tets: IndexArray) -> int:
    """Number of inner faces with the same orientation in both tets: folds that volumes do not reveal."""
    faces = tets[:, TET_FACES].reshape(-1, 3)
    order, same = _match_faces(np.sort(faces, axis=1))
    # whether each triple is an even permutation of its sorted order
    a, b, c = faces.T
    parity = ((a < b).astype(int) + (b < c) + (c < a)) == 2
    return int((parity[order[:-1]] == parity[order[1:]])[same].sum())


def repair_manifold(vertices: Array, tets: IndexArray) -> tuple[Array, IndexArray, int, int]:
    """Make the surface a 2-manifold; returns vertices, tets, and the numbers of split vertices and deleted tets.

    A vertex with a disconnected star is split per component; a vertex with a pinched link loses its smallest tet.
    Raises SolveError when pinches remain: then the shape is too fine for the cells.
    """
    max_repair_rounds = 40
    splits = deletions = 0
    for _ in range(max_repair_rounds):
        starts, members = kernels_tets.build_vertex_stars(tets, len(vertices))
        kind = kernels_tets.classify_vertex_links(tets, starts, members)
        bad = np.flatnonzero(kind)
        if len(bad) == 0:
            return vertices, tets, splits, deletions
        vertices, tets, split, deleted = _repair_round(vertices, tets, kind, starts, members)
        splits, deletions = splits + split, deletions + deleted
        vertices, tets = extract_largest_component(vertices, tets)
    raise SolveError(f"{len(bad)} pinched vertices survive {max_repair_rounds} rounds of repair; ask for more tets")


def _repair_round(
    vertices: Array, tets: IndexArray, link_kinds: IndexArray, starts: IndexArray, members: IndexArray
) -> tuple[Array, IndexArray, int, int]:
    # parts of a pinched star up to this many tets are crumbs: deleted rather than given a vertex of their own
    max_fragment_tets = 2
    size = compute_signed_volumes(vertices, tets)
    tets, touched = tets.copy(), np.zeros(len(tets), dtype=bool)
    added: list[Array] = []
    doomed: set[int] = set()
    splits = 0
    for v in np.flatnonzero(link_kinds):
        star = members[starts[v] : starts[v + 1]]
        if touched[star].any():
            continue  # its star changed in this round: judged again in the next
        touched[star] = True
        if link_kinds[v] == 2:
            doomed.add(int(star[size[star].argmin()]))
            continue
        labels = _label_star_components(tets[star], int(v))
        biggest = np.bincount(labels).argmax()
        for part in set(labels.tolist()) - {int(biggest)}:
            piece = star[labels == part]
            if len(piece) <= max_fragment_tets:
                doomed.update(piece.tolist())
                continue
            tets[piece] = np.where(tets[piece] == v, len(vertices) + len(added), tets[piece])
            added.append(vertices[v])
            splits += 1
    keep = np.ones(len(tets), dtype=bool)
    keep[list(doomed)] = False
    return np.vstack([vertices, *added]), tets[keep], splits, len(doomed)


def _label_star_components(star: IndexArray, v: int) -> IndexArray:
    """Component label of each tet of a star, connected through faces that contain v."""
    labels = np.arange(len(star))
    sets = [set(t) for t in star.tolist()]
    for i, one in enumerate(sets):
        for j in range(i):
            if len(one & sets[j]) == 3:
                labels[labels == labels[j]] = labels[i]
    return np.unique(labels, return_inverse=True)[1]


def _match_faces(faces: IndexArray) -> tuple[IndexArray, np.ndarray]:
    """An order that puts equal faces next to each other, and a mask of the entries equal to the next one."""
    order = np.lexsort(faces.T)
    ranked = faces[order]
    return order, (ranked[:-1] == ranked[1:]).all(axis=1)


def improve_mesh(
    shape: ImplicitShape, vertices: Array, tets: IndexArray, spacing: Array, angle_limits: tuple[float, float]
) -> Array:
    """Improved vertices (n, 3); those on the surface of `shape` slide on it.

    spacing: (n,) [m] local cell size, the scale of steps; angle_limits: dihedral angles [degrees] to stay within.
    """
    # share of the spacing that a surface vertex may leave the surface, raised only while bad angles remain
    surface_tolerances = (0.0, 0.05, 0.12)
    max_relaxation_passes = 12
    # the hunt aims this far inside the wanted angles [degrees], so that rounding cannot leave them
    angle_safety_margin = 2.0
    # exponents of the inverse mean ratio: the first rounds the whole, the second minds the worst
    mean_ratio_exponents = (4.0, 12.0)
    descent_sweeps = 12
    x = np.ascontiguousarray(vertices).copy()
    starts, members = kernels_tets.build_vertex_stars(tets, len(x))
    surface = mark_surface_vertices(tets, len(x))
    table = (*shape.kernel_arguments, DIFFERENCE_STEP * shape.size)
    for power in mean_ratio_exponents:
        kernels_mesh_improvement.minimise_star_energies(
            x, tets, starts, members, surface, spacing, *table, descent_sweeps, power
        )
    low, high = np.cos(np.deg2rad([angle_limits[0] + angle_safety_margin, angle_limits[1] - angle_safety_margin]))
    for slack in surface_tolerances:
        for hunt in range(max_relaxation_passes):
            picked = np.unique(tets[compute_angle_margins(x, tets, low, high) < 0])
            if len(picked) == 0:
                return x
            picked = picked[::-1].copy() if hunt % 2 else picked
            kernels_mesh_improvement.maximise_angle_margins(
                x, tets, starts, members, picked, surface, spacing, *table, low, high, slack
            )
    return x


def mark_surface_vertices(tets: IndexArray, n: int) -> np.ndarray:
    """Mask (n,) of the vertices on boundary faces."""
    faces = np.sort(tets[:, TET_FACES].reshape(-1, 3), axis=1)
    unique, times = np.unique(faces, axis=0, return_counts=True)
    mask = np.zeros(n, dtype=bool)
    mask[unique[times == 1]] = True
    return mask


def compute_angle_margins(x: Array, tets: IndexArray, low: float, high: float) -> Array:
    """Cosine margin (m,) of every tet's worst dihedral angle; negative outside the limits."""
    out = np.empty(len(tets))
    kernels_mesh_improvement.compute_angle_margins(x, tets, low, high, out)
    return out


def compute_mean_ratios(vertices: Array, tets: IndexArray) -> Array:
    """Mean ratio (m,) of each tet, 12 (3V)^(2/3) / sum l²: 1 for the regular one, 0 for a flat one."""
    edges = vertices[tets[:, TET_EDGES[:, 0]]] - vertices[tets[:, TET_EDGES[:, 1]]]
    return np.asarray(12 * np.cbrt(3 * compute_signed_volumes(vertices, tets)) ** 2 / (edges**2).sum(axis=(1, 2)))


# snapping distances, tried in this order: the first gives the better shapes, the second has the larger safety
SNAP_FRACTIONS = ((0.35, 0.45), (0.25, 0.41))
# radius and half thickness of every part, over the cell size: thinner ones fall between the nodes
MIN_RADIUS_CELLS = 0.85


@dataclass(frozen=True)
class LatticePlacement:
    """Placement of a lattice: cube edge [m], shift of its origin in cells, snap fractions."""

    cell_size: float
    shift: tuple[float, float, float]
    snap_fractions: tuple[float, float] = SNAP_FRACTIONS[0]


@dataclass(frozen=True, eq=False)
class TetrahedralisationResult:
    """A mesh with statistics: cell size [m], splits and deletions of the repair, attempts, worst mean ratio."""

    mesh: MeshTet
    cell_size: float
    splits: int
    deletions: int
    attempts: int
    min_mean_ratio: float


def tetrahedralise(
    sdf: ImplicitShape | Callable[[Array], ArrayLike],
    *,
    target: int = 5000,
    bounds: ArrayLike | None = None,
    min_radius_cells: float = MIN_RADIUS_CELLS,
    grading: LatticeGrading | None = None,
    progress: ProgressCallback | None = None,
) -> MeshTet:
    """Generate about `target` well-shaped tets inside a signed distance that is negative inside.

    sdf: an ImplicitShape, or any function points (n, 3) -> distances (n,), which needs `bounds` (2, 3) [m] and is
    sampled on a grid. Parts thinner than min_radius_cells cells are thickened. All dihedral angles are within 25 to 145
    degrees; the surface is one closed 2-manifold. Raises InputError for a wrong sdf, SolveError when `target` is too
    small for the shape.
    """
    return tetrahedralise_with_report(
        sdf, target=target, bounds=bounds, min_radius_cells=min_radius_cells, grading=grading, progress=progress
    ).mesh


def tetrahedralise_with_report(
    sdf: ImplicitShape | Callable[[Array], ArrayLike],
    *,
    target: int = 5000,
    bounds: ArrayLike | None = None,
    min_radius_cells: float = MIN_RADIUS_CELLS,
    grading: LatticeGrading | None = None,
    progress: ProgressCallback | None = None,
) -> TetrahedralisationResult:
    """As `tetrahedralise`, with statistics."""
    min_attempts = 3
    # least mean ratio that ends the search at once; short of it a few more places are tried and the best is taken
    good_mean_ratio = 0.6
    # other places of the lattice relative to the shape, tried when a fold, a pinch or a bad angle survives
    cell_size_factors = (1.0, 0.98, 1.02, 0.965)
    shape = _as_implicit_shape(sdf, bounds)
    require_integer(target, "target", minimum=50, maximum=2_000_000)
    require_positive(min_radius_cells, "min_radius_cells", allow_zero=True)
    report_progress(progress, 0.0, "sizing the lattice")
    sized = _find_cell_size(shape, target, min_radius_cells, grading)
    places = [
        replace(sized, cell_size=sized.cell_size * nudge, snap_fractions=alphas)
        for alphas in SNAP_FRACTIONS
        for nudge in cell_size_factors
    ]
    found: list[TetrahedralisationResult] = []
    reasons: list[str] = []
    for tries, place in enumerate(places, 1):
        report_progress(progress, 0.2 + 0.1 * (tries - 1), "filling with tets")
        try:
            found.append(_try_placement(shape, place, min_radius_cells, grading, target, tries))
        except SolveError as reason:
            reasons.append(str(reason))
        if found and (found[-1].min_mean_ratio >= good_mean_ratio or tries >= min_attempts):
            best = max(found, key=lambda one: one.min_mean_ratio)
            report_progress(progress, 1.0, f"{len(best.mesh.tets)} tets")
            return best
    raise SolveError(
        f"no sound mesh of about {target} tets was found in {len(places)} tries, first because {reasons[0]}; ask for "
        f"more tets, keep gaps between parts above {1.5 * sized.cell_size:.3g} m, or raise min_radius_cells "
        f"(now {min_radius_cells:g})"
    )


def _as_implicit_shape(sdf: ImplicitShape | Callable[[Array], ArrayLike], bounds: ArrayLike | None) -> ImplicitShape:
    if isinstance(sdf, ImplicitShape):
        return sdf
    if not callable(sdf):
        raise InputError(f"sdf must be an ImplicitShape or a function of points, not {type(sdf).__name__}")
    if bounds is None:
        raise InputError("a function as sdf needs bounds=(lowest corner, highest corner) around its surface")
    return sample_sdf(sdf, bounds)


def _stuff_placement(
    shape: ImplicitShape, placement: LatticePlacement, min_radius_cells: float, grading: LatticeGrading | None
) -> tuple[Array, IndexArray]:
    vertices, tets = stuff_isosurface(
        shape.select_cage(min_radius_cells * placement.cell_size, grading),
        placement.cell_size,
        placement.shift,
        placement.snap_fractions,
        grading,
    )
    return extract_largest_component(vertices, tets)


def _find_cell_size(
    shape: ImplicitShape, target: int, min_radius_cells: float, grading: LatticeGrading | None
) -> LatticePlacement:
    """Find the lattice whose mesh is nearest to `target` tets: count ~ cell^-p with p slightly below 3."""
    # the search for the cell size ends when the count is this near (as a logarithm)
    log_count_tolerance = 0.03
    # cells in the box per wanted tet from which the shape counts as empty, or as dust in its bounds
    max_cells_per_tet = 300
    # lattice origins in cells: with the symmetric one, flat faces on a layer of nodes make the count jump
    lattice_shifts = ((0.0, 0.0, 0.0), (0.13, 0.29, 0.41))
    tried: dict[LatticePlacement, float] = {}
    for shift in lattice_shifts:
        # 12 tets a cell, were the box half full
        cell = float((6 * np.prod(shape.bounds[1] - shape.bounds[0]) / target) ** (1 / 3))
        cell = min(cell, 0.25 * shape.size)
        for _ in range(10):
            place = LatticePlacement(cell, shift)
            found = len(_stuff_placement(shape, place, min_radius_cells, grading)[1])
            tried[place] = float(np.log(found / target)) if found else -np.inf
            if abs(tried[place]) < log_count_tolerance:
                return place
            cell *= float(np.exp(np.clip(tried[place] / 2.7, -0.5, 0.5)))
            if np.prod((shape.bounds[1] - shape.bounds[0]) / cell) > max_cells_per_tet * target:
                break
    nearest = min(tried, key=lambda place: abs(tried[place]))
    if not np.isfinite(tried[nearest]):
        raise SolveError("the distance is negative nowhere on the lattice: the shape is empty or far too small")
    return nearest


def _try_placement(
    shape: ImplicitShape,
    placement: LatticePlacement,
    min_radius_cells: float,
    grading: LatticeGrading | None,
    target: int,
    attempts: int,
) -> TetrahedralisationResult:
    """Mesh one lattice placement. Raises SolveError with the reason when it fails."""
    count_tolerance = 0.1
    # dihedral angles [degrees] that every tet must keep
    dihedral_limits = (25.0, 145.0)
    cell = placement.cell_size
    vertices, tets, splits, deletions = repair_manifold(*_stuff_placement(shape, placement, min_radius_cells, grading))
    folded = int((compute_signed_volumes(vertices, tets) <= 0).sum())
    if folded:
        raise SolveError(f"{folded} tets were folded by snapping")
    twisted = count_misoriented_faces(tets)
    if twisted:
        raise SolveError(f"{twisted} inner faces are seen twice from the same side")
    off = len(tets) / target - 1
    if abs(off) > count_tolerance:
        raise SolveError(f"the count misses the target by {off:+.0%}")
    spacing = np.full(len(vertices), cell) if grading is None else cell * grading.compute_cell_scale(vertices[:, 2])
    vertices = improve_mesh(
        shape.select_cage(min_radius_cells * cell, grading), vertices, tets, spacing, dihedral_limits
    )
    mesh = MeshTet(vertices, tets)
    angles = mesh.dihedral_angles
    if angles.min() < dihedral_limits[0] or angles.max() > dihedral_limits[1]:
        raise SolveError(f"dihedral angles reach {angles.min():.1f} to {angles.max():.1f} degrees")
    return TetrahedralisationResult(
        mesh, cell, splits, deletions, attempts, float(compute_mean_ratios(vertices, tets).min())
    )
