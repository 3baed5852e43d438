"""`cajole reroute` on small nets: agreement with the library, scenes and files, and messages."""

from __future__ import annotations

import numpy as np
import pytest

import cajole as cj
from cajole.direct.rerouting import ImageSection, build_image_goals
from cajole.mesh import box_tets, grid_triangles, write_mesh
from cajole.scenes.reroute_scenes import RerouteScene

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
    assert told["goals"][0]["likeness"]["shape"] == pytest.approx(result.report.goals[0].similarity.shape_distance)
    assert told["limit_N"] == 2.0
    assert told["outputs"] == [str(target)]


def test_what_a_scene_asks_for_identity(cajole, monkeypatch):
    """How near is near enough is the scene's, unless it is said."""
    motion = pilot()
    goal = cj.Goal(CORNER, 24, motion.positions[24, CORNER] + (0, 0.02, 0.05), 12)
    scene = RerouteScene("cloth", "Cloth", "", net(), motion, (goal,), reroute_options={"within": 3e-4, "limit": 2.0})
    monkeypatch.setattr("cajole.cli.reroute.load_reroute_scene", lambda name, progress=None: scene)
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
    assert told["goals"][0]["offset_m"] == pytest.approx(np.linalg.norm(place - (0.7, 0.95, -0.6)))


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
    "method": (("--goal", "8:9:+0,0,1", "--method", "best"), "--method is 'best'"),
    "limit": (("--goal", "8:9:+0,0,1", "--limit", "0"), "--limit (N) is 0.0, but must be positive"),
    "mass": (("--goal", "8:9:+0,0,1", "--mass", "0"), "--mass (kg) is 0.0"),
    "window": (("--goal", "8:9:+0,0,1", "--window", "0"), "the window of goals[0] is 0, but must be at least 1"),
    "every": (("--goal", "8:9:+0,0,1", "--every", "3"), "--every is about images"),
    "align": (("--goal", "8:9:+0,0,1", "--align", "none"), "--align is about images"),
    "twice": (("--goal", "8:9:+0,0,1", "--pilot", "a.npz", "-o", "./a.npz"), "a.npz would be written twice"),
}


@pytest.mark.parametrize("case", BAD)
def test_command_bad_input(cajole, fallen, case):
    words, message = BAD[case]
    ran = cajole("reroute", fallen, *SAID, *words)
    assert ran.code == 1
    assert message in " ".join(ran.err.split())


def test_notes_stand_beside_those_of_other_commands_identity(cajole, fallen):
    """A goal so early that its window is cut: the note is the run's, in the frame that all documents share."""
    words = ("reroute", fallen, *SAID, "--goal", "@1,1,0:5:+0.005,0,0")
    told = cajole(*words, "--json").json
    (goal,) = told["goals"]
    assert "notes" not in goal
    (note,) = told["notes"]
    assert (
        note
        == f"vertex {goal['vertex']} at frame 5: its window would begin before frame 0 and is cut from 16 to 5 frames"
    )
    assert "window would begin before frame 0" in " ".join(cajole(*words).out.split())


def test_what_is_read_is_never_replaced_bad_input(cajole, fallen):
    kept = fallen.read_bytes()
    ran = cajole("reroute", fallen, *SAID, "--goal", "8:9:+0,0,1", "-o", fallen)
    assert (ran.code, "is what is read, and would be lost" in " ".join(ran.err.split())) == (1, True)
    assert fallen.read_bytes() == kept


def test_doubled_vertices_are_told_identity(cajole, tmp_path):
    """Triangles that share places and no vertices are a net in pieces: said, since it falls apart."""
    sheet = grid_triangles(2, 2)
    apart = cj.MeshTri(sheet.vertices[sheet.triangles].reshape(-1, 3), np.arange(24).reshape(-1, 3))
    write_mesh(apart, tmp_path / "apart.obj")
    words = (tmp_path / "apart.obj", "--fixed", "0,1", "--frames", 12, "--goal", "5:8:+0,0,0.01", "--json")
    assert "15 vertices repeat the position of another vertex" in cajole("reroute", *words).json["notes"]
    still = np.repeat(apart.vertices[None], 2, axis=0)
    cj.Animation(apart, still, fps=24).write(tmp_path / "apart.npz")
    told = cajole("enrich", tmp_path / "apart.npz", "--subdivide", 1, "--json").json["notes"]
    assert told == ["15 vertices repeat the position of another vertex"]


def test_no_frames_at_all_bad_input(cajole, towel):
    ran = cajole("reroute", towel, "--goal", "8:9:+0,0,1", "--frames", 0)
    assert (ran.code, "frames is 0, but must be at least 1" in ran.err) == (1, True)


def test_scene_bad_input(cajole):
    assert "is no scene to reroute (cloth" in " ".join(cajole("reroute", "clotj").err.split())
    assert "--mass is the scene's own" in cajole("reroute", "cloth", "--mass", 3).err


