"""Regions of a guide by variational clustering of its motion, with a supremum over time, §4.1 of Bergou 2007."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from cajole import checks
from cajole.animation import Animation, require_animation
from cajole.arrays import Array, IndexArray
from cajole.direct.enriching.region_builders import build_membership_matrix, build_triangle_weights
from cajole.direct.enriching.regions import Regions
from cajole.errors import InputError
from cajole.mesh import MeshTri
from cajole.progress import ProgressCallback, report_progress


@dataclass(frozen=True)
class TriangleMotion:
    """Centres, normals (triangles, frames, 3) and areas of triangles over the chosen frames; μ/A and 1 - μ."""

    centres: Array
    normals: Array
    areas: Array
    distance_weights: Array
    normal_weight: float

    @property
    def kernel_arrays(self) -> tuple[Array, Array, Array, Array, float]:
        """Argument of the kernels."""
        return self.centres, self.normals, self.areas, self.distance_weights, self.normal_weight


def regions_clustered(
    guide: Animation,
    count: int,
    *,
    mu: float = 0.5,
    frames: int = 20,
    seed: int = 0,
    relative_density: ArrayLike | None = None,
    progress: ProgressCallback | None = None,
) -> Regions:
    """Divide a guide that shares its mesh with the shell into `count` connected patches, with seams where it bends.

    A patch is a region with uniform weight. mu: 1 for round patches, 0 for flat ones. frames: number of frames of the
    guide, chosen at random, at which the patches must be good; seed: of this choice and of the initial patches.
    relative_density (triangles,): relative number of patches per area around each triangle, default 1.
    """
    motion = require_animation(guide, "guide")
    mesh = motion.mesh
    if not isinstance(mesh, MeshTri):
        raise InputError(f"regions are clustered on a MeshTri, not on a {type(mesh).__name__}; animate its .surface")
    wanted = checks.require_integer(count, "count", maximum=len(mesh.triangles))
    density = np.ones(len(mesh.triangles))
    if relative_density is not None:
        density = checks.require_real_array(relative_density, "relative_density", (len(mesh.triangles),))
    if (density <= 0).any():
        where = int(np.argmax(density <= 0))
        raise InputError(
            f"relative_density[{where}] is {density[where]}, but must be positive: 1 is as elsewhere, 4 four times"
        )
    if not 0 <= checks.require_real_number(mu, "mu") <= 1:
        raise InputError(f"mu is {mu}, but must be between 0 (flat patches) and 1 (round ones)")
    random = np.random.default_rng(checks.require_integer(seed, "seed", minimum=0))
    chosen = random.permutation(motion.frames)[: checks.require_integer(frames, "frames")]
    moving = _compute_triangle_motion(motion, np.sort(chosen), mu)
    labels = _cluster_triangles(moving, _build_triangle_adjacency(mesh), wanted, density, random, progress)
    rows = sp.csr_array(build_membership_matrix(labels, wanted) @ build_triangle_weights(mesh))
    lift = sp.csr_array(sp.eye_array(len(mesh.vertices)))
    return Regions(mesh, mesh, rows, rows, interpolation=lift, triangle_labels=labels)


def _cluster_triangles(
    motion: TriangleMotion,
    neighbours: sp.csr_array,
    count: int,
    density: Array,
    generator: np.random.Generator,
    progress: ProgressCallback | None,
) -> IndexArray:
    from cajole.direct.enriching import kernels  # compiled code loads slowly

    faces = len(motion.areas)
    seeds = _draw_seed_triangles(neighbours, motion.areas.max(axis=1) * density, count, generator)
    proxies = motion.centres[seeds].copy(), motion.normals[seeds].copy()
    weights, arrays = density[seeds], motion.kernel_arrays
    label, error = np.empty(faces, dtype=np.int64), np.empty(faces)
    # With a supremum over time the error of Lloyd's iterations can rise: they stop after so many in a row that do not
    # reduce it by a thousandth, and the best clustering is used.
    patience, max_iterations = 6, 200
    best, best_error, rest = label, np.inf, patience
    starts, others = neighbours.indptr.astype(np.int64), neighbours.indices.astype(np.int64)
    for round_ in range(max_iterations):
        before = label.copy()
        kernels.grow_regions(seeds, starts, others, arrays, proxies, weights, label, error)
        total = float(error.sum())
        rest = patience if total < (1 - 1e-3) * best_error else rest - 1
        if total < best_error:
            best, best_error = label.copy(), total
        if rest == 0 or (round_ > 0 and np.array_equal(before, label)):
            break
        kernels.update_proxies(label, arrays, proxies)
        kernels.update_seeds(label, arrays, proxies, seeds)
        weights = np.bincount(label, density, count) / np.bincount(label, minlength=count)
        report_progress(progress, (round_ + 1) / max_iterations, f"clustering, round {round_ + 1}")
    return best


def _draw_seed_triangles(
    neighbours: sp.csr_array, weights: Array, count: int, generator: np.random.Generator
) -> IndexArray:
    """Draw the first triangle (count,) of each region at random by weight, at least one on each component."""
    pieces, piece = sp.csgraph.connected_components(neighbours, directed=False)
    if count < pieces:
        raise InputError(
            f"the guide has {pieces} separate pieces, but only {count} regions are asked for; ask for at least "
            f"{pieces}, or paint regions over several pieces (regions_painted)"
        )
    order = np.argsort(generator.random(len(weights)) ** (1.0 / np.maximum(weights / weights.max(), 1e-300)))[::-1]
    first = order[np.sort(np.unique(piece[order], return_index=True)[1])]
    others = order[~np.isin(order, first)]
    return np.concatenate([first, others])[:count].astype(np.int64)


def _compute_triangle_motion(guide: Animation, frames: IndexArray, mu: float) -> TriangleMotion:
    assert isinstance(guide.mesh, MeshTri)
    corners = np.asarray(guide.positions[frames], dtype=np.float64)[:, guide.mesh.triangles]
    crosses = np.cross(corners[:, :, 1] - corners[:, :, 0], corners[:, :, 2] - corners[:, :, 0])
    lengths = np.linalg.norm(crosses, axis=2)
    normals = np.divide(crosses, lengths[:, :, None], out=np.zeros_like(crosses), where=lengths[:, :, None] > 0)
    total = lengths.sum(axis=1) / 2
    if not total.all():
        raise InputError(f"the guide has no area in frame {frames[int(np.argmin(total))]}; leave such frames out")
    x, n, a = (np.ascontiguousarray(rows.swapaxes(0, 1)) for rows in (corners.mean(axis=2), normals, lengths / 2))
    return TriangleMotion(x, n, a, mu / total, 1.0 - mu)


def _build_triangle_adjacency(mesh: MeshTri) -> sp.csr_array:
    """Adjacency (triangles, triangles) of triangles that share an edge; in sequence around nonmanifold edges."""
    half = mesh.half_edges
    face = half.sort_order // 3
    edge = np.repeat(np.arange(len(half.edge_starts)), half.edge_valences)
    same = edge[1:] == edge[:-1]
    one, two = face[:-1][same], face[1:][same]
    rows, columns = np.concatenate([one, two]), np.concatenate([two, one])
    count = len(mesh.triangles)
    return sp.csr_array(sp.coo_array((np.ones(len(rows)), (rows, columns)), shape=(count, count)))
