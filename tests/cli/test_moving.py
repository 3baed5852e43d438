"""`cajole simulate`, `pose`, `modes` and `picture` on a small mesh file."""

from __future__ import annotations

import re

import numpy as np
import pytest

import cajole as cj
from cajole.mesh import box_tets, write_mesh


def test_simulate_agreement(cajole, beam, body, tmp_path):
    target = tmp_path / "sag.npz"
    told = cajole(
        "simulate", beam, "--fixed", "x<1%", "--gravity", "9.81", "--frames", 6, "--dt", "1/50", "-o", target, "--json"
    ).json
    expected = cj.simulate(body, 6, 1 / 50, gravity=(0, 0, -9.81))
    assert cj.read_animation(target).positions == pytest.approx(expected.positions, abs=1e-12)
    assert told["largest_displacement_m"] == pytest.approx(expected.largest_displacement)
    assert (told["frames"], told["fps"], told["fixed"], told["outputs"]) == (6, 50.0, 4, [str(target)])


def test_push_agreement(cajole, beam, body, tmp_path):
    words = ("simulate", beam, "--fixed", "x<1%", "--frames", 4, "--dt", "0.02", "--json")
    weights = cajole(*words, "--push", "x>99%: 0,0.5,0 weights for 0.03").json
    newtons = cajole(*words, "--push", f"x>99%: 0,{0.5 * body.total_mass * 9.81!r},0 for 0.03").json
    tip = np.flatnonzero(body.vertices[:, 0] > 0.99)
    share = body.vertex_masses[tip] / body.vertex_masses[tip].sum()
    force = np.zeros((body.vertex_count, 3))
    force[tip, 1] = share * 0.5 * body.total_mass * 9.81
    expected = cj.simulate(body, 4, 0.02, force=lambda t: force * (t < 0.03))
    assert weights["largest_displacement_m"] == pytest.approx(expected.largest_displacement)
    assert newtons["largest_displacement_m"] == pytest.approx(expected.largest_displacement)


def test_material_options_agreement(cajole, beam, body):
    words = ("modes", beam, "--fixed", "x<1%", "--count", 3, "--json")
    plain, stiff = cajole(*words).json, cajole(*words, "--young", "4e6").json
    assert np.array(stiff["frequencies_Hz"]) == pytest.approx(2 * np.array(plain["frequencies_Hz"]))
    assert plain["frequencies_Hz"] == pytest.approx(cj.modes(body, 3).frequencies)


def test_default_modes_of_a_small_body_identity(cajole, tmp_path):
    """One free vertex has three modes."""
    tet = cj.MeshTet([[0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]], [[0, 1, 2, 3]])
    write_mesh(tet, tmp_path / "tet.veg")
    told = cajole("modes", tmp_path / "tet.veg", "--fixed", "x<1%", "--json")
    assert told.code == 0, told.err
    assert len(told.json["frequencies_Hz"]) == 3
    wrong = cajole("modes", tmp_path / "tet.veg", "--fixed", "x<1%", "--mode", 4)
    assert "--mode is 4, but must be between 1 and 3" in wrong.err


def test_mode_animation_identity(cajole, beam, body, tmp_path):
    target = tmp_path / "mode.npz"
    assert cajole("modes", beam, "--fixed", "x<1%", "--count", 2, "--mode", 2, "-o", target).code == 0
    u = cj.read_animation(target).displacements
    shape = cj.modes(body, 2).shape(1)
    assert u[0] == pytest.approx(0.0)
    assert abs((u[12] * shape).sum()) == pytest.approx(np.linalg.norm(u[12]) * np.linalg.norm(shape))


def test_pose_agreement(cajole, beam, body, tmp_path):
    target = tmp_path / "bent.npz"
    told = cajole("pose", beam, "--fixed", "x<1%", "--load", "x>99%: 0,0,-40", "-o", target, "--json").json
    tip = np.flatnonzero(body.vertices[:, 0] > 0.99)
    share = body.vertex_masses[tip] / body.vertex_masses[tip].sum()
    expected = cj.pose(body, {int(v): (0, 0, -40 * s) for v, s in zip(tip, share)})
    assert cj.read_animation(target).displacements[0] == pytest.approx(expected, abs=1e-9)
    assert told["energy_J"] == pytest.approx(body.energy(expected))


