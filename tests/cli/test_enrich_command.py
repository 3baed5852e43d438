"""`cajole enrich` on a small box: agreement with the library, every way to say regions, files, and messages."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest
from enrich_command_cases import CORNERS, FAST, SIDES, lid, same, shell

import cajole as cj
from cajole.body import LoadPressure, LoadWind
from cajole.body.undeformed_shapes import build_accordion, build_crinkle, build_ridges
from cajole.dynamics import Ground
from cajole.mesh import box_tets, grid_triangles, subdivide, write_mesh


@pytest.fixture
def guide():
    return lid()


@pytest.fixture
def rough(guide, tmp_path):
    path = tmp_path / "rough.npz"
    guide.write(path)
    return path


def test_subdivided_agreement(cajole, rough, guide, tmp_path):
    """The usual case: the file holds what the library makes, in the guide's own time; the report is its report."""
    target = tmp_path / "out.npz"
    told = cajole("enrich", rough, "--subdivide", 2, "--gravity", 9.81, *FAST, "-o", target, "--json").json
    fine, regions = cj.regions_subdivided(guide.mesh, 2)
    result = cj.enrich(guide, shell(fine), regions, dt=1 / 60, gravity=9.81)
    found = same(target, result)
    assert (found.start_frame, found.name, found.fps) == (1001, "lid", 30)
    assert told["residual_sizes"] == result.report.residual < 1e-10
    assert told["gentleness_rms_weights"] == pytest.approx(result.report.mean_gentleness, rel=1e-12)
    assert told["gentleness_largest_weights"] == pytest.approx(result.report.gentleness.max(), rel=1e-12)
    assert told["mass_kg"] == pytest.approx(6 * 2e-3 * 300)
    assert (told["guide_vertices"], told["vertices"], told["regions"]) == (8, len(fine.vertices), 8)
    assert (told["frames"], told["steps"], told["outputs"]) == (4, 6, [str(target)])


def test_plain_report_claim(cajole, rough):
    run = cajole("enrich", rough, "--subdivide", 2, *FAST, "--frames", 2)
    assert run.code == 0
    assert "8 regions" in run.out
    for word in ("|g| at most", "weights (rms)", "no vertices held", "nothing (select a file with --output)"):
        assert word in run.out.replace("\n", " ")
    assert "stay bent" not in run.out


def test_every_option_agreement(cajole, rough, guide, tmp_path):
    """Material, damping, plasticity, held vertices, wind with gusts, the shape at rest and the steps all arrive."""
    target = tmp_path / "out.npz"
    words = (
        "--young", 3e4, "--poisson", 0.2, "--thickness", 3e-3, "--density", 400, "--damping", "0.2,0.002",
        "--plastic", "0.5,0.1", "--fixed", "0,1,2,3", "--wind", "3,0,1", "--gusts", "1,0.4", "--seed", 3,
        "--undeformed", "crinkle:0.01,0.5", "--newton", 20, "--frames", 5, "--gravity", "0,-1,0",
    )  # fmt: skip
    told = cajole(
        "enrich", rough, "--subdivide", 2, "--clusters", 6, "--mu", 0.8, *words, *FAST, "-o", target, "--json"
    )
    fine, P = subdivide(guide.mesh, levels=2)
    followed = cj.Animation(fine, np.stack([P @ frame for frame in guide.positions]), guide.fps)
    regions = cj.regions_clustered(followed, 6, mu=0.8, seed=3)
    cloth = cj.BodyShell(
        fine, cj.MaterialShell(young=3e4, poisson=0.2, thickness=3e-3, density=400), damping=(0.2, 0.002),
        fixed=range(4), plasticity=cj.body.Plasticity(0.5, 0.1),
        undeformed=build_crinkle(fine, amplitude=0.01, scale=0.5, seed=3),
    )  # fmt: skip
    wind = LoadWind(fine, (3, 0, 1), gust_speed=1, gust_size=0.4, seed=3)
    result = cj.enrich(followed, cloth, regions, dt=1 / 60, newton=20, gravity=(0, -1, 0), forces=wind, frames=5)
    same(target, result)
    yielded = int((result.cloth.plastic_angles != 0).sum())
    assert told.json["yielded_edges"] == yielded > 0
    assert (told.json["fixed"], told.json["regions"]) == (len(cloth.fixed), 6)
    assert (
        f"{yielded} of " in cajole("enrich", rough, "--subdivide", 2, "--clusters", 6, "--mu", 0.8, *words, *FAST).out
    )


