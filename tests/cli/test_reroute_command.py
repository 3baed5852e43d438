"""`cajole reroute` on small nets: agreement with the library, scenes and files, and messages."""

from __future__ import annotations

import numpy as np
import pytest

import cajole as cj
from cajole.mesh import grid_triangles, write_mesh
from cajole.scenes.rerouting import RerouteScene

CELLS = 6
CORNER = (CELLS + 1) ** 2 - 1
SPRINGS = {"stiffness": 300.0, "damping": 0.05, "clamp": 0.02}
SAID = ("--stiffness", 300, "--mass", 0.2, "--fixed", "x<1%")


def net():
    mesh = grid_triangles(CELLS, CELLS)
    return cj.BodySprings.from_mesh(mesh, mass=0.2 / len(mesh.vertices), fixed=np.arange(CELLS + 1), **SPRINGS)


def pilot(frames=30):
    return cj.simulate(net(), frames, 1 / 60, gravity=9.81, integrator="bdf2")


@pytest.fixture
def towel(tmp_path):
    path = tmp_path / "towel.obj"
    write_mesh(net().mesh, path)
    return path


@pytest.fixture
def fallen(tmp_path):
    path = tmp_path / "fallen.npz"
    pilot().write(path)
    return path


@pytest.mark.parametrize("method", ["pattern", "least-force"])
def test_animation_agreement(cajole, fallen, tmp_path, method):
    """The file holds what the library makes of an animation; numbers are those of its report."""
    target = tmp_path / "out.npz"
    words = ("--goal", f"{CORNER}:24:+0,0.02,0.05", "--method", method, "--limit", 2, "--window", 12)
    told = cajole("reroute", fallen, *SAID, *words, "-o", target, "--json").json
    motion = cj.read_animation(fallen)
    goal = cj.Goal(CORNER, 24, motion.positions[24, CORNER] + (0, 0.02, 0.05), 12)
    result = cj.reroute(net(), motion, goal, method, limit=2.0)
    np.testing.assert_allclose(cj.read_animation(target).positions, result.animation.positions, atol=1e-12)
    assert told["reached"] == 1
    assert told["effort_N2s"] == pytest.approx(result.report.effort)
    assert told["goals"][0]["start"] == 12
    assert told["goals"][0]["likeness"]["shape"] == pytest.approx(result.report.goals[0].likeness.shape)
    assert told["limit_N"] == 2.0
    assert told["outputs"] == [str(target)]


def test_what_a_scene_asks_for_identity(cajole, monkeypatch):
    """How near is near enough is the scene's, unless it is said."""
    motion = pilot()
    goal = cj.Goal(CORNER, 24, motion.positions[24, CORNER] + (0, 0.02, 0.05), 12)
    scene = RerouteScene("cloth", "Cloth", "", net(), motion, (goal,), settings={"within": 3e-4, "limit": 2.0})
    monkeypatch.setattr("cajole.cli.rerouted.reroute_scene", lambda name, progress=None: scene)
    own = cajole("reroute", "cloth", "--json").json
    assert (own["within_m"], own["limit_N"]) == (3e-4, 2.0)
    assert cajole("reroute", "cloth", "--within", 0.02, "--json").json["within_m"] == 0.02


def test_mesh_falls_agreement(cajole, towel, tmp_path):
    """A mesh is simulated first; its pilot is written where asked for, and is the library's."""
    first = tmp_path / "first.npz"
    words = ("--frames", 30, "--goal", f"{CORNER}:24:+0,0,0.05")
    ran = cajole("reroute", towel, *SAID, *words, "--pilot", first)
    assert ran.code == 0
    assert "1 of 1 goals within 0.01 m, by pattern" in " ".join(ran.out.split())
    np.testing.assert_allclose(cj.read_animation(first).positions, pilot().positions, atol=1e-9)


def test_absolute_place_and_nearest_vertex_agreement(cajole, fallen):
    told = cajole("reroute", fallen, *SAID, "--goal", "@1,1,0:24:0.7,0.95,-0.6", "--json").json
    assert told["goals"][0]["vertex"] == CORNER
    place = pilot().positions[24, CORNER]
    assert told["goals"][0]["offset"] == pytest.approx(np.linalg.norm(place - (0.7, 0.95, -0.6)))


def test_comparison_is_told_identity(cajole, fallen):
    ran = cajole("reroute", fallen, *SAID, "--goal", f"{CORNER}:20:+0,0,0.03", "--compare")
    text = " ".join(ran.out.split())
    for name in ("by pattern", "by least-force", "by paper"):
        assert name in text


BAD = {
    "no goal": ((), "nothing is led: say where a vertex shall be with --goal"),
    "form": (("--goal", "5:+0,0,1"), "goal '5:+0,0,1' is not understood; write WHERE:FRAME:X,Y,Z"),
    "many": (("--goal", "8,9:5:0,0,1"), "2 vertices cannot all be in one place"),
    "late": (("--goal", "8:99:+0,0,1"), "the pilot has 30 frames"),
    "fixed": (("--goal", "1:9:+0,0,1"), "which is fixed"),
    "run": (("--goal", "8:9:+0,0,1", "--frames", "9"), "--frames is for a mesh"),
    "method": (("--goal", "8:9:+0,0,1", "--method", "best"), "method is 'best'"),
}


@pytest.mark.parametrize("case", BAD)
def test_command_bad_input(cajole, fallen, case):
    words, message = BAD[case]
    ran = cajole("reroute", fallen, *SAID, *words)
    assert ran.code == 1
    assert message in " ".join(ran.err.split())


def test_scene_bad_input(cajole):
    assert "is no scene to reroute (cloth" in " ".join(cajole("reroute", "clotj").err.split())
    assert "--mass is the scene's own" in cajole("reroute", "cloth", "--mass", 3).err


def test_cloth_scene_identity(cajole):
    """A scene brings its goals, and its limit unless another is given."""
    told = cajole("reroute", "cloth", "--limit", 0.6, "--json").json
    assert (told["vertices"], told["reached"], told["limit_N"]) == (400, 2, 0.6)
    assert told["peak_N"] <= 0.6
    assert [goal["vertex"] for goal in told["goals"]] == [380, 399]
