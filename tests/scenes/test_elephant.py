"""The elephant: limbs that are apart, and bones that turn what hangs on them and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from cajole.errors import InputError
from cajole.scenes import Scene, scene
from cajole.scenes.elephant import ElephantPose, pose_elephant_skin
from cajole.scenes.keyframe_scenes import GREETING_POSES, KeyframeScene, build_elephant_greeting_scene


@pytest.fixture(scope="module")
def elephant() -> Scene:
    return scene("elephant")


@pytest.fixture(scope="module")
def greeting() -> KeyframeScene:
    """Coarse, so that seven fits take seconds."""
    return build_elephant_greeting_scene(tets=8000)


def test_elephant_limbs_are_apart_claim(elephant):
    """Trunk, tusks and tail touch nothing but what they grow from, and the ears no leg."""
    label = np.empty(len(elephant.mesh.vertices), dtype="U12")
    assert {"trunk", "ears", "tusks", "tail"} < set(elephant.parts)
    for part, vertices in elephant.parts.items():
        label[vertices] = part
    met = {frozenset(pair) for pair in np.unique(np.sort(label[elephant.mesh.edges], axis=1), axis=0).tolist()}
    grown = {"trunk": {"head", "torso"}, "tusks": {"head", "torso"}, "tail": {"torso"}, "ears": {"head", "torso"}}
    for part, roots in grown.items():
        assert {other for pair in met if part in pair for other in pair - {part}} <= roots | {"trunk", "tusks"} - {part}
    assert frozenset(("front legs", "hind legs")) not in met


def test_no_gesture_identity(elephant):
    assert pose_elephant_skin(elephant.skin, ElephantPose()) == pytest.approx(elephant.skin.mesh.vertices, abs=1e-12)


@pytest.mark.parametrize(
    ("gesture", "moves"),
    [
        (ElephantPose(curl=90), {"trunk"}),
        (ElephantPose(swing=40), {"trunk"}),
        (ElephantPose(flap=30), {"ears"}),
        (ElephantPose(step=30), {"front legs", "nails"}),
        (ElephantPose(wag=20), {"tail"}),
    ],
)
def test_gesture_moves_only_its_limb_identity(elephant, gesture, moves):
    skin = elephant.skin
    away = np.linalg.norm(pose_elephant_skin(skin, gesture) - skin.mesh.vertices, axis=1)
    moved = {part for part in skin.parts if away[skin.find_part_vertices(part)].max() > 1e-9}
    assert moved == moves
    assert away.max() > 0.1


def test_head_carries_its_parts_identity(elephant):
    """A nod moves eyes, ears, trunk and tusks as one: distances between them stay."""
    skin = elephant.skin
    carried = np.concatenate([skin.find_part_vertices(part)[::40] for part in ("trunk", "ears", "tusks", "left eye")])
    before, after = skin.mesh.vertices[carried], pose_elephant_skin(skin, ElephantPose(nod=20, turn=10))[carried]
    between = [np.linalg.norm(x[:, None] - x, axis=2) for x in (before, after)]
    assert between[1] == pytest.approx(between[0], abs=1e-9)


def test_curl_keeps_the_trunk_long_claim(elephant):
    """Edges of the trunk stretch no more than its bending asks for, and its tip comes up to the eyes."""
    skin = elephant.skin
    x = pose_elephant_skin(skin, ElephantPose(curl=150))
    own = np.isin(skin.mesh.triangles, skin.find_part_vertices("trunk")).all(axis=1)
    sides = skin.mesh.triangles[own][:, [(0, 1), (1, 2), (2, 0)]].reshape(-1, 2)
    ratio = [np.linalg.norm(y[sides[:, 0]] - y[sides[:, 1]], axis=1) for y in (skin.mesh.vertices, x)]
    assert np.percentile(ratio[1] / ratio[0], [5, 95]) == pytest.approx([0.8, 1.2], abs=0.15)
    tip = skin.find_part_vertices("trunk")[skin.mesh.vertices[skin.find_part_vertices("trunk"), 0].argmax()]
    assert skin.mesh.vertices[tip, 2] < 0.3 < 1.0 < x[tip, 2]


def test_keys_follow_the_skin_claim(greeting):
    """Every key before the last is the skin with bones, to a few thousandths of the size (§4.2, Barbič 2009)."""
    made, keys = greeting.scene, list(greeting.keys.values())
    for gesture, u in zip(GREETING_POSES, keys):
        off = made.skin.deform(made.mesh.vertices + u) - pose_elephant_skin(made.skin, gesture)
        assert np.sqrt((off**2).sum(axis=1).mean()) < 3e-3 * greeting.body.size
        corners = (made.mesh.vertices + u)[made.mesh.tets]
        assert np.linalg.det(corners[:, 1:] - corners[:, :1]).min() > 0


def test_greeting_ends_at_rest_identity(greeting):
    assert list(greeting.keys) == [30, 60, 90, 120, 150, 180, 210, 240]
    assert greeting.frames == 241
    assert not greeting.keys[240].any()


def test_keys_are_all_different_identity(greeting):
    """No key is a blend of the others: each adds a direction."""
    keys = np.array([u.ravel() for u in greeting.keys.values()][:-1])
    values = np.linalg.svd(keys / np.linalg.norm(keys, axis=1)[:, None], compute_uv=False)
    assert values[-1] > 0.1


def test_greeting_moves_in_few_coordinates_identity(greeting):
    """As many as in Table 1, and the keys are among them to rounding."""
    U, M = greeting.compute_basis(greeting.tangents), greeting.body.mass
    assert U.shape == (3 * greeting.body.vertex_count, 16)
    assert np.abs(U.T @ (M @ U) - np.eye(16)).max() < 1e-10
    keys = np.array([u.ravel() for u in greeting.keys.values()]).T
    assert np.abs(keys - U @ (U.T @ (M @ keys))).max() < 1e-10 * greeting.body.size


def test_options_take_the_place_of_the_storyboards_basis_identity(greeting):
    shot = greeting.solve(modes=0, tangents=False, starts="zero", iterations=1)
    assert shot.model.size == 7


def test_greeting_is_read_back_identity(greeting):
    again = build_elephant_greeting_scene(tets=8000)
    assert all(np.array_equal(u, again.keys[frame]) for frame, u in greeting.keys.items())


def test_greeting_meets_its_keys_claim(greeting):
    shot = greeting.solve(starts="zero")
    assert shot.report.converged
    assert max(shot.report.errors) < 1e-3
    assert shot.report.mean_gentleness < 0.5


def test_gesture_bad_input():
    with pytest.raises(InputError, match="curl"):
        ElephantPose(curl=float("nan"))
    with pytest.raises(InputError, match="trunk"):
        pose_elephant_skin(scene("beam", tets=700).skin, ElephantPose())
