"""`cajole steer` on a small mesh file: agreement with the library, what is written, and messages."""

from __future__ import annotations

import numpy as np
import pytest

import cajole as cj

PUSH = ("--push", "x>99%: 0,0,60 for 0.1 from 0.05")


def words(beam, *more):
    return ("steer", beam, "--fixed", "x<1%", "--modes", 4, *more)


def tip_push(body):
    """The same push as an array over frames of 1/60 s: from 0.05 to 0.15 s, both ends included."""
    tip = np.flatnonzero(body.vertices[:, 0] > 0.99)
    share = body.vertex_masses[tip] / body.vertex_masses[tip].sum()
    force = np.zeros((body.vertex_count, 3))
    force[tip, 2] = 60 * share
    return lambda t: force * (0.049 < t < 0.151)


def at_rest(body, frames):
    return cj.Animation(body.mesh, np.tile(body.vertices, (frames, 1, 1)), fps=60)


def test_rest_is_kept_agreement(cajole, beam, body, tmp_path):
    target = tmp_path / "back.npz"
    told = cajole(*words(beam, *PUSH, "--frames", 31, "--effort", 0.1, "-o", target, "--json")).json
    controller = cj.steer(cj.build_reference(cj.reduce(body, cj.modes(body, 4)), at_rest(body, 31)), effort=0.1)
    run, free = (controller.run(force=tip_push(body), controlled=on) for on in (True, False))
    assert cj.read_animation(target).positions == pytest.approx(run.animation.positions, abs=1e-6)
    assert told["controlled"]["error_largest_sizes"] == pytest.approx(run.report.worst_error)
    assert told["controlled"]["force_largest_weights"] == pytest.approx(run.report.gentleness.max())
    assert told["uncontrolled"]["error_final_sizes"] == pytest.approx(free.report.final_error)
    assert told["uncontrolled"]["force_rms_weights"] == 0
    assert (told["basis"], told["frames"], told["outputs"]) == (4, 31, [str(target)])


def test_uncontrolled_is_written_agreement(cajole, beam, body, tmp_path):
    target = tmp_path / "free.npz"
    assert cajole(*words(beam, *PUSH, "--frames", 21, "--uncontrolled", "-o", target)).code == 0
    controller = cj.steer(cj.build_reference(cj.reduce(body, cj.modes(body, 4)), at_rest(body, 21)))
    free = controller.run(force=tip_push(body), controlled=False)
    assert cj.read_animation(target).positions == pytest.approx(free.animation.positions, abs=1e-6)


def test_motion_is_kept_to_claim(cajole, beam, swing, tmp_path):
    target = tmp_path / "back.npz"
    told = cajole(*words(beam, "--motion", swing, *PUSH, "--effort", 1e-3, "-o", target, "--json")).json
    assert told["dt_s"] == pytest.approx(0.02)
    assert told["outside_basis_sizes"] < 1e-4
    assert told["controlled"]["error_rms_sizes"] < 0.2 * told["uncontrolled"]["error_rms_sizes"]
    off = cj.read_animation(target).positions - cj.read_animation(swing).positions
    assert 0 < np.abs(off).max() < told["uncontrolled"]["error_largest_sizes"]


def test_final_counts_at_the_end_claim(cajole, beam):
    plain, late = (
        cajole(*words(beam, *PUSH, "--frames", 31, "--tracking", 0, "--final", final, "--effort", 1, "--json")).json
        for final in (0.01, 100)
    )
    assert late["controlled"]["error_final_sizes"] < 0.1 * plain["controlled"]["error_final_sizes"]
    assert late["controlled"]["effort"] > plain["controlled"]["effort"]


def test_wind_has_a_seed_identity(cajole, beam):
    take = words(beam, "--wind", 2, "--frames", 11, "--json")
    first, again, other = (cajole(*take, "--seed", seed).json["controlled"] for seed in (1, 1, 2))
    for told in (first, again, other):
        del told["step_seconds"]
    assert first == again
    assert first != other
    assert first["force_largest_weights"] > 0


def test_loops_agreement(cajole, beam, body, tmp_path):
    target = tmp_path / "laps.npz"
    told = cajole(*words(beam, *PUSH, "--frames", 11, "--loops", 3, "-o", target, "--json")).json
    reference = cj.build_reference(cj.reduce(body, cj.modes(body, 4)), at_rest(body, 11), loop=True)
    run = cj.steer(reference).run(force=tip_push(body), loops=3)
    assert cj.read_animation(target).positions == pytest.approx(run.animation.positions, abs=1e-6)
    assert (told["loops"], told["seam_sizes"], run.states.shape[0]) == (3, 0.0, 31)


def test_controller_is_kept_agreement(cajole, beam, body, tmp_path):
    path = tmp_path / "controller.npz"
    told = cajole(*words(beam, *PUSH, "--frames", 21, "--save", path, "--json")).json
    assert told["outputs"] == [str(path)]
    again = cj.load_controller(path).run()
    assert again.states.shape == (21, 4)
    assert np.abs(again.feedback).max() < 1e-9