@pytest.mark.parametrize(
    ("text", "make"),
    [
        ("accordion:0.02,0.5", lambda mesh: build_accordion(mesh, amplitude=0.02, wavelength=0.5)),
        (
            "accordion: 0.02, 0.5 along 0,0,1",
            lambda mesh: build_accordion(mesh, amplitude=0.02, wavelength=0.5, direction=(0, 0, 1)),
        ),
        ("ridges:-0.02,0.9,0.6", lambda mesh: build_ridges(mesh, height=-0.02, spacing=0.9, width=0.6)),
        ("crinkle:0.02,0.5", lambda mesh: build_crinkle(mesh, amplitude=0.02, scale=0.5, seed=0)),
    ],
)
def test_undeformed_agreement(text, make):
    from cajole.cli.enrich import parse_rest_shape

    fine = subdivide(cj.MeshTri(CORNERS, SIDES), levels=3)[0]
    assert np.array_equal(parse_rest_shape(text)(fine), make(fine))


def test_pressure_and_left_alone_agreement(cajole, rough, guide, tmp_path):
    """As the library does it; nothing leads the shell, and the air blows it up."""
    target = tmp_path / "out.npz"
    words = ("enrich", rough, "--subdivide", 1, *FAST, "--pressure", 3.0, "--left-alone", "-o", target, "--json")
    told = cajole(*words).json
    fine, regions = cj.regions_subdivided(guide.mesh, 1)
    cloth = shell(fine)
    result = cj.enrich(guide, cloth, regions, dt=1 / 60, tracked=False, forces=LoadPressure(fine, 3.0))
    same(target, result)
    assert told["regions"] == 0
    assert "nothing, without tracking: its means" in " ".join(cajole(*words[:-1]).out.split())


def test_notes_are_told_in_options_claim(cajole, guide, tmp_path):
    """A guide of one frame: what to do about it is said as the command says it."""
    guide.moved(guide.positions[:1]).write(tmp_path / "one.npz")
    told = cajole("enrich", tmp_path / "one.npz", "--subdivide", 1, "--json").json
    assert told["steps"] == 0
    assert "there is one frame only, so that nothing moves; --frames asks for more" in told["notes"]


def test_tets_are_followed_by_their_surface_claim(cajole, tmp_path):
    """A simulated solid may be a guide: the shell is its surface, and inner vertices do not matter."""
    solid = box_tets(2, 2, 2)
    cj.Animation(solid, np.repeat(solid.vertices[None], 3, axis=0), fps=30).write(tmp_path / "solid.npz")
    target = tmp_path / "out.npz"
    told = cajole("enrich", tmp_path / "solid.npz", "--subdivide", 1, *FAST, "-o", target, "--json").json
    assert (told["guide_vertices"], told["regions"]) == (26, 26)
    found = cj.read_animation(target)
    assert isinstance(found.mesh, cj.MeshTri)
    assert found.positions == pytest.approx(np.repeat(found.mesh.vertices[None], 3, axis=0), abs=1e-9)


