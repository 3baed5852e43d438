"""Clusters of a moving guide: connected, covering, the same for the same seed, and along the seams of its motion."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from enrich_cases import box, still

from cajole import Animation, Cancelled, InputError, MeshTri
from cajole.direct.enriching import kernels, regions_clustered
from cajole.direct.enriching.clustering import _build_triangle_adjacency, _compute_triangle_motion
from cajole.mesh import grid_triangles, subdivide


def folding(frames: int = 9) -> Animation:
    """A sheet whose right half folds up: flat at first, so that only its motion tells where the seam is."""
    mesh = grid_triangles(12, 8)
    x = np.repeat(mesh.vertices[None], frames, axis=0)
    right = mesh.vertices[:, 0] > 0.5
    arm = mesh.vertices[right, 0] - 0.5
    for frame in range(frames):
        angle = 0.5 * np.pi * frame / (frames - 1)
        x[frame, right, 0], x[frame, right, 2] = 0.5 + np.cos(angle) * arm, np.sin(angle) * arm
    return Animation(mesh, x, 30.0)


def is_connected(mesh: MeshTri, faces: np.ndarray) -> bool:
    graph = _build_triangle_adjacency(mesh)[faces][:, faces]
    return sp.csgraph.connected_components(graph, directed=False)[0] == 1


@pytest.mark.parametrize("count", [1, 7, 40])
def test_clusters_cover_and_are_connected_identity(count: int) -> None:
    guide = folding()
    regions = regions_clustered(guide, count, seed=3)
    assert regions.triangle_labels is not None
    assert len(regions) == count
    np.testing.assert_array_equal(np.unique(regions.triangle_labels), np.arange(count))
    for region in range(count):
        assert is_connected(regions.fine_mesh, np.flatnonzero(regions.triangle_labels == region))
    # the weights of all regions together are those of the whole sheet
    np.testing.assert_allclose(regions.fine_weights.sum(axis=0), area_shares(regions.fine_mesh), atol=1e-15)
    assert regions.interpolation is not None
    np.testing.assert_array_equal(regions.interpolation @ guide.mesh.vertices, guide.mesh.vertices)


def area_shares(mesh: MeshTri) -> np.ndarray:
    return np.bincount(mesh.triangles.ravel(), np.repeat(mesh.areas / 3, 3), len(mesh.vertices))


def test_seeds_identity() -> None:
    guide = folding()
    one, two, other = (regions_clustered(guide, 12, seed=seed).triangle_labels for seed in (5, 5, 6))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, other)


def test_seams_follow_the_motion_claim() -> None:
    """Figure 7: patches chosen by the motion end at the fold; those of the flat first frame alone run across it."""
    guide = folding()
    middle = guide.mesh.vertices[guide.mesh.triangles].mean(axis=1)[:, 0] > 0.5

    def crossing(motion: Animation) -> int:
        total = 0
        for seed in range(4):
            faces = regions_clustered(motion, 9, mu=0.3, frames=9, seed=seed).triangle_labels
            total += sum(0 < middle[faces == region].mean() < 1 for region in range(9))
        return total

    assert crossing(guide) == 0
    assert crossing(guide.trimmed(0, 1)) >= 4


def test_finer_somewhere_claim() -> None:
    """Figure 5: four times the density on a third of the sheet gives smaller regions there."""
    guide = still(grid_triangles(18, 12, size=(1.5, 1.0)), 1)
    dense = guide.mesh.vertices[guide.mesh.triangles].mean(axis=1)[:, 0] < 0.5
    faces = regions_clustered(guide, 40, relative_density=np.where(dense, 6.0, 1.0), seed=1).triangle_labels
    assert faces is not None
    inside, outside = (np.mean([np.sum(faces == f) for f in np.unique(faces[part])]) for part in (dense, ~dense))
    assert inside < 0.4 * outside


def test_kernel_distance_agreement(random: np.random.Generator) -> None:
    """The compiled metric is the printed one: E = sup_t A_j (μ/A |x_j-x_k|² + (1-μ) |n_j-n_k|²)."""
    guide = folding()
    motion = _compute_triangle_motion(guide, np.arange(9), 0.3)
    px, pn = motion.centres[[100]], motion.normals[[100]]
    total = motion.areas.sum(axis=0)
    for j in random.integers(0, 192, 10):
        place = ((motion.centres[j] - px[0]) ** 2).sum(axis=1)
        tilt = ((motion.normals[j] - pn[0]) ** 2).sum(axis=1)
        want = (motion.areas[j] * (0.3 / total * place + 0.7 * tilt)).max()
        assert kernels.compute_proxy_distance(j, 0, motion.kernel_arrays, (px, pn)) == pytest.approx(want, rel=1e-12)


def grown_slowly(seeds: np.ndarray, graph: sp.csr_array, motion, px: np.ndarray, pn: np.ndarray) -> np.ndarray:
    """The same growth with Python's heap, after §3.3 of Cohen-Steiner et al. 2004."""
    import heapq

    label = np.full(len(motion.areas), -1)
    label[seeds] = np.arange(len(seeds))
    queue: list[tuple[float, int, int]] = []

    def push(face: int, region: int) -> None:
        for other in graph.indices[graph.indptr[face] : graph.indptr[face + 1]]:
            if label[other] < 0:
                heapq.heappush(
                    queue,
                    (kernels.compute_proxy_distance(other, region, motion.kernel_arrays, (px, pn)), int(other), region),
                )

    for region, seed in enumerate(seeds):
        push(int(seed), region)
    while queue:
        _, face, region = heapq.heappop(queue)
        if label[face] < 0:
            label[face] = region
            push(face, region)
    return label