def test_cloth_scene_identity(cajole):
    """A scene brings its goals, and its limit unless another is given."""
    told = cajole("reroute", "cloth", "--limit", 0.6, "--json").json
    assert (told["vertices"], told["reached"], told["limit_N"]) == (400, 2, 0.6)
    assert told["peak_N"] <= 0.6
    assert [goal["vertex"] for goal in told["goals"]] == [380, 399]


MIDDLE = (0.15, -0.05, 0.35)
SECTION = f"{','.join(map(str, MIDDLE))}:0,1,0:0,0,1:0.005"


@pytest.fixture
def block(tmp_path):
    """A block of tets, which is to grow from 0.30 x 0.30 to 0.30 x 0.33 m across."""
    path = tmp_path / "block.vtk"
    write_mesh(box_tets(6, 6, 6, size=(0.3, 0.3, 0.3)), path)
    return path


def scanned(half):
    rows, columns = np.indices((80, 80))
    return 255.0 * ((abs(rows - 40) < 30) & (abs(columns - 40) < half))


@pytest.fixture
def scans(tmp_path):
    folder = tmp_path / "scan"
    folder.mkdir()
    np.save(folder / "scan2.npy", scanned(33))
    pil = pytest.importorskip("PIL.Image")
    pil.fromarray(scanned(33).astype(np.uint8)).save(folder / "scan10.png")
    return folder


STILL = ("--fixed", "x<1%", "--mass", 0.3, "--damping", 0.2, "--frames", 30, "--gravity", 0)
LIES = ("--section", SECTION, "--align", "none")


def test_images_agreement(cajole, block, scans, tmp_path):
    """Files of a folder, in the order of their numbers, ask for what the library asks for from the same arrays."""
    pytest.importorskip("skimage")
    target = tmp_path / "grown.npz"
    words = ("--images", scans, "--at", "14,28", *LIES, "--within", 1e-3)
    told = cajole("reroute", block, *STILL, *words, "-o", target, "--json").json
    assert told["reached"] == len(told["goals"]) > 10
    assert {goal["frame"] for goal in told["goals"]} == {14, 28}
    grown = cj.read_animation(target)
    assert 0.31 < np.ptp(grown.positions[28, :, 1]) < 0.34
    mesh = box_tets(6, 6, 6, size=(0.3, 0.3, 0.3))
    still = cj.Animation(mesh, np.repeat(mesh.vertices[None], 30, axis=0), fps=60)
    section = ImageSection(MIDDLE, (0, 1, 0), (0, 0, 1), 0.005)
    asked = build_image_goals(still, [scanned(33)] * 2, [14, 28], section, align="none").goals
    assert [goal["vertex"] for goal in told["goals"]] == [goal.vertex for goal in asked]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--images", "nowhere/*.png", "--at", "3", *LIES), "no .png or .npy file is there"),
        (("--images", "SCANS", "--at", "14", *LIES), "--at has 1 frames, but there are 2 images"),
        (("--images", "SCANS", *LIES), "--at must be the frame of each"),
        (("--images", "SCANS", "--at", "14,28"), "--section is missing: say where the images lie"),
        (("--images", "SCANS", "--at", "14,28", "--section", "0,0,0:1,0,0:0,0,1"), "ORIGIN:RIGHT:UP:PIXEL"),
        (("--at", "14,28"), "--at is about images"),
        (("--images", "SCANS", "--at", "28,14", *LIES), "--at[1] is 14, which is not after the one before"),
        (("--images", "SCANS", "--at", "14,28", *LIES, "--every", "0"), "--every is 0, but must be between 1 and"),
    ],
)
def test_images_bad_input(cajole, block, scans, words, message):
    given = [scans if word == "SCANS" else word for word in words]
    ran = cajole("reroute", block, *STILL, *given)
    assert ran.code == 1
    assert message in " ".join(ran.err.split())


def test_spoilt_images_bad_input(cajole, block, scans):
    """What is wrong is told with the name of the file: another size, no contour, colours, no image at all."""
    pil = pytest.importorskip("PIL.Image")
    pytest.importorskip("skimage")

    def told():
        ran = cajole("reroute", block, *STILL, "--images", scans, "--at", "14,28", *LIES)
        assert ran.code == 1
        return " ".join(ran.err.split())

    np.save(scans / "scan2.npy", scanned(33)[:70])
    assert "scan10.png has 80 x 80 pixels, but scan2.npy 70 x 80" in told()
    np.save(scans / "scan2.npy", np.zeros((80, 80)))
    assert "scan2.npy has no contour" in told()
    np.save(scans / "scan2.npy", scanned(33))
    pil.fromarray(np.zeros((80, 80, 3), dtype=np.uint8)).save(scans / "scan10.png")
    assert "scan10.png has colours (RGB)" in told()
    (scans / "scan10.png").write_bytes(b"no picture")
    assert "scan10.png cannot be read as an image" in told()
    np.save(scans / "scan2.npy", np.array([{}], dtype=object), allow_pickle=True)
    assert "scan2.npy cannot be read as an image" in told()
