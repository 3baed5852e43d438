"""`cajole edit NAME`: scenes with drags of their own, and `--key` with more behind it."""

from __future__ import annotations

import numpy as np
import pytest

import cajole as cj
from cajole.cli import edit as edit_command
from cajole.cli.keyframe import KeySpecification, load_keys, parse_key
from cajole.scenes import load_scene_body
from cajole.scenes.edit_scenes import EditScene, VertexDrag


@pytest.fixture
def scene(motion, body, monkeypatch):
    """The swing as a scene to edit, with two drags of its own, under the name of one that is built in."""
    tip = int(np.argmax(body.vertices[:, 0]))
    moves = [VertexDrag([tip], frame, motion.positions[[frame], tip] + (0, 0.02, 0)) for frame in (4, 8)]
    made = EditScene("twist", "Swing", "", motion, body, 6, tuple(moves), edit_options={"ends": "free"})
    monkeypatch.setattr(edit_command, "load_edit_scene", lambda name, **_: made)
    return made


def test_scene_makes_its_own_drags_agreement(cajole, scene, tmp_path):
    told = cajole("edit", "twist", "-o", tmp_path / "edited.npz", "--json").json
    expected = scene.apply_drags().animation().positions
    np.testing.assert_allclose(cj.read_animation(tmp_path / "edited.npz").positions, expected, atol=1e-9)
    assert [(hold["frame"], hold["landed"]) for hold in told["holds"]] == [(4, True), (8, True)]
    assert (told["source"], told["modes"]) == ("twist", 6)


def test_scene_takes_other_drags_identity(cajole, scene):
    vertex = int(scene.drags[0].vertices[0])
    told = cajole("edit", "twist", "--modes", 5, "--drag", f"{vertex}:6:+0,0,0.01", "--json").json
    assert [(hold["vertex"], hold["frame"]) for hold in told["holds"]] == [(vertex, 6)]
    assert told["modes"] == 5


@pytest.mark.parametrize("words", [("--young", 5), ("--body", "solid"), ("--fps", 24), ("--cells", 9)])
def test_what_a_scene_has_bad_input(cajole, words):
    run = cajole("edit", "twist", *words)
    assert run.code == 1
    assert f"{words[0]} is the scene's own" in run.err


def test_neither_scene_nor_file_bad_input(cajole):
    run = cajole("edit", "twirl", "--pin", "0:0")
    assert run.code == 1
    assert "no scene to edit (bird" in run.err


@pytest.mark.parametrize(
    ("text", "place", "where", "weight", "hard"),
    [
        ("60=a pose.npz", None, None, 1.0, False),
        ("60=a pose.npz#3 hard", 3, None, 1.0, True),
        ("60=a pose.npz on x>50% & z<1 weight 0.5", None, "x>50% & z<1", 0.5, False),
        (" 60=a pose.npz#0 on head weight 2 hard ", 0, "head", 2.0, True),
    ],
)
def test_keys_say_more_identity(text, place, where, weight, hard):
    found = parse_key(text)
    assert isinstance(found, KeySpecification)
    assert (found.frame, str(found.file), found.source_frame) == (60, "a pose.npz", place)
    assert (found.selection, found.weight, found.hard) == (where, weight, hard)


def test_partial_keys_are_met_where_they_count_agreement(cajole, beam, body, bent, tmp_path):
    np.savez(tmp_path / "up.npz", displacement=bent)
    subject = load_scene_body(str(beam)).with_fixed_vertices(["x<1%"])
    (key,) = load_keys([parse_key(f"8={tmp_path / 'up.npz'} on x>90% weight 3 hard")], subject, body).values()
    np.testing.assert_array_equal(key.vertices, np.flatnonzero(body.vertices[:, 0] > 0.9))
    assert (key.weight, key.hard) == (3.0, True)
    words = ("keyframe", beam, "--fixed", "x<1%", "--modes", 3, "--json", "--key")
    soft = cajole(*words, f"8={tmp_path / 'up.npz'}", "--effort", 1.0).json
    hard = cajole(*words, f"8={tmp_path / 'up.npz'} hard", "--effort", 1.0).json
    assert hard["keys"][0]["error_sizes"] < 1e-6 < soft["keys"][0]["error_sizes"]


@pytest.mark.parametrize(
    ("tail", "message"),
    [
        ("weight -1", "the weight of --key"),
        ("weight much", "not a finite number"),
        ("on tail", "selects nothing known"),
    ],
)
def test_keys_bad_input(cajole, beam, bent, tmp_path, tail, message):
    np.savez(tmp_path / "up.npz", displacement=bent)
    run = cajole("keyframe", beam, "--fixed", "x<1%", "--key", f"8={tmp_path / 'up.npz'} {tail}")
    assert run.code == 1
    assert message in run.err.replace("\n", " ")


def test_loop_comes_back_identity(cajole, beam, bent, tmp_path):
    np.savez(tmp_path / "up.npz", displacement=bent)
    words = ("keyframe", beam, "--fixed", "x<1%", "--modes", 3, "--key", f"4={tmp_path / 'up.npz'}", "--loop")
    assert "a loop needs frames" in cajole(*words).err
    told = cajole(*words, "--frames", 12, "-o", tmp_path / "loop.npz", "--json").json
    assert told["frames"] >= 12