def test_pin_identity(cajole, beam, tmp_path):
    target = tmp_path / "held.npz"
    assert cajole("pose", beam, "--fixed", "x<1%", "--pin", "x>99%: 0,0.1,0", "-o", target).code == 0
    u = cj.read_animation(target).displacements[0]
    tip = cj.read_mesh(beam).vertices[:, 0] > 0.99
    assert u[tip] == pytest.approx(np.tile([0, 0.1, 0], (tip.sum(), 1)))


def test_surface_is_filled_identity(cajole, beam, tmp_path):
    surface, target = tmp_path / "beam.obj", tmp_path / "moved.npz"
    cj.write_mesh(cj.read_mesh(beam).surface, surface)
    words = ("--fixed", "x<1%", "--gravity", "9.81", "--frames", 2, "--cells", 5)
    assert cajole("simulate", surface, *words, "-o", target).code == 0
    skin = cj.read_animation(target).skin
    assert skin.mesh.vertices == pytest.approx(cj.read_mesh(surface).vertices)


def test_picture_identity(cajole, beam, tmp_path):
    words = ("--size", "60x40", "--json")
    told = cajole("picture", beam, tmp_path / "beam.png", *words).json
    assert (told["width"], told["height"], told["frames"]) == (60, 40, 1)
    assert told["seconds"] > 0
    assert (tmp_path / "beam.png").stat().st_size > 100


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--fixed", "feet"], "'feet' selects nothing known"),
        (["--fixed", "x>2"], "holds no vertex; the body reaches from"),
        (["--fixed", "0,99"], "outside 0..27"),
        (["--fixed", "all"], "all 28 vertices are fixed"),
        (["--fixed", "missing.bou"], "missing.bou"),
        (["--push", "x>99% 0,0,1"], "is not understood; write WHERE"),
        (["--push", "x>99%: 0,1"], "must be three numbers"),
        (["--push", "none: 0,1,0"], "selects no vertex"),
        (["--push", "x>99%: 0,nan,0"], "is not a finite number"),
        (["--dt", "1/0"], "division by zero"),
        (["--dt", "-0.1"], "cannot be negative"),
        (["--gravity", "1,2"], "must be three numbers"),
        (["--damping", "1"], "must be two numbers"),
        (["--poisson", "0.5"], "poisson is 0.5"),
        (["--young", "nan"], "young"),
        (["--integrator", "verlet"], "must be one of"),
        (["--frames", "0"], "frames is 0"),
        (["--output", "x.docx"], "cannot write .docx"),
        (["--tets", "100"], "tets is for scenes"),
    ],
)
def test_simulate_bad_input(cajole, beam, words, message):
    answer = cajole("simulate", beam, *words, "--json")
    assert answer.code == 1
    assert message in answer.err
    assert message in answer.json["error"]["message"]


def test_unknown_subject_bad_input(cajole):
    answer = cajole("simulate", "dragon")
    assert answer.code == 1
    assert "'dragon' is neither a scene (" in answer.err
    assert "dinosaur" in answer.err


def test_unbalanced_load_bad_input(cajole, beam):
    answer = cajole("pose", beam, "--load", "x>99%: 0,0,-1")
    assert answer.code == 1
    assert "nothing holds this body" in answer.err


def test_wrong_mode_bad_input(cajole, beam):
    assert "--mode is 5, but must be between 1 and 3" in cajole("modes", beam, "--count", 3, "--mode", 5).err


def test_wrong_size_bad_input(cajole, beam, tmp_path):
    assert "as in 960x640" in cajole("picture", beam, tmp_path / "a.png", "--size", "big").err


