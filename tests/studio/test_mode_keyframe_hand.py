"""Keyframe mode without a server: how strong the hand is, pins that hold in the motion, small things of its undo."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_desk import FakeDesk
from mode_cases import do, plain
from steer_mode_cases import Clock

import cajole as cj
from cajole.body import Body, BodySolid, MaterialStVK
from cajole.direct.keyframing.pose_session import PoseSnapshot
from cajole.errors import Cancelled
from cajole.mesh import MeshTri, Skin, box_tets, embed
from cajole.studio.content import ProjectContent
from cajole.studio.modes.base import ModeSnapshot
from cajole.studio.modes.edit.mode import EditMode
from cajole.studio.modes.keyframe.mode import KeyframeMode
from cajole.studio.modes.keyframe.pose_loads import select_patch
from cajole.studio.modes.keyframe.solution import PoseKey, find_common_pins
from cajole.studio.modes.steer.body_mode import BodySteerMode
from cajole.studio.project_saver import replace_motion, write_motion

MESH = box_tets(8, 2, 2, size=(2.0, 0.3, 0.3))
ROOT = [int(node) for node in np.flatnonzero(MESH.vertices[:, 0] == 0)]
TIP = int(np.argmax(MESH.vertices @ [10.0, 1.0, 1.0]))
LOOSE = BodySolid(MESH, damping=(0.2, 0.002))


def content(body: Body = LOOSE, **more: Any) -> ProjectContent:
    return ProjectContent("beam", MESH, body, **more)


def pull(mode: KeyframeMode, way: tuple[float, float, float], node: int = TIP) -> float:
    """Pull as the page does, as far as `way` [m]; the stiffness [N/m] of the hand."""
    stiffness = do(mode, "pull.begin", gesture=1, node=node, add=False)["stiffness"]
    for k in range(1, 5):
        do(mode, "pull.move", gesture=1, seq=k, force=[stiffness * x * k / 4 for x in way])
    do(mode, "pull.commit", gesture=1)
    return float(stiffness)


def shot(pins: list[int]) -> KeyframeMode:
    """A motion of a body that nothing but pins holds, through rest and one pose."""
    mode = KeyframeMode(FakeDesk(), content())
    do(mode, "dials", frames=25, detail=4, dt=1 / 30)
    do(mode, "key.capture", frame=0)  # before there are any pins
    do(mode, "pose.pin", nodes=pins)
    pull(mode, (0.0, 0.0, 0.3))
    do(mode, "key.capture", frame=24)
    do(mode, "optimise")
    return mode


@pytest.fixture(scope="module")
def held() -> KeyframeMode:
    return shot(ROOT)


# --- pins that hold in the motion


def test_pins_of_all_keys_hold_in_the_motion_identity(held: KeyframeMode) -> None:
    made = held.export_content()
    assert made.shot is not None
    assert made.animation is not None
    np.testing.assert_array_equal(made.animation.positions[:, ROOT] - MESH.vertices[ROOT], 0.0)
    np.testing.assert_array_equal(made.shot.model.body.fixed, ROOT)
    assert made.body is made.shot.model.body
    assert "held at 9 pinned points" in plain(held)["keyframe"]["result"]["text"]
    pose = held.keys[-1].pose.displacement
    np.testing.assert_allclose(made.animation.positions[-1] - MESH.vertices, pose, atol=0.02 * LOOSE.size)
    assert not plain(held)["keyframe"]["result"]["stale"]


def test_motion_is_that_of_a_body_held_there_agreement(held: KeyframeMode) -> None:
    """Pins or vertices that the body fixes: the same motion, and the same force."""
    mode = KeyframeMode(FakeDesk(), content(LOOSE.with_fixed_vertices(ROOT)))
    do(mode, "dials", frames=25, detail=4, dt=1 / 30)
    pull(mode, (0.0, 0.0, 0.3))
    do(mode, "key.capture", frame=24)
    do(mode, "optimise")
    assert held.solution is not None
    assert mode.solution is not None
    assert "held" not in mode.solution.summary.text
    np.testing.assert_allclose(held.solution.added_force, mode.solution.added_force, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(
        held.export_animation().positions, mode.export_animation().positions, atol=1e-4 * LOOSE.size
    )


def test_pins_that_differ_hold_where_they_agree_identity() -> None:
    def key(number: int, pins: dict[int, Any], moved: float) -> PoseKey:
        return PoseKey(number, number, PoseSnapshot((), pins, np.full((LOOSE.vertex_count, 3), moved)))

    def at(*nodes: int) -> dict[int, Any]:
        return {node: MESH.vertices[node].copy() for node in nodes}

    away = {5: MESH.vertices[5] + [0.0, 0.0, 0.1]}
    one, two, rest = key(1, at(0, 1, 2) | away, 0.1), key(2, at(2, 1, 7, 5), 0.2), key(3, {}, 0.0)
    np.testing.assert_array_equal(find_common_pins(LOOSE, (one, two)), [1, 2])
    np.testing.assert_array_equal(find_common_pins(LOOSE, (one, two, rest)), [1, 2])
    np.testing.assert_array_equal(find_common_pins(LOOSE, (one, key(4, {}, 0.3))), [])
    np.testing.assert_array_equal(find_common_pins(LOOSE, (rest,)), [])
    np.testing.assert_array_equal(find_common_pins(LOOSE.with_fixed_vertices([3]), (one, two)), [])


@pytest.mark.parametrize("count", [1, 3])
def test_pins_that_it_turns_about_hold_nothing_and_that_is_said_identity(count: int) -> None:
    """One point, or three in a line."""
    mode = shot(ROOT[:count])
    assert mode.solution is not None
    assert len(mode.solution.fixed_vertices) == 0
    assert "Nothing holds the body, which can turn about its pins: pin three" in mode.solution.summary.text
    assert mode.export_content().body is LOOSE


def test_held_motion_comes_back_identity(held: KeyframeMode) -> None:
    kept = held.create_snapshot()
    document = json.loads(json.dumps(kept.document, allow_nan=False))
    again = KeyframeMode(FakeDesk(), content(), ModeSnapshot(document, kept.arrays))
    one, two = plain(held)["keyframe"], plain(again)["keyframe"]
    assert one["loads"] == two["loads"]
    assert one["loads"][0]["stiffness"] > 0
    assert one["result"] == two["result"]
    assert again.solution is not None
    np.testing.assert_array_equal(again.solution.fixed_vertices, ROOT)
    np.testing.assert_array_equal(again.export_content().shot.model.body.fixed, ROOT)  # type: ignore[union-attr]
    old = {name: value for name, value in kept.arrays.items() if name != "take_held"}
    before = KeyframeMode(FakeDesk(), content(), ModeSnapshot(document, old))
    assert before.solution is not None
    assert len(before.solution.fixed_vertices) == 0


def test_other_modes_go_on_with_the_held_body_identity(held: KeyframeMode, tmp_path: Path) -> None:
    """Handed over, and after the project was opened again, when only the motion is left of it."""
    given = held.export_content()
    kept = replace_motion(content(), write_motion(tmp_path, given))
    for each in (given, kept):
        assert isinstance(each.body, Body)
        np.testing.assert_array_equal(each.body.fixed, ROOT)
    steered = BodySteerMode(FakeDesk(), given)
    np.testing.assert_array_equal(steered.body.fixed, ROOT)
    steered.close()
    edited = EditMode(FakeDesk(), given)
    document = json.loads(json.dumps(edited.create_snapshot().document, allow_nan=False))
    again = EditMode(FakeDesk(), kept, ModeSnapshot(document))
    np.testing.assert_allclose(again.editor.model.eigenvalues, edited.editor.model.eigenvalues, rtol=1e-6)
    fixed = replace_motion(content(LOOSE.with_fixed_vertices([3])), write_motion(tmp_path, given))
    np.testing.assert_array_equal(fixed.body.fixed, [3])  # type: ignore[union-attr]


# --- the hand


@pytest.mark.parametrize("young", [1e4, 1e6, 1e10])
def test_body_follows_the_hand_whatever_it_is_made_of_identity(young: float) -> None:
    body = BodySolid(MESH, MaterialStVK(young=young), fixed=ROOT)
    mode = KeyframeMode(FakeDesk(), content(body))
    reach = 0.25 * body.size
    stiffness = pull(mode, (0.0, 0.0, reach))
    assert 0.6 * reach < np.linalg.norm(mode.pose_session.displacement[TIP]) < 1.1 * reach
    load = plain(mode)["keyframe"]["loads"][0]
    assert load["strength"] == pytest.approx(stiffness * reach)
    assert load["stiffness"] == stiffness


def test_hand_is_the_linear_response_agreement() -> None:
    """Small forces found the same softness: the hand takes along what it holds where that is softest."""
    body = LOOSE.with_fixed_vertices(ROOT)
    mode = KeyframeMode(FakeDesk(), content(body))
    grabbed, small = select_patch(body, TIP), 1e-3
    C = [cj.pose(body, {int(node): small * way / len(grabbed) for node in grabbed}) for way in np.eye(3)]
    softest = np.linalg.eigvalsh([u[grabbed].mean(axis=0) / small for u in C])[-1]
    stiffness = do(mode, "pull.begin", gesture=1, node=TIP, add=False)["stiffness"]
    assert stiffness == pytest.approx(1.0 / softest, rel=1e-3)


def test_hand_beside_what_is_held_turns_nothing_inside_out_identity() -> None:
    body = LOOSE.with_fixed_vertices(ROOT)
    mode = KeyframeMode(FakeDesk(), content(body))
    beside = int(np.argmin(np.linalg.norm(MESH.vertices - [0.25, 0.3, 0.3], axis=1)))
    pull(mode, (0.0, 0.0, 0.25 * body.size), beside)
    assert len(body.inverted(mode.pose_session.displacement)) == 0
    assert np.abs(mode.pose_session.displacement).max() > 0.03 * body.size


def test_hand_is_known_where_nothing_resists_identity() -> None:
    mode = KeyframeMode(FakeDesk(), content())
    assert do(mode, "pull.begin", gesture=1, node=TIP, add=False)["stiffness"] > 0
    do(mode, "pull.cancel", gesture=1)
    do(mode, "pose.pin", nodes=ROOT[:1])
    pull(mode, (0.0, 0.0, 0.1))
    assert np.linalg.norm(mode.pose_session.displacement[TIP]) > 0.1
    assert do(mode, "pull.begin", gesture=2, node=ROOT[0], add=False)["stiffness"] > 0


# --- small things


def test_search_stopped_before_its_first_step_says_so_identity() -> None:
    desk = FakeDesk()
    mode = KeyframeMode(desk, content(LOOSE.with_fixed_vertices(ROOT)))
    pull(mode, (0.0, 0.0, 0.3))
    do(mode, "key.capture", frame=24)
    desk.has_stop_request = True
    with pytest.raises(Cancelled):
        do(mode, "optimise")
    assert [notice["title"] for notice in desk.of("notice")] == ["Stopped before there was a motion"]
    desk.has_stop_request, desk.go_on = False, False
    with pytest.raises(Cancelled):
        do(mode, "optimise")
    assert len(desk.of("notice")) == 1, "who cancels wants nothing"
    assert mode.solution is None


def test_key_put_back_where_it_was_is_no_step_identity() -> None:
    desk = FakeDesk()
    mode = KeyframeMode(desk, content(LOOSE.with_fixed_vertices(ROOT)))
    do(mode, "key.capture", frame=24)
    for frame, final in ((30, False), (24, False), (24, True)):
        do(mode, "marker.move", lane="keys", ids=["key-1"], frames=[frame], final=final)
    assert plain(mode)["undo"] == "key at frame 24"
    assert desk.labels[-1] is None
    do(mode, "marker.move", lane="keys", ids=["key-1"], frames=[25], final=True)
    assert plain(mode)["undo"] == desk.labels[-1] == "move a key"


def test_values_of_one_slider_are_one_step_for_as_long_as_it_is_held_identity(undo_clock: Clock) -> None:
    mode = KeyframeMode(FakeDesk(), content(LOOSE.with_fixed_vertices(ROOT)))
    for effort in (1e-3, 1e-2, 1e-1):
        do(mode, "dials", effort=effort)
        undo_clock.now += 0.5
    undo_clock.now += 60.0
    do(mode, "dials", effort=1.0)
    do(mode, "undo")
    assert mode.settings.effort == 0.1
    do(mode, "undo")
    assert mode.settings.effort == 1e-4
    assert plain(mode)["undo"] is None


def picture_of(mode: KeyframeMode) -> np.ndarray:
    """The middle of a key's picture (k, 3), where the body is, as shares."""
    image = pytest.importorskip("PIL.Image")
    do(mode, "key.capture", frame=24)
    mode.tick()
    _, _, data = plain(mode)["keyframe"]["keys"][0]["picture"].partition("base64,")
    pixels = np.asarray(image.open(io.BytesIO(base64.b64decode(data))).convert("RGB"), dtype=float) / 255
    flat = pixels.reshape(-1, 3)
    return flat[np.ptp(flat, axis=1) > 0.15]


def test_bodies_without_colours_are_clay_in_pictures_identity() -> None:
    body = LOOSE.with_fixed_vertices(ROOT)
    surface = MeshTri(MESH.vertices, MESH.surface.triangles)
    inside = embed(surface, MESH)
    green = np.tile([0.2, 0.7, 0.3], (len(MESH.vertices), 1))
    green[0] = [0.2, 0.7, 0.4]
    for skin, strongest in (
        (None, 0),
        (Skin(surface, embedding=inside), 0),
        (Skin(surface, green, embedding=inside), 1),
    ):
        seen = picture_of(KeyframeMode(FakeDesk(), content(body, skin=skin)))
        assert len(seen) > 100
        assert (seen.argmax(axis=1) == strongest).mean() > 0.95
