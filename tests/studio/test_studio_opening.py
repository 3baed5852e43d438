"""What can be opened, for which verb, and what the page is told of it."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from mode_cases import plain, plain_message
from studio_cases import FRAMES, small_motion, sway_file

from cajole.animation import Animation
from cajole.body import BodySolid, EmbeddedMesh, embed_in_solid
from cajole.direct import steer
from cajole.errors import FileError, InputError
from cajole.mesh import MeshTet, MeshTri, box_tets, grid_triangles, write_mesh
from cajole.scenes import scene_names
from cajole.scenes.edit_scenes import list_edit_scene_names
from cajole.scenes.enrich_scenes import list_enrich_scene_names
from cajole.scenes.reroute_scenes import list_reroute_scene_names
from cajole.studio.access import AccessPolicy
from cajole.studio.catalogue import DRAWING_SCRIPT, SceneCatalogue, get_picture_folder, has_cached_scene
from cajole.studio.content import ProjectContent, build_animation_content, detect_file_kind, open_file
from cajole.studio.messages import SuggestedDrag
from cajole.studio.mode_registry import (
    choose_mode,
    create_mode,
    find_available_modes,
    get_modes,
    list_scene_cards,
    open_scene,
)
from cajole.studio.modes.steer.scenes import STEER_SCENES
from cajole.studio.project_manager import ProjectManager
from cajole.studio.project_store import ProjectStore
from cajole.studio.server import _open_subject, bind_socket
from cajole.studio.view_model import build_project_message, encode_meshes, suggest_drag
from waiting import PATIENCE


def waving_cloth() -> Animation:
    mesh = grid_triangles(4, 4)
    positions = np.repeat(mesh.vertices[None], FRAMES, axis=0)
    positions[:, :, 2] += np.sin(np.arange(FRAMES) / 3.0)[:, None] * mesh.vertices[:, 0]
    return Animation(mesh, positions, name="cloth")


def possible(content: ProjectContent) -> list[str]:
    return [mode for mode, chance in find_available_modes(content).items() if chance.possible]


def test_a_motion_of_tets_is_good_for_every_verb_identity():
    content = build_animation_content(small_motion())
    assert possible(content) == ["edit", "keyframe", "steer", "enrich", "reroute"]
    assert content.body is None
    assert get_modes()["edit"].prepare_content(content) is content
    body = get_modes()["steer"].prepare_content(content).body
    assert isinstance(body, BodySolid)
    # what never moves holds it
    np.testing.assert_array_equal(body.fixed, np.flatnonzero(content.mesh.vertices[:, 0] == 0.0))


def test_a_motion_of_triangles_cannot_be_keyed_nor_steered_and_says_why_bad_input():
    content = build_animation_content(waving_cloth())
    assert possible(content) == ["edit", "enrich", "reroute"]
    assert "no inside" in find_available_modes(content)["keyframe"].why
    assert "no inside" in find_available_modes(content)["steer"].why
    around = ProjectContent("box", content.mesh, embed_in_solid(content.mesh, resolution=6), content.animation)
    assert isinstance(around.body, EmbeddedMesh)
    assert possible(around) == ["edit", "enrich", "reroute"]


def test_a_mesh_can_be_keyed_and_says_why_not_more_bad_input(tmp_path):
    write_mesh(box_tets(3, 2, 2).surface, tmp_path / "box.obj")
    content = open_file(tmp_path / "box.obj")
    assert possible(content) == ["keyframe"]
    assert "takes too long" in find_available_modes(content)["reroute"].why
    assert "Nothing moves yet" in find_available_modes(content)["edit"].why
    assert "hand it over" in find_available_modes(content)["steer"].why
    assert choose_mode(content, "edit") == "keyframe"
    # drawn as it came, carried by the tets inside
    np.testing.assert_allclose(
        content.compute_drawn_positions(content.mesh.vertices), content.surface.vertices, atol=1e-9
    )


def test_what_no_verb_can_take_is_looked_at_identity():
    short = build_animation_content(waving_cloth().trimmed(0, 1))
    assert possible(short) == []
    assert "1 frames" in find_available_modes(short)["edit"].why
    assert "one frame" in find_available_modes(short)["enrich"].why
    mode = create_mode(choose_mode(short), None, short)
    np.testing.assert_allclose(mode.compute_live_vertices(0), short.animation.frame(0))
    assert mode.frames == 1
    plain(mode)
    with pytest.raises(InputError, match=r"frames 0\.\.0"):
        mode.compute_live_vertices(1)


def test_files_are_told_apart_by_their_names_identity(tmp_path):
    for name in ("walk_0001.obj", "walk_0002.obj", "part7.obj"):
        write_mesh(box_tets(1, 1, 1).surface, tmp_path / name)
    assert detect_file_kind(tmp_path / "walk_0001.obj") == "animation"
    assert detect_file_kind(tmp_path / "part7.obj") == "mesh"
    assert detect_file_kind(tmp_path / "x.VEG") == "mesh"
    assert detect_file_kind(tmp_path / "x.usdc") == "animation"
    for name in ("x.exe", "x", "x.cajole"):
        with pytest.raises(FileError, match="known are"):
            detect_file_kind(tmp_path / name)


def test_a_scene_to_edit_comes_with_its_plan_agreement():
    content = open_scene("twist", "edit")
    assert possible(content)[0] == "edit"
    assert len(content.edit_setup.suggested_drags) == 48
    first = content.edit_setup.suggested_drags[0]
    assert suggest_drag(content) == SuggestedDrag(int(first.vertices[0]), first.frame)
    told = plain_message(build_project_message("0123456789", "Twist", content))
    assert told["painted"] is True
    assert told["ground"] == -0.5
    kinds = [data[4] for data in encode_meshes(content)]
    assert kinds == [1, 2, 3]


def test_a_scene_to_key_comes_with_its_body_agreement():
    content = open_scene("beam", "keyframe")
    assert possible(content) == ["keyframe", "reroute"]
    told = plain_message(build_project_message("0123456789", "Beam", content))
    assert told["weight"] == pytest.approx(9.81 * content.body.total_mass)
    assert told["suggestion"] is None
    for members in told["parts"].values():
        assert 0 < len(members) <= 12


@pytest.mark.parametrize(("name", "mode"), [("twist", "keyframe"), ("beam", "edit"), ("nowhere", "steer")])
def test_scenes_of_other_verbs_bad_input(name, mode):
    with pytest.raises(InputError, match="must be one of"):
        open_scene(name, mode)


def test_every_card_can_be_opened_and_every_scene_to_edit_or_steer_has_one_agreement():
    choices = {
        "edit": list_edit_scene_names(),
        "keyframe": scene_names(),
        "steer": tuple(STEER_SCENES),
        "enrich": list_enrich_scene_names(),
        "reroute": list_reroute_scene_names(),
    }
    for card in list_scene_cards():
        assert card.name in choices[card.mode], card
    named = {mode: {card.name for card in list_scene_cards() if card.mode == mode} for mode in choices}
    assert named["edit"] == set(list_edit_scene_names())
    assert named["steer"] == set(STEER_SCENES)
    assert named["keyframe"] <= set(scene_names())
    assert len({card.key for card in list_scene_cards()}) == len(list_scene_cards())


def test_the_frames_on_the_cards_are_those_of_the_scenes_agreement():
    for card in (card for card in list_scene_cards() if card.mode == "edit"):
        module = importlib.import_module(f"cajole.scenes.edit_scenes.{card.name.split('-')[0]}")
        assert f"{module.FRAMES} frames" in card.facts


def test_a_scene_is_ready_once_it_was_opened_identity(tmp_path, own_cache):
    catalogue = SceneCatalogue(ProjectStore(tmp_path))
    ready = {(scene.name, scene.modes[0]): scene.ready for scene in catalogue.build_message().scenes}
    assert ready["stairs", "edit"] is False
    assert ready["twist", "edit"] is True
    catalogue.record_opening("stairs", "edit")
    assert has_cached_scene("edit-stairs")
    assert not has_cached_scene("edit-bird")


def test_a_portrait_makes_way_once_its_scene_was_made_identity(tmp_path, own_cache):
    catalogue = SceneCatalogue(ProjectStore(tmp_path))
    get_picture_folder().mkdir(parents=True)
    (get_picture_folder() / "edit-stairs.webp").write_bytes(b"an elephant")
    catalogue.record_opening("stairs", "edit")
    # a page that asks for it now still gets it, while another is wanted
    assert catalogue.find_picture("edit-stairs").read_bytes() == b"an elephant"
    assert not (get_picture_folder() / "edit-stairs.webp").exists()
    (get_picture_folder() / "edit-stairs.webp").write_bytes(b"an elephant on stairs")
    catalogue.record_opening("stairs", "edit")
    assert catalogue.find_picture("edit-stairs").read_bytes() == b"an elephant on stairs"


def test_what_moves_most_is_where_a_first_drag_matters_identity():
    motion = small_motion()
    found = suggest_drag(build_animation_content(motion))
    assert motion.mesh.vertices[found.node, 0] == pytest.approx(2.0)
    assert found.frame == FRAMES // 2


# --- what must happen in a scene to steer


@pytest.mark.parametrize("controlled", [True, False])
def test_the_judge_of_the_strike_says_what_the_scene_says_agreement(controlled):
    from cajole.scenes.steer_scenes import build_strike_scene
    from cajole.studio.modes.steer.scenes import StrikeOutcomeEvaluator

    made = build_strike_scene()
    judge = StrikeOutcomeEvaluator(made)
    for seed in range(3):
        judge.reset()
        run = made.create_controller().run(force=made.sample_push(seed), controlled=controlled)
        said = [judge(frame, positions) for frame, positions in enumerate(run.animation)]
        assert said[0] is None
        assert said[-1] is made.has_reached_target(run)


def test_the_strike_opens_with_its_balls_agreement():
    content = open_scene("strike", "steer")
    assert possible(content) == ["keyframe", "steer", "reroute"]
    assert [prop.name for prop in content.props] == ["ball 1", "ball 2"]
    reference = content.steer_setup.build_reference(None)
    assert steer(reference, **content.steer_setup.options).run().report is not None
    kinds = [data[4] for data in encode_meshes(content)]
    assert kinds == [1, 2, 3, 4, 4]


# --- starting


def test_a_subject_is_a_scene_or_a_file_bad_input(tmp_path):
    hub = ProjectManager(ProjectStore(tmp_path / "studio"))
    for subject, mode, said in (
        ("nowhere", None, "neither a scene"),
        ("twist", "steer", "no scene for steer; choose edit"),
        (str(tmp_path / "nothere.npz"), None, "not there"),
        (str(tmp_path / "x.exe"), None, "nothing that can be opened"),
    ):
        with pytest.raises(InputError, match=said):
            _open_subject(hub, subject, mode)
    _open_subject(hub, str(sway_file(tmp_path)), None)
    assert hub.find_project(hub.active_project_id).name == "sway"
    hub.close()


def test_an_address_that_is_taken_says_so_bad_input():
    taken = bind_socket("127.0.0.1", 0)
    taken.listen()
    try:
        with pytest.raises(InputError, match="--port"):
            bind_socket("127.0.0.1", taken.getsockname()[1])
    finally:
        taken.close()
    with pytest.raises(InputError, match="between 0 and 65535"):
        bind_socket("127.0.0.1", 70_000)
    with pytest.raises(InputError, match="cannot listen"):
        bind_socket("no.such.host.invalid", 0)


def test_the_command_tells_its_address_as_one_document_identity(tmp_path):
    command = [sys.executable, "-m", "cajole", "studio", "--no-browser", "--json", "--folder", str(tmp_path / "studio")]
    environment = {**os.environ, "CAJOLE_CACHE": str(tmp_path / "cache")}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as found:
        lines = list(iter(found.stdout.readline, "}\n"))
        os.kill(found.pid, signal.SIGINT)
        assert found.wait(PATIENCE) in (0, 130)
        assert found.stdout.read() == ""  # that it was ended is no second document
    address = json.loads("".join([*lines, "}"]))["address"]
    assert address.startswith("http://127.0.0.1:")
    assert len(address.split("#")[1]) == len(AccessPolicy().token)


def test_a_surface_that_nobody_can_fill_says_why_bad_input(tmp_path):
    flat = MeshTri(np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]), np.array([[0, 1, 2]]))
    write_mesh(flat, tmp_path / "flat.obj")
    content = open_file(tmp_path / "flat.obj")
    assert possible(content) == ["keyframe", "reroute"]


def test_a_sheet_is_put_into_cells_to_be_posed_but_falls_as_it_is_agreement(tmp_path):
    sheet = grid_triangles(6, 6)
    write_mesh(sheet, tmp_path / "sheet.obj")
    content = open_file(tmp_path / "sheet.obj")
    assert isinstance(get_modes()["keyframe"].prepare_content(content).mesh, MeshTet)
    fallen = get_modes()["reroute"].prepare_content(content)
    np.testing.assert_array_equal(fallen.mesh.triangles, sheet.triangles)
    assert create_mode("reroute", None, fallen).net.vertex_count == 49


def test_pictures_are_drawn_three_by_two_and_kept_identity(own_cache):
    pil = pytest.importorskip("PIL.Image")
    from cajole.studio.scene_pictures import draw_card

    assert draw_card("edit-twist")
    with pil.open(get_picture_folder() / "edit-twist.webp") as found:
        assert (found.format, 2 * found.width) == ("WEBP", 3 * found.height)
    # a scene that takes minutes to make is not made for its picture
    assert not draw_card("edit-curtain")


def test_pictures_are_drawn_while_no_project_is_open_identity(tmp_path, own_cache, monkeypatch):
    drawn = list[bool]()
    monkeypatch.setattr(SceneCatalogue, "draw_missing_pictures", lambda self: drawn.append(True))
    hub = ProjectManager(ProjectStore(tmp_path))
    hub.catalogue.draws_pictures = True
    try:
        hub.catalogue.build_message(is_idle=hub.is_idle)
        assert drawn == [True]
        hub.open_path(sway_file(tmp_path), "edit")
        hub.catalogue.build_message(is_idle=hub.is_idle)
        assert drawn == [True]
    finally:
        hub.close()


def test_the_process_that_draws_begins_identity(own_cache):
    """It imports all that it needs, and is done where there is nothing to draw."""
    done = subprocess.run([sys.executable, "-c", DRAWING_SCRIPT], capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (0, "")
