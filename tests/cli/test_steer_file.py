"""`cajole steer CONTROLLER.npz`: what --save kept runs again."""

from __future__ import annotations

import numpy as np
import pytest

import cajole as cj

PUSH = ("--push", "x>90%: 0,0,0.2 weights for 0.06 from 0.04")
HELD = ("--fixed", "x<1%", "--modes", 4)


@pytest.fixture
def kept(cajole, beam, swing, tmp_path):
    """A controller of the beam's swing, in a file."""
    path = tmp_path / "controller.npz"
    assert cajole("steer", beam, *HELD, "--motion", swing, "--save", path).code == 0
    return path


def test_from_the_file_as_from_the_body_agreement(cajole, beam, swing, kept, tmp_path):
    words = (*PUSH, "--wind", 0.3, "--seed", 5, "--json")
    there = cajole("steer", beam, *HELD, "--motion", swing, *words, "-o", tmp_path / "there.npz").json
    here = cajole("steer", kept, *words, "-o", tmp_path / "here.npz").json
    for take in ("controlled", "uncontrolled"):
        for name in ("error_rms_sizes", "error_final_sizes", "force_rms_weights"):
            assert here[take][name] == pytest.approx(there[take][name], rel=1e-9, abs=1e-15), (take, name)
    first, second = (cj.read_animation(tmp_path / f"{name}.npz").positions for name in ("there", "here"))
    np.testing.assert_allclose(second, first, atol=1e-9)
    assert here["subject"] == "controller"
    assert "vertices in" in cajole("steer", kept, *PUSH).out


def test_dials_that_are_given_are_turned_identity(cajole, kept):
    soft, stiff = (cajole("steer", kept, *PUSH, "--effort", effort, "--json").json for effort in (1.0, 1e-5))
    assert (soft["effort"], stiff["effort"]) == (1.0, 1e-5)
    assert stiff["controlled"]["error_rms_sizes"] < soft["controlled"]["error_rms_sizes"]


def test_final_may_be_turned_off_identity(cajole, kept, tmp_path):
    """Zero is a value that is given, not one that is left out."""
    controller = cj.load_controller(kept).retuned(final=5.0)
    controller.save(tmp_path / "ends.npz")
    own, none = (cajole("steer", tmp_path / "ends.npz", *PUSH, *words, "--json").json for words in ((), ("--final", 0)))
    plain = cajole("steer", kept, *PUSH, "--json").json
    assert none["controlled"]["error_rms_sizes"] == plain["controlled"]["error_rms_sizes"]
    assert own["controlled"]["error_rms_sizes"] != plain["controlled"]["error_rms_sizes"]


@pytest.mark.parametrize(
    "words", [("--young", 5e4), ("--fixed", "0"), ("--frames", 9), ("--samples", 3), ("--modes", 4)]
)
def test_what_is_made_already_bad_input(cajole, kept, words):
    run = cajole("steer", kept, *words)
    assert run.code == 1
    assert f"{words[0]}: the controller in" in run.err
    assert "is made already" in run.err


def test_files_that_are_no_controllers_bad_input(cajole, swing, kept):
    assert "cannot load a controller" in cajole("steer", swing, *PUSH).err
    assert "selects nothing known" in cajole("steer", kept, "--push", "head: 0,0,1").err