def test_collisions_agreement(cajole, tmp_path):
    """A sheet over a mesh, a moving one and the ground: the same as the library's, and the account is told."""
    pytest.importorskip("ipctk")
    sheet = grid_triangles(2, 2)
    flat = sheet.moved(sheet.vertices + (0, 0, 0.3))
    sinking = flat.vertices + np.linspace(0, -0.25, 4)[:, None, None] * (0, 0, 1)
    guide = cj.Animation(flat, sinking, fps=30)
    block = grid_triangles(1, 1)
    block = block.moved(0.3 * block.vertices + (0.3, 0.3, 0.15))
    lift = grid_triangles(1, 1)
    lift = lift.moved(0.2 * lift.vertices + (0, 0, 0.02))
    moving = cj.Animation(lift, lift.vertices + np.linspace(0, 0.1, 4)[:, None, None] * (0, 0, 1), fps=30)
    guide.write(tmp_path / "sheet.npz")
    write_mesh(block, tmp_path / "block.ply")
    moving.write(tmp_path / "lift.npz")
    target = tmp_path / "out.npz"
    among = ("--collider", "ground:-0.01", "--collider", tmp_path / "block.ply", "--collider", tmp_path / "lift.npz")
    words = ("enrich", tmp_path / "sheet.npz", "--subdivide", 2, *FAST, "--collisions", "fast", *among)
    told = cajole(*words, "--friction", 0.1, "--distance", 0.01, "-o", target, "--json").json
    fine, regions = cj.regions_subdivided(flat, 2)
    result = cj.enrich(
        guide, shell(fine), regions, dt=1 / 60, collisions="fast", friction=0.1, distance=0.01,
        colliders=[Ground(-0.01), cj.read_mesh(tmp_path / "block.ply"), moving],
    )  # fmt: skip
    same(target, result)
    assert told["collisions"] == asdict(result.report.collisions)
    assert told["collisions"]["contacts"] > 0
    assert told["collisions"]["intersections"] == 0
    assert "0 frames with intersections" in " ".join(cajole(*words).out.split())


def test_failed_step_leaves_no_file_bad_input(cajole, guide, tmp_path):
    """Where the guide asks for what cannot be, the frame and what to relax are told, and nothing is written."""
    torn = np.array(guide.positions)
    torn[2:, 4:] *= 1e70
    guide.moved(torn).write(tmp_path / "torn.npz")
    target = tmp_path / "out.npz"
    run = cajole("enrich", tmp_path / "torn.npz", "--subdivide", 1, *FAST, "-o", target, "--json")
    assert run.code == 1
    assert "frame 1" in run.json["error"]["message"]
    assert "smaller --dt" in run.json["error"]["message"]
    assert not target.exists()


def test_held_regions_are_told_in_options_bad_input(guide):
    """What the library says of a region that cannot move names the option that holds it."""
    from cajole.cli.parsers import translate_errors

    fine, regions = cj.regions_subdivided(guide.mesh, 1)
    with pytest.raises(cj.InputError, match=r"lies on fixed.*or choose a smaller --fixed$"), translate_errors():
        cj.enrich(guide, shell(fine, fixed=range(25)), regions)


