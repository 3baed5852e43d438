"""`cajole simulate` let go from a pose, and bumping into things."""

from __future__ import annotations

import numpy as np
import pytest

import cajole as cj
from cajole.dynamics import Ground, ObstacleMesh
from cajole.mesh import box_tets, write_mesh


def test_let_go_from_a_pose_agreement(cajole, beam, body, bent, swing, tmp_path):
    np.savez(tmp_path / "up.npz", displacement=bent)
    words = ("simulate", beam, "--fixed", "x<1%", "--frames", 5, "--dt", 0.02, "-o", tmp_path / "out.npz", "--start")
    expected = cj.simulate(body, 5, 0.02, start=bent)
    assert cajole(*words, tmp_path / "up.npz").code == 0
    np.testing.assert_allclose(cj.read_animation(tmp_path / "out.npz").positions, expected.positions, atol=1e-12)
    assert cajole(*words, f"{swing}#2").code == 0
    first = cj.read_animation(tmp_path / "out.npz").positions[0]
    np.testing.assert_allclose(first, cj.read_animation(swing).positions[2], atol=1e-9)


def test_falls_on_the_ground_and_on_a_mesh_agreement(cajole, beam, tmp_path):
    mesh = cj.read_mesh(beam)
    high = cj.MeshTet(mesh.vertices - mesh.vertices.min(axis=0) + (0, 0, 0.02), mesh.tets)
    write_mesh(high, tmp_path / "high.veg")
    step = box_tets(1, 1, 1, size=(0.3, 0.4, 0.015)).surface
    write_mesh(step, tmp_path / "step.obj")
    words = ("simulate", tmp_path / "high.veg", "--fixed", "none", "--frames", 8, "--dt", 0.02, "--gravity", 9.81)
    obstacles = ("--obstacle", "ground", "--obstacle", tmp_path / "step.obj")
    told = cajole(*words, *obstacles, "-o", tmp_path / "fall.npz", "--json")
    assert told.code == 0, told.err
    fell = cj.read_animation(tmp_path / "fall.npz")
    free = cj.simulate(_free(high), 8, 0.02, gravity=9.81).positions
    met = cj.simulate(
        _free(high), 8, 0.02, gravity=9.81, obstacles=[Ground(), ObstacleMesh(cj.read_mesh(tmp_path / "step.obj"))]
    )
    np.testing.assert_allclose(fell.positions, met.positions, atol=1e-9)
    assert fell.positions[-1, :, 2].min() > free[-1, :, 2].min() + 0.01


def _free(mesh: cj.MeshTet) -> cj.BodySolid:
    return cj.BodySolid(mesh, cj.MaterialStVK(), damping=(0.2, 0.002))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--obstacle", "wall"), 'must be "ground" or a mesh file'),
        (("--start", "none.npz"), "none.npz"),
        (("--start", "notes.txt"), "a key is an animation"),
    ],
)
def test_around_bad_input(cajole, beam, words, message):
    run = cajole("simulate", beam, "--frames", 3, *words)
    assert run.code == 1
    assert message in run.err.replace("\n", " ")