def test_fps_and_duration_agreement(cajole, beam):
    words = ("simulate", beam, "--fixed", "x<1%", "--gravity", "9.81", "--json")
    told = cajole(*words, "--fps", 50, "--duration", 0.1).json
    same = cajole(*words, "--dt", "0.02", "--frames", 6).json
    keys = ("frames", "fps", "largest_displacement_m")
    assert [told[key] for key in keys] == [same[key] for key in keys]
    for both in (("--dt", "0.1", "--fps", 10), ("--frames", 3, "--duration", 1)):
        assert "give one of them" in cajole(*words, *both).err


def test_scale_up_and_notes(cajole, tmp_path):
    mesh = box_tets(6, 6, 1, size=(1000.0, 1000.0, 5.0))
    write_mesh(mesh.surface, tmp_path / "plate.obj")
    words = ("simulate", tmp_path / "plate.obj", "--frames", 1, "--cells", 6)
    told = cajole(*words, "--json").json["notes"]
    assert "is the mesh in millimetres? its size is" in told[-1]
    assert "times the volume" in told[0]
    assert "thin parts are one cell (1.7e+02 m) thick; raise cells" in told[0]
    small = cajole(*words, "--scale", "0.001", "--up", "y", "--json", "-o", tmp_path / "plate.npz").json["notes"]
    assert len(small) == 1
    assert np.ptp(cj.read_animation(tmp_path / "plate.npz").positions[0], axis=0)[2] > 0.9, "it lies on its side"
    assert "thin parts" in " ".join(cajole(*words).out.split())
    assert "scale and up are for files" in cajole("modes", "beam", "--scale", 2).err


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("simulate", ("--frames", 2)),
        ("keyframe", ("--key", "4=up.npz", "--modes", 2)),
        ("steer", ("--frames", 4, "--modes", 2)),
        ("pose", ()),
        ("modes", ("--count", 2)),
    ],
)
def test_unused_vertices_are_dropped_and_told(cajole, tmp_path, monkeypatch, command, more):
    monkeypatch.chdir(tmp_path)
    mesh = box_tets(2, 1, 1)
    write_mesh(cj.MeshTet(np.vstack([mesh.vertices, [[9.0, 9, 9]]]), mesh.tets), "box.veg")
    up = np.zeros((len(mesh.vertices), 3))
    up[mesh.vertices[:, 0] > 0.9, 2] = 0.01
    np.savez("up.npz", displacement=up)
    told = cajole(command, "box.veg", "--fixed", "x<1%", *more, "--json").json
    assert told["vertices"] == len(mesh.vertices)
    assert "1 vertices that belong to no element were dropped" in told["notes"]


@pytest.mark.parametrize(
    ("words", "target"),
    [
        (("picture", "dragon"), ""),
        (("picture", "dragon"), "a.txt"),
        (("steer", "dragon", "--save"), "c.npz"),
        (("steer", "dragon", "--plot"), "p.png"),
        (("simulate", "dragon", "-o"), "m.npz"),
        (("pose", "dragon", "-o"), "m.obj"),
        (("scenes", "--render"), ""),
    ],
)
def test_a_wrong_place_is_told_before_the_work_bad_input(cajole, tmp_path, words, target):
    """There is no dragon either, but that is found later."""
    (tmp_path / "file").write_text("in the way")
    answer = cajole(*words, tmp_path / "file" / (target or "p.png"))
    assert answer.code == 1
    assert "dragon" not in answer.err
    assert "file" in answer.err
    assert "cannot write" in answer.err or "choose .png" in answer.err


def test_pose_tells_of_tets_inside_out(cajole, beam):
    words = ("pose", beam, "--fixed", "x<1%", "--json")
    assert "inside out" not in str(cajole(*words, "--pin", "x>99%: 0,0,-0.01").json["notes"])
    answer = cajole(*words, "--pin", "x>99%: -0.95,0,0")
    note = answer.json["notes"][-1]
    assert re.match(
        r"\d+ of \d+ tets are inside out; the worst is tet \d+ near \(.*\) m at rest, at -?[\d.e-]+ of", note
    )
    assert "Warning" not in answer.err, "it is told once"