SUB = ("--subdivide", 1)
FINE = ("--fine", "fine.obj", "--paint-guide", "labels.npy", "--paint-fine")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "which averages shall the shell share"),
        (("--subdivide", 0), "--subdivide is 0"),
        (("--clusters", 0), "--clusters is 0"),
        (("--clusters", 99), "--clusters is 99"),
        (("--clusters", 3, "--mu", 2), "--mu is 2"),
        ((*SUB, "--mu", 0.5), "--mu is for patches"),
        ((*SUB, "--paint-on", "vertices"), "name it with --fine"),
        (("--clusters", 3, "--seed", -1), "--seed is -1"),
        (("--fine", "fine.obj"), "--fine needs paint"),
        (("--paint-guide", "labels.npy"), "name it with --fine"),
        ((*FINE, "labels.npy", *SUB), "leave out --subdivide"),
        ((*FINE, "labels.npy"), "--paint-fine has 8 labels, but the mesh has 26"),
        ((*FINE, "none.npy"), "--paint-fine paints nothing: all 26 labels are -1; paint"),
        (("--clusters", 12), "ask for fewer (--clusters, labels)"),
        (
            (*SUB, "--collisions", "fast", "--collider", "ground"),
            "below the ground (9 such); raise the guide a little, or lower the ground: --collider ground:",
        ),
        ((*FINE, "labels.csv"), "labels are read from .npy and .txt"),
        ((*FINE, "missing.npy"), "cannot read labels from missing.npy"),
        ((*FINE, "broken.npy"), "cannot read labels from broken.npy"),
        ((*FINE, "real.npy"), "float64 of shape (8,)"),
        ((*FINE, "real.txt"), "line 2: a label is a whole number or a word, not '1.5'"),
        ((*FINE, "labels.npy", "--paint-on", "edges"), "'vertices', 'triangles'"),
        (("--fine", "solid.veg", *FINE[2:], "labels.npy"), "holds tets"),
        ((*SUB, "--dt", 0), "--dt is 0"),
        ((*SUB, "--dt", "x"), "'x' is not a finite number"),
        ((*SUB, "--newton", 0), "--newton is 0"),
        ((*SUB, "--frames", 0), "--frames is 0"),
        ((*SUB, "--young", -1), "--young (Young's modulus, Pa) is -1"),
        ((*SUB, "--thickness", 0), "--thickness (m) is 0"),
        ((*SUB, "--damping", "1"), "two numbers"),
        ((*SUB, "--gravity", "1,2"), "three numbers"),
        ((*SUB, "--wind", "6"), "--wind is '6', but must be three numbers"),
        ((*SUB, "--gusts", "1,2,3"), "must be GUST_SPEED[,GUST_SIZE]"),
        ((*SUB, "--gusts", "-1"), "the wind's gust_speed (m/s) is -1"),
        ((*SUB, "--plastic", ""), "'' is not a finite number"),
        ((*SUB, "--plastic=-1"), "--plastic, its curvature (1/m), is -1"),
        ((*SUB, "--undeformed", "zigzag"), "accordion:AMPLITUDE,WAVELENGTH"),
        ((*SUB, "--undeformed", "ridges:1,2"), "must be HEIGHT,SPACING,WIDTH"),
        ((*SUB, "--undeformed", "crinkle:0.1,1 along 1,0,0"), "has no direction"),
        ((*SUB, "--undeformed", "accordion:0.1,0.01"), "subdivide the mesh"),
        ((*SUB, "--fixed", "x>5"), "holds no vertex"),
        ((*SUB, "--fixed", "all"), "fixed"),
        ((*SUB, "--collisions", "slow"), "'fast', 'exact'"),
        ((*SUB, "--collider", "ground"), "say --collisions fast"),
        ((*SUB, "--friction", 0.1), "say --collisions fast"),
        ((*SUB, "--collisions", "fast", "--collider", "sea"), 'must be "ground", "ground:HEIGHT", a mesh file'),
        ((*SUB, "--collisions", "fast", "--collider", "ground:low"), "--collider ground, its height (m)"),
        ((*SUB, "--pressure", "nan"), "--pressure (Pa)"),
        ((*SUB, "--collisions", "fast", "--collider", "missing.obj"), "missing.obj does not exist"),
        ((*SUB, "--collisions", "fast", "--friction", -1), "--friction is -1"),
        ((*SUB, "--collisions", "fast", "--distance", 0), "--distance (m) is 0"),
        ((*SUB, "-o", "a.xyz"), "cannot write .xyz"),
        ((*SUB, "-o", "a.npz", "-o", "a.npz"), "a.npz would be written twice"),
        ((*SUB, "-o", "rough.npz"), "rough.npz is what is read, and would be lost"),
        ((*SUB, "--dt", "1e-9"), "--dt is 1e-09 s, "),
        (("--subdivide", 12), "elements; ask for fewer with --subdivide"),
        ((*SUB, "--damping", "-1,2"), "--damping alpha (1/s) is -1"),
    ],
)
def test_messages_bad_input(cajole, rough, guide, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    write_mesh(subdivide(guide.mesh, levels=1)[0], tmp_path / "fine.obj")
    write_mesh(box_tets(1, 1, 1), tmp_path / "solid.veg")
    np.save(tmp_path / "labels.npy", np.arange(8) // 4)
    np.save(tmp_path / "real.npy", np.arange(8.0))
    np.save(tmp_path / "none.npy", np.full(26, -1))
    (tmp_path / "broken.npy").write_bytes((tmp_path / "labels.npy").read_bytes()[:90])
    (tmp_path / "real.txt").write_text("1\n1.5\n")
    run = cajole("enrich", rough, *words, *(() if "--dt" in words else FAST))
    assert run.code == 1
    assert message in run.err.replace("\n", "")
