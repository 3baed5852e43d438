"""The staircase, what tumbles down it, and the contacts and the drag of the scene; with a block for the elephant."""

from __future__ import annotations

import numpy as np
import pytest

from cajole.arrays import Array
from cajole.body import BodySolid, MaterialStVK
from cajole.errors import InputError
from cajole.mesh import ClosestPointQuery, MeshTet, Skin, box_tets, embed
from cajole.scenes import Scene
from cajole.scenes.edit_scenes import stairs as module
from cajole.scenes.edit_scenes.stairs import (
    CONTACT_OFFSET,
    EDGE_RADIUS,
    FOUNDATION_DEPTH,
    HALF_WIDTH,
    STEP_COUNT,
    StairsScene,
    build_staircase,
    build_step_obstacles,
    extrude_outline,
    simulate_tumble,
    split_shared_vertices,
)

FRAMES, DRAGGED = 76, 60


def animal(tets: int) -> Scene:
    """A long block with the elephant's parts by name: finer for more tets."""
    cells = (8, 4, 4) if tets > 1000 else (4, 2, 2)
    mesh = box_tets(*cells, size=(2.4, 1.2, 1.2))
    surface = mesh.surface
    skin = Skin(
        surface, np.full((len(mesh.vertices), 3), 0.5), ("all",), np.zeros(len(mesh.vertices), dtype=np.int64),
        np.zeros(len(mesh.vertices)), embed(surface.vertices, mesh),
    )  # fmt: skip
    ends = np.flatnonzero(mesh.vertices[:, 0] > 2.3)
    parts = {"trunk": ends, **dict.fromkeys(("tusks", "tail", "ears"), ends[:0])}
    return Scene("animal", "", "", mesh, skin, parts, ends[:0], {}, 1e6, 0.4, 1000.0, (0.1, 0.01))


@pytest.fixture(scope="module")
def path() -> Array:
    made = animal(100)
    body = BodySolid(made.mesh, MaterialStVK(1e7, 0.4, 1000.0), damping=(0.1, 0.01))
    return simulate_tumble(body, animal(5000).mesh.surface, FRAMES)


@pytest.fixture
def made(path: Array, monkeypatch: pytest.MonkeyPatch) -> StairsScene:
    monkeypatch.setattr(module, "scene", lambda name, *, tets, progress: animal(tets))
    monkeypatch.setattr(module, "simulate_tumble", lambda *_, **__: path)
    monkeypatch.setattr(module, "DRAG_FRAME", DRAGGED)
    return module.build_stairs_scene(frames=FRAMES, tets=5000, cage_tets=100)


def test_staircase_is_closed_and_faces_outward_reference() -> None:
    mesh = build_staircase()
    ahead, heights = module._compute_step_profile()
    assert mesh.is_closed()
    assert mesh.is_manifold()
    assert mesh.notes == ()
    assert mesh.volume == pytest.approx(
        2 * HALF_WIDTH * float(np.diff(ahead) @ (heights + FOUNDATION_DEPTH)), rel=1e-12
    )
    assert len(heights) == STEP_COUNT + 1
    assert (heights[-1], mesh.bounds[1, 2]) == (0, heights[0])


def test_extruded_is_outward_whichever_way_round() -> None:
    square = np.array([(0, 0), (1, 0), (1, 1), (0, 1)], dtype=float)
    for around in (np.arange(4), np.arange(4)[::-1]):
        mesh = extrude_outline(square, np.array([(0, 1, 2), (0, 2, 3)]), around)
        assert mesh.is_closed()
        assert mesh.volume == pytest.approx(2 * HALF_WIDTH)


def test_nested_boxes_agreement_with_the_staircase() -> None:
    """Shifted by what they are inset, the boxes together are the staircase."""
    random = np.random.default_rng(8)
    points = random.uniform((-5, -HALF_WIDTH + 1, 0.3), (STEP_COUNT + 5, HALF_WIDTH - 1, 12), (4000, 3))
    inset = (EDGE_RADIUS - CONTACT_OFFSET) * np.array([1, 0, 1])
    boxes = build_step_obstacles()
    inside = np.any(
        [ClosestPointQuery(each.mesh).compute_signed_distances(points - inset) < 0 for each in boxes], axis=0
    )  # type: ignore[arg-type]
    np.testing.assert_array_equal(inside, ClosestPointQuery(build_staircase()).compute_signed_distances(points) < 0)
    assert 500 < inside.sum() < 3500
    assert all(each.margin == EDGE_RADIUS for each in boxes)


def test_faceted_keeps_the_surface() -> None:
    mesh = build_staircase()
    flat = split_shared_vertices(mesh)
    np.testing.assert_array_equal(flat.vertices[flat.triangles], mesh.vertices[mesh.triangles])
    assert len(flat.vertices) == 3 * len(mesh.triangles)


def test_tumbling_goes_down_and_stays_out_claim(path: Array) -> None:
    middle = path.mean(axis=1)
    assert middle[-1, 0] > middle[0, 0] + 1
    assert middle[-1, 2] < middle[0, 2] - 0.5
    assert not np.allclose(path[-1] - middle[-1], path[0] - middle[0], atol=0.2), "it did not turn"
    coarse, fine = animal(100).mesh, animal(5000).mesh
    moved = embed(fine.vertices[fine.surface_vertices], coarse).apply(path)
    gaps = np.array([ClosestPointQuery(build_staircase()).compute_signed_distances(x).min() for x in moved])
    assert gaps.min() > -0.03
    assert gaps.min() < CONTACT_OFFSET, "it never touched"


def test_scene_identity(made: StairsScene, path: Array) -> None:
    animation = made.animation
    assert isinstance(animation.mesh, MeshTet)
    assert animation.frames == FRAMES
    follow = embed(animation.mesh.vertices, animal(100).mesh).apply(path)
    np.testing.assert_allclose(animation.positions, follow, atol=1e-5)  # kept in single precision
    assert made.body.vertex_count == animation.n
    assert made.compute_penetration(animation.frame(0)) < 0


def test_contacts_are_found_and_clustered_claim(made: StairsScene) -> None:
    contacts = made.animation.contacts
    assert contacts is not None
    assert 0 < 3 * len(contacts.clustered(made.animation.mesh)) < len(contacts)
    at = made.animation.positions[contacts.frame, contacts.vertex]
    assert (ClosestPointQuery(made.stairs).compute_signed_distances(at) <= module.CONTACT_DISTANCE).all()
    assert (contacts.normal[:, 2] > -1e-9).all(), "steps push up or ahead"


def test_drag_lifts_the_tip_in_the_body_s_own_axes(made: StairsScene) -> None:
    (move,) = made.drags
    assert move.frame == DRAGGED
    x = made.animation.frame(DRAGGED)
    assert np.linalg.norm(move.positions - x[move.vertices]) == pytest.approx(np.linalg.norm(module.DRAG_OFFSET))
    front = made.animation.mesh.vertices[:, 0] > 2.3
    ahead = x[front].mean(axis=0) - x[~front].mean(axis=0)
    shift = (move.positions - x[move.vertices])[0]
    assert shift @ ahead / np.linalg.norm(ahead) == pytest.approx(module.DRAG_OFFSET[0], abs=0.05)


def test_too_short_bad_input() -> None:
    with pytest.raises(InputError, match="frames is 20"):
        module.build_stairs_scene(frames=20)