def test_plot_identity(cajole, beam, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "curves.png"
    assert cajole(*words(beam, *PUSH, "--frames", 11, "--plot", path)).code == 0
    assert path.read_bytes().startswith(b"\x89PNG")


def test_table_for_people_identity(cajole, beam):
    run = cajole(*words(beam, *PUSH, "--frames", 11))
    assert run.code == 0
    for word in ("without control", "with control", "added force", "weights", "nothing (select a file with --output)"):
        assert word in run.out


def test_broken_without_control_is_no_failure_claim(cajole, beam, monkeypatch):
    """What is not written may break: the controlled take is still told of."""
    from cajole.direct import Controller

    plain = Controller.run

    def run(self, *, controlled=True, **options):
        if not controlled:
            raise cj.NotConverged("step 3 does not converge")
        return plain(self, controlled=controlled, **options)

    monkeypatch.setattr(Controller, "run", run)
    told = cajole(*words(beam, *PUSH, "--frames", 11, "--json"))
    assert (told.code, told.json["uncontrolled"]) == (0, None)
    asked = cajole(*words(beam, *PUSH, "--frames", 11, "--uncontrolled"))
    assert (asked.code, "step 3" in asked.err) == (1, True)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--effort", "0"], "effort"),
        (["--tracking", "-1"], "tracking"),
        (["--tracking", "0"], "nothing to come back to"),
        (["--loops", "0"], "loops is 0"),
        (["--modes", "0"], "--modes is 0"),
        (["--frames", "2"], "--frames is 2"),
        (["--dt", "0"], "--dt"),
        (["--wind", "-1"], "--wind"),
        (["--wind", "1", "--seed", "-3"], "--seed is -3"),
        (["--push", "x>99% 0,0,1"], "is not understood; write WHERE"),
        (["--push", "tail: 0,0,1"], "selects nothing known"),
        (["--plot", "curves.docx"], "a plot is written as one of"),
        (["--save", "controller.json"], "a controller is an .npz"),
        (["--output", "x.docx"], "cannot write .docx"),
        (["--motion", "missing.npz"], "missing.npz"),
        (["--motion", "other.npz"], "other.npz has 4 vertices, but beam has 28"),
        (["--motion", "loose.npz"], "but it is held; hold what the motion holds (fixed=, --fixed)"),
        (["--motion", "loose.npz", "--frames", "9"], "--frames and --dt are for the rest shape"),
    ],
)
def test_steer_bad_input(cajole, beam, body, tmp_path, monkeypatch, more, message):
    monkeypatch.chdir(tmp_path)
    other = cj.MeshTet([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], [(0, 1, 2, 3)])
    cj.Animation(other, np.tile(other.vertices, (4, 1, 1))).write(tmp_path / "other.npz")
    drifting = body.vertices + np.arange(4)[:, None, None] * np.array([0, 0, 0.1])
    cj.Animation(body.mesh, drifting).write(tmp_path / "loose.npz")
    run = cajole(*words(beam, *more, "--json"))
    assert run.code == 1
    assert message in run.json["error"]["message"]
    assert {path.name for path in tmp_path.iterdir()} == {"beam.veg", "other.npz", "loose.npz"}


def test_sampled_basis_agreement(cajole, beam, body, swing):
    """The basis of disturbed runs is the library's, whoever simulates them."""
    told = [
        cajole(*words(beam, "--motion", swing, "--samples", 3, *more, "--json")).json
        for more in ((), ("--cluster", "processes:1"))
    ]
    assert told[0]["outside_basis_sizes"] == told[1]["outside_basis_sizes"]
    assert told[0]["controlled"]["error_rms_sizes"] == told[1]["controlled"]["error_rms_sizes"]
    plain = cajole(*words(beam, "--motion", swing, "--json")).json
    assert told[0]["controlled"]["error_rms_sizes"] != plain["controlled"]["error_rms_sizes"]


def test_cluster_without_samples_bad_input(cajole, beam):
    told = cajole(*words(beam, "--cluster", "processes"))
    assert told.code != 0
    assert "say how many with --samples" in told.err


def test_motion_of_another_body_is_told_of_claim(cajole, beam, swing):
    """With a wrong --young the note says so, and a failure blames no push."""
    of_file = cajole(*words(beam, "--motion", swing, "--json")).json["notes"]
    assert of_file == ["the file names no material"]
    *same, note = cajole(*words(beam, "--motion", swing, "--young", 1e10, "--json")).json["notes"]
    assert same == of_file
    assert "was it made with another young, density or damping" in note


def test_substeps_and_components_are_the_librarys_agreement(cajole, beam, body, swing, tmp_path):
    target = tmp_path / "back.npz"
    told = cajole(*words(beam, "--motion", swing, "--substeps", 3, "--components", 2, "-o", target, "--json")).json
    motion = cj.read_animation(swing)
    run = cj.steer(cj.build_reference(body, motion, modes=4, components=2, substeps=3)).run()
    assert (told["substeps"], told["frames"], told["basis"]) == (3, 13, 6)
    assert told["dt_s"] == pytest.approx(0.02)
    assert told["controlled"]["error_rms_sizes"] == pytest.approx(run.report.mean_error, rel=1e-3)
    assert cj.read_animation(target).positions == pytest.approx(run.animation.positions, abs=1e-6)
