"""Points in tets, and skins that follow them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cajole.errors import InputError
from cajole.mesh import Embedding, MeshTet, Skin, box_tets, embed, subdivide
from cajole.mesh.embedding import CANDIDATE_TETS

BOX = box_tets(3, 2, 4, size=(3, 2, 4))


def least_weights_by_solving(points: np.ndarray, mesh: MeshTet) -> np.ndarray:
    """(k, m) the least barycentric weight of every point in every tet, by solving for the weights."""
    corners = np.concatenate([mesh.vertices[mesh.tets], np.ones((len(mesh.tets), 4, 1))], axis=2)
    targets = np.column_stack([points, np.ones(len(points))])
    weights = np.linalg.solve(corners.transpose(0, 2, 1), np.broadcast_to(targets.T, (len(corners), 4, len(points))))
    return weights.min(axis=1).T


@given(arrays(np.float64, (3, 4), elements=st.floats(-3, 3)))
def test_affine_motion_identity(affine: np.ndarray) -> None:
    points = np.random.default_rng(0).uniform(-0.5, 1.5, (50, 3)) * [3, 2, 4]
    embedding = embed(points, BOX)
    moved = embedding.apply(BOX.vertices @ affine[:, :3].T + affine[:, 3])
    assert moved == pytest.approx(points @ affine[:, :3].T + affine[:, 3], abs=1e-12)


def test_inside_and_outside_agreement() -> None:
    points = np.random.default_rng(1).uniform(-0.3, 1.3, (400, 3)) * [3, 2, 4]
    embedding = embed(points, BOX)
    inside = ((points >= 0) & (points <= [3, 2, 4])).all(axis=1)
    assert np.array_equal(embedding.outside_mask, ~inside)
    least = least_weights_by_solving(points, BOX)
    assert embedding.min_weights == pytest.approx(least[np.arange(400), embedding.tets], abs=1e-12)
    assert embedding.min_weights[inside] == pytest.approx(least[inside].max(axis=1), abs=1e-12)


def test_outside_takes_the_best_of_the_near_agreement() -> None:
    points = np.random.default_rng(4).uniform(1.05, 1.4, (50, 3)) * [3, 2, 4]
    embedding = embed(points, BOX)
    distance = np.linalg.norm(BOX.vertices[BOX.tets].mean(axis=1)[None] - points[:, None], axis=2)
    near = np.argsort(distance, axis=1)[:, :CANDIDATE_TETS]
    best = np.take_along_axis(least_weights_by_solving(points, BOX), near, axis=1).max(axis=1)
    assert embedding.outside_mask.all()
    assert (embedding.min_weights >= best - 1e-12).all()


def test_large_tet_among_small_ones_agreement() -> None:
    """Points of a tet whose centroid is far behind hundreds of nearer ones."""
    small = box_tets(6, 6, 6, size=(0.1, 0.1, 0.1))
    large = np.array([[-0.01, -0.01, -0.01], [-9, -9, -0.01], [-9, -0.01, -9], [-0.01, -9, -9]])
    mesh = MeshTet(np.vstack([small.vertices, large]), np.vstack([small.tets, [np.arange(4) + len(small.vertices)]]))
    weights = np.random.default_rng(2).dirichlet(np.ones(4), 200)
    weights[:20] = [0.999, 0.0004, 0.0003, 0.0003]
    points = weights @ mesh.vertices[mesh.tets[-1]]
    embedding = embed(points, mesh)
    assert (embedding.tets == len(mesh.tets) - 1).all()
    assert not embedding.outside_mask.any()


def test_mesh_vertices_and_frames_identity() -> None:
    surface = subdivide(BOX.surface, levels=1)[0]
    embedding = embed(surface, BOX)
    frames = np.stack([BOX.vertices, 2 * BOX.vertices + 1])
    moved = embedding.apply(frames)
    assert moved == pytest.approx(np.stack([surface.vertices, 2 * surface.vertices + 1]), abs=1e-12)
    assert np.array_equal(embedding.apply(frames[1]), moved[1])
    assert embedding.weights.sum(axis=1) == pytest.approx(1, abs=1e-14)


def test_no_points() -> None:
    empty = embed(np.zeros((0, 3)), BOX)
    assert empty.apply(BOX.vertices).shape == (0, 3)


def test_embedding_bad_input() -> None:
    embedding = embed([[0.5, 0.5, 0.5]], BOX)
    with pytest.raises(InputError, match="shape"):
        embedding.apply(BOX.vertices[:-1])
    with pytest.raises(InputError, match="finite"):
        embed([[np.nan, 0, 0]], BOX)
    with pytest.raises(InputError, match="MeshTet, not MeshTri"):
        embed([[0.0, 0, 0]], BOX.surface)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"weights\[0\] sum to 2"):
        Embedding(np.array([0]), np.full((1, 4), 0.5), np.array([[0, 1, 2, 3]]), 4)
    with pytest.raises(InputError, match=r"outside 0\.\.3"):
        Embedding(np.array([0]), np.full((1, 4), 0.25), np.array([[0, 1, 2, 4]]), 4)


def skin(**changes: object) -> Skin:
    surface = BOX.surface
    count = len(surface.vertices)
    values = {
        "mesh": surface,
        "colors": np.full((count, 3), 0.5),
        "parts": ("body", "eye"),
        "labels": np.arange(count) % 2,
        "gloss": np.zeros(count),
        "embedding": embed(surface, BOX),
    }
    return Skin(**{**values, **changes})  # type: ignore[arg-type]


def test_skin_follows_its_cage_identity() -> None:
    one = skin()
    assert one.deform(BOX.vertices + 1) == pytest.approx(BOX.vertices + 1, abs=1e-12)
    assert one.deform(np.stack([BOX.vertices] * 3)).shape == (3, len(BOX.vertices), 3)
    assert one.find_part_vertices("eye").tolist() == list(range(1, len(BOX.vertices), 2))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"colors": np.full((60, 3), 2.0)}, r"colors\[0, 0\] is 2.0, outside 0..1"),
        ({"gloss": np.zeros(3)}, r"gloss has shape \(3,\)"),
        ({"labels": np.full(60, 2)}, r"labels\[0\] is 2, outside 0..1"),
        ({"parts": ("a", "a")}, "different names"),
        ({"parts": "eye"}, "different names"),
        ({"mesh": BOX}, "MeshTri, not MeshTet"),
        ({"embedding": embed([[0.0, 0, 0]], BOX)}, "holds 1 points"),
    ],
)
def test_skin_bad_input(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        skin(**changes)


def test_skin_questions_bad_input() -> None:
    with pytest.raises(InputError, match=r"no part 'tail'; its parts are 'body', 'eye'"):
        skin().find_part_vertices("tail")
    with pytest.raises(InputError, match="no embedding"):
        skin(embedding=None).deform(BOX.vertices)


def test_plain_skin_identity() -> None:
    cage = box_tets(1, 1, 1)
    plain = Skin(cage.surface, embedding=embed(cage.surface, cage))
    n = len(cage.vertices)
    assert plain.colors.shape == (n, 3)
    assert plain.gloss.shape == (n,)
    assert plain.parts == ("surface",)
    assert plain.find_part_vertices("surface").tolist() == list(range(n))
    np.testing.assert_allclose(plain.deform(cage.vertices + 1.0), cage.vertices + 1.0)
    red = Skin(cage.surface, colors=np.array((1.0, 0.0, 0.0)), gloss=np.array(0.9))
    assert (red.colors == [1, 0, 0]).all()
    assert (red.gloss == 0.9).all()