def test_kernel_growth_agreement(random: np.random.Generator) -> None:
    """The compiled queue hands out triangles as Python's does; places are shaken so that no two are equally far."""
    guide = folding()
    shaken = guide.moved(guide.positions + 1e-3 * random.normal(size=guide.positions.shape))
    motion, graph = _compute_triangle_motion(shaken, np.arange(9), 0.5), _build_triangle_adjacency(shaken.mesh)
    seeds = random.choice(192, 10, replace=False)
    px, pn = motion.centres[seeds], motion.normals[seeds]
    label, error = np.empty(192, dtype=np.int64), np.empty(192)
    starts, others = graph.indptr.astype(np.int64), graph.indices.astype(np.int64)
    kernels.grow_regions(seeds, starts, others, motion.kernel_arrays, (px, pn), np.ones(10), label, error)
    np.testing.assert_array_equal(label, grown_slowly(seeds, graph, motion, px, pn))


def test_pieces_and_crowded_edges_identity() -> None:
    """Separate pieces get regions of their own, and three sheets at one edge are one piece."""
    one, _ = subdivide(box(), levels=1)
    both = MeshTri(np.vstack([one.vertices, one.vertices + 3]), np.vstack([one.triangles, one.triangles + 26]))
    for seed in range(5):
        faces = regions_clustered(still(both, 1), 3, seed=seed).triangle_labels
        assert faces is not None
        assert not set(faces[:48]) & set(faces[48:])
    with pytest.raises(InputError, match="2 separate pieces, but only 1 regions are asked for; ask for at least 2"):
        regions_clustered(still(both, 1), 1)
    book = MeshTri([(0, 0, 0), (0, 1, 0), (1, 0, 0), (-1, 0, 0), (0, 0, 1)], [(0, 1, 2), (0, 1, 3), (0, 1, 4)])
    assert len(regions_clustered(still(book, 1), 1)) == 1


def test_clustering_bad_input() -> None:
    guide = folding()
    for options, message in (
        ({"count": 0}, "count is 0, but must be between 1 and 192"),
        ({"count": 193}, "count is 193"),
        ({"count": 5, "mu": 1.5}, "mu is 1.5, but must be between 0"),
        ({"count": 5, "frames": 0}, "frames is 0"),
        ({"count": 5, "seed": -1}, "seed is -1"),
        ({"count": 5, "relative_density": np.ones(5)}, r"relative_density has shape \(5,\), but \(192,\) is needed"),
        ({"count": 5, "relative_density": np.zeros(192)}, r"relative_density\[0\] is 0.0, but must be positive"),
    ):
        with pytest.raises(InputError, match=message):
            regions_clustered(guide, **options)
    with pytest.raises(InputError, match="guide must be an Animation"):
        regions_clustered(guide.mesh, 5)  # type: ignore[arg-type]
    flat = guide.moved(np.zeros_like(guide.positions))
    with pytest.raises(InputError, match="the guide has no area in frame"):
        regions_clustered(flat, 5)
    with pytest.raises(Cancelled, match="clustering, round 1"):
        regions_clustered(guide, 5, progress=lambda share, text: False)
