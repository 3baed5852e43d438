"""`cajole steer` of flows, on coarse copies of the scenes: agreement with the library, what is written, messages."""

from __future__ import annotations

import numpy as np
import pytest

import cajole as cj
from cajole.scenes import flow_scenes
from cajole.storage import read_arrays


@pytest.fixture(scope="module")
def coarse():
    return {
        "swirl": flow_scenes.build_swirl_scene(32, size=24, runs=6),
        "leaves": flow_scenes.build_leaves_scene(32, size=24, runs=6),
    }


@pytest.fixture(autouse=True)
def coarse_scenes(coarse, monkeypatch):
    for name, scene in coarse.items():
        monkeypatch.setattr(flow_scenes, f"build_{name}_scene", lambda progress=None, scene=scene: scene)


def test_leaves_agreement(cajole, coarse, tmp_path):
    told = cajole("steer", "leaves", "--seed", 3, "-o", tmp_path / "s.npz", "-o", tmp_path / "s.png", "--json").json
    run = coarse["leaves"].create_controller().run(coarse["leaves"].build_noise(3))
    assert told["controlled"]["error_largest_cells"] == pytest.approx(run.report.max_error_cells)
    assert told["uncontrolled"]["error_largest_cells"] > 3 * told["controlled"]["error_largest_cells"]
    kept = read_arrays(tmp_path / "s.npz")
    assert np.array_equal(kept["particles"], run.particles)
    assert kept["companions"].shape == (201, 7, 2)
    assert (tmp_path / "s.png").read_bytes().startswith(b"\x89PNG")


def test_swirl_with_a_push_of_ones_own_agreement(cajole, coarse, tmp_path):
    words = ("steer", "swirl", "--push", "1: 0.2,0.1 for 2 from 20", "--effort", 1e-3)
    told = cajole(*words, "-o", tmp_path / "swirl.gif", "--json").json
    assert told["particles"] == 3
    assert told["effort"] == 1e-3
    assert told["controlled"]["error_final_cells"] < told["uncontrolled"]["error_final_cells"]
    assert (tmp_path / "swirl.gif").read_bytes().startswith(b"GIF8")
    assert "with control" in cajole(*words).out


def test_plot_and_controller_agreement(cajole, coarse, tmp_path):
    """What --save keeps runs as the scene's own controller does, to the bit."""
    pytest.importorskip("matplotlib")
    plot, kept = tmp_path / "swirl.svg", tmp_path / "swirl.npz"
    told = cajole("steer", "swirl", "--effort", 1e-3, "--plot", plot, "--save", kept, "--json").json
    assert told["outputs"] == [str(kept), str(plot)]
    text = plot.read_text(encoding="utf-8")
    assert "farthest particle, cells" in text or "<svg" in text
    kicks = coarse["swirl"].build_kicks()
    own, again = coarse["swirl"].create_controller(effort=1e-3).run(kicks), cj.load_flow_controller(kept).run(kicks)
    assert np.array_equal(own.particles, again.particles)
    assert told["controlled"]["error_largest_cells"] == own.report.max_error_cells
    assert np.array_equal(cj.load_controller(kept).run(kicks).particles, own.particles)
    push = ("--push", "1: 0.2,0.1 for 2 from 20")
    file, scene = (
        cajole("steer", source, *push, *more, "--json").json
        for source, more in ((kept, ("-o", tmp_path / "again.png")), ("swirl", ("--effort", 1e-3)))
    )
    assert file["controlled"]["error_largest_cells"] == scene["controlled"]["error_largest_cells"]
    assert cajole("steer", kept, *push, "--effort", 1e-2, "--json").json["effort"] == 1e-2
    about = cajole("info", kept, "--json").json
    assert (about["format"], about["particles"], about["effort"]) == ("controller of a flow", 3, 1e-3)
    assert (about["columns"], about["rows"], about["basis"]) == (32, 32, 24)
    assert "32 × 32 cells" in cajole("info", kept).out
    over = cajole("steer", kept, "-o", kept)
    assert "is what is read, and would be lost" in " ".join(over.err.split())


def test_what_is_lost_is_a_note_claim(cajole):
    """Blown out of their currents in spite of control: the document says so where all notes are."""
    told = cajole("steer", "swirl", "--push", "1: 300,100 for 2 from 20", "--json").json
    lost = told["controlled"]["lost"]
    (note,) = told["notes"]
    assert lost
    assert all(f"particle {which} from frame {frame} on" in note for which, frame in lost.items())
    assert cajole("steer", "swirl", "--push", "1: 0.02,0.01 for 2 from 20", "--json").json["notes"] == []


def test_flow_commands_bad_input(cajole, tmp_path):
    for words, said in (
        (("--push", "somewhere: 1,2"), "of a flow write PARTICLE"),
        (("--push", "7: 1,2"), "the particle is 7"),
        (("--motion", tmp_path / "x.npz"), "--motion: for bodies, not for flows"),
        (("-o", tmp_path / "x.glb"), "a flow is not written as .glb"),
        (("--wind", -1), "--wind is -1"),
        (("--save", tmp_path / "x.json"), "a controller is an .npz file"),
        (("--plot", tmp_path / "x.gif"), "a plot is written as one of"),
        (("--modes", 5), "--modes: for bodies, not for flows; leave it out"),
        (("--substeps", 2, "--components", 3), "--components, --substeps: for bodies, not for flows; leave them out"),
        (("--tets", 5, "--young", 3), "--tets, --young: for bodies, not for flows"),
        (("--up", "y"), "--up: for bodies, not for flows"),
        (("--save", tmp_path / "x.npz", "-o", tmp_path / "x.npz"), "x.npz would be written twice"),
    ):
        failed = cajole("steer", "swirl", *words)
        assert (failed.code, said in " ".join(failed.err.split())) == (1, True), failed.err
