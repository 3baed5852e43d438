"""`cajole keyframe` on a small mesh file: agreement with the library, keys of every kind, and stopping early."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

import cajole as cj
from cajole.cli.keyframe import catch_interrupt
from cajole.mesh import box_tets, write_mesh


def words(beam, *more):
    return ("keyframe", beam, "--fixed", "x<1%", "--modes", 3, *more)


def test_keyframe_agreement(cajole, beam, body, bent, tmp_path):
    np.savez(tmp_path / "up.npz", displacement=bent)
    target = tmp_path / "motion.npz"
    told = cajole(
        *words(beam, "--key", f"10={tmp_path / 'up.npz'}", "--frames", 13, "--effort", 1e-3, "-o", target, "--json")
    ).json
    expected = cj.keyframe(body, {10: bent}, frames=13, effort=1e-3, modes=3)
    assert cj.read_animation(target).positions == pytest.approx(expected.animation.positions, abs=1e-6)
    assert told["dt_s"] == pytest.approx(expected.dt)
    assert told["converged"]
    assert told["keys"][0] == {"frame": 10, "error_sizes": pytest.approx(expected.report.errors[0], rel=1e-3)}


def test_kinds_of_files_agreement(cajole, beam, body, bent, tmp_path):
    np.savez(tmp_path / "pose.npz", displacement=bent)
    still = np.stack([body.vertices, body.vertices + bent, body.vertices])
    cj.Animation(body.mesh, still).write(tmp_path / "motion.npz")
    write_mesh(cj.MeshTet(body.vertices + bent, body.mesh.tets), tmp_path / "pose.veg")
    costs = [
        cajole(*words(beam, "--key", f"8={tmp_path / file}", "--dt", 0.01, "--json")).json["cost"]
        for file in ("pose.npz", "motion.npz#1", "pose.veg")
    ]
    assert costs == pytest.approx([costs[0]] * 3, rel=1e-5)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("up.npz", "60=pose.npz"),
        ("x=up.npz", "60=pose.npz"),
        ("5=missing.npz", "missing.npz"),
        ("5=notes.txt", "notes.txt"),
        ("5=broken.npz", "broken.npz"),
        ("5=three.npz", "vertices"),
        ("5=three.npz#7", "frame 7"),
    ],
)
def test_keys_bad_input(cajole, beam, tmp_path, monkeypatch, key, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("nothing")
    (tmp_path / "broken.npz").write_text("nothing")
    other = cj.MeshTet([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], [(0, 1, 2, 3)])
    cj.Animation(other, other.vertices[None]).write(tmp_path / "three.npz")
    run = cajole(*words(beam, "--key", key))
    assert run.code == 1
    assert message in run.err.replace("\n", "")


def test_frame_given_twice_bad_input(cajole, beam, bent, tmp_path):
    np.savez(tmp_path / "up.npz", displacement=bent)
    key = f"5={tmp_path / 'up.npz'}"
    run = cajole(*words(beam, "--key", key, "--key", key))
    assert (run.code, "already" in run.err) == (1, True)


def test_first_interrupt_is_noted_and_the_second_counts_identity():
    with pytest.raises(KeyboardInterrupt), catch_interrupt() as stopped:  # noqa: PT012
        assert not stopped()
        os.kill(os.getpid(), signal.SIGINT)
        assert stopped()
        os.kill(os.getpid(), signal.SIGINT)


def test_interrupted_search_keeps_its_best_claim(cajole, beam, bent, tmp_path, monkeypatch):
    import contextlib

    @contextlib.contextmanager
    def pressed():
        yield lambda: True

    monkeypatch.setattr("cajole.cli.keyframe.catch_interrupt", pressed)
    np.savez(tmp_path / "up.npz", displacement=bent)
    target = tmp_path / "motion.npz"
    told = cajole(*words(beam, "--key", f"10={tmp_path / 'up.npz'}", "-o", target, "--json")).json
    assert not told["converged"]
    assert "stopped" in told["message"]
    assert cj.read_animation(target).frames == 11


def test_skin_is_fitted_agreement(cajole, tmp_path):
    skin = box_tets(6, 1, 1, size=(1.0, 0.2, 0.2)).surface
    write_mesh(skin, tmp_path / "bar.obj")
    bent = skin.vertices + np.outer(0.1 * skin.vertices[:, 0] ** 2, (0, 0, 1))
    write_mesh(skin.moved(bent), tmp_path / "bent.obj")
    target = tmp_path / "motion.npz"
    words = ("keyframe", tmp_path / "bar.obj", "--cells", 6, "--fixed", "x<1%", "--modes", 2, "--effort", 1e-5)
    told = cajole(*words, "--key", f"8={tmp_path / 'bent.obj'}", "-o", target, "--json").json
    moved = cj.read_animation(target)
    assert told["converged"]
    assert len(moved.mesh.vertices) != len(skin.vertices)
    tip = np.argmax(moved.mesh.vertices[:, 0])
    assert moved.displacements[8, tip, 2] == pytest.approx(0.1, abs=0.02)


def test_table_for_people_identity(cajole, beam, body, bent, tmp_path):
    """What the body is made of and held by, and the frame rate: what was forgotten shows."""
    np.savez(tmp_path / "up.npz", displacement=bent)
    told = cajole(*words(beam, "--key", f"10={tmp_path / 'up.npz'}", "--dt", "0.02", "--young", 2e6))
    assert told.code == 0
    assert f"{body.total_mass:.4g} kg, Young's modulus 2e+06 Pa, {len(body.fixed)} vertices held" in told.out
    assert "0.02 s apart (50 frames/s)" in told.out
