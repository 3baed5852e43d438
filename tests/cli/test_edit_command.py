"""`cajole edit` on a small swing: agreement with the library, every way to say what is dragged, files, and messages."""

from __future__ import annotations

import numpy as np
import pytest

import cajole as cj
from cajole.mesh import write_mesh

MODES = ("--modes", 8)


@pytest.fixture
def words(beam, swing):
    return lambda *more: ("edit", swing, "--body", beam, "--fixed", "x<1%", *MODES, *more)


def tip_of(body):
    return int(np.argmax(body.vertices.sum(axis=1)))


def place(point):
    return ",".join(repr(float(x)) for x in point)


def test_drag_agreement(cajole, words, body, motion, tmp_path):
    tip, target = tip_of(body), tmp_path / "out.npz"
    goal = motion.positions[6][tip] + [0, 0.05, 0.02]
    told = cajole(*words("--drag", f"{tip}:6:{place(goal)}", "--ends", "free", "-o", target, "--json")).json
    editor = cj.edit(motion, body, 8, ends="free")
    editor.drag(tip, 6, goal)
    assert cj.read_animation(target).positions == pytest.approx(editor.animation().positions, abs=1e-12)
    error = editor.report.targets[tip, 6]
    assert told["holds"] == [
        {
            "vertex": tip,
            "frame": 6,
            "other": None,
            "error_sizes": error.in_body_sizes,
            "error_share": error.relative,
            "landed": True,
        }
    ]
    assert (told["modes"], told["frames"], told["first_frame"], told["last_frame"]) == (8, 13, 2, 12)
    assert (told["landed"], told["outputs"]) == (True, [str(target)])


def test_ways_to_say_it_agreement(cajole, words, body, motion, tmp_path):
    """A place, an offset, coordinates, a point at rest and a script all mean the same drag."""
    tip, target = tip_of(body), tmp_path / "out.npz"
    (x, y, z), here = (motion.positions[6][tip] + [0, 0.05, 0.0]).tolist(), place(body.vertices[tip] + 0.01)
    (tmp_path / "script.txt").write_text(f"# the tip\n\ndrag '{tip} : 6 : +0,0.05,0'  # aside\n")
    outs = []
    for way in (
        ("--drag", f"{tip}:6:{x!r},{y!r},{z!r}"),
        ("--drag", f"{tip}:6:+0,+0.05,-0"),
        ("--drag", f"{tip}:6:x={x!r},z={z!r},y=+0.05"),
        ("--drag", f"@{here}:6:+0,0.05,0"),
        ("--drag", f"@{tip}:6:+0,0.05,0"),
        ("--script", tmp_path / "script.txt"),
    ):
        assert cajole(*words(*way, "-o", target)).code == 0
        outs.append(cj.read_animation(target).positions)
    for out in outs[1:]:
        assert out == pytest.approx(outs[0], abs=1e-6)
    assert outs[0][6][tip] == pytest.approx([x, y, z], abs=1e-4)


def test_script_in_order_agreement(cajole, words, body, motion, tmp_path):
    """Pins and ties, then the script with two vertices at once and a release, then drags."""
    tip, target = tip_of(body), tmp_path / "out.npz"
    low, middle = tip - 7, int(np.argmin(abs(body.vertices - [0.5, 0, 0]).sum(axis=1)))
    (tmp_path / "script.txt").write_text(
        f"drag {tip}:6:+0,0.04,0 {low}:6:+0,0.04,0\ndrag {middle}:8:+0,0,0.01\nrelease {middle}:8\n"
    )
    done = cajole(
        *words("--script", tmp_path / "script.txt", "--pin", f"{tip}:9:y", "--tie", f"{tip}:{low}:4"),
        *("--drag", f"{tip}:3:z=+0.01", "-o", target, "--json"),
    )
    editor = cj.edit(motion, body, 8)
    editor.pin(tip, 9, directions="y")
    editor.tie(tip, low, 4)
    editor.drag([tip, low], 6, editor.positions(6)[[tip, low]] + [0, 0.04, 0])
    editor.drag(middle, 8, editor.positions(8)[middle] + [0, 0, 0.01])
    editor.release(middle, 8)
    editor.drag(tip, 3, editor.positions(3)[tip] + [0, 0, 0.01], directions="z")
    assert cj.read_animation(target).positions == pytest.approx(editor.animation().positions, abs=1e-9)
    assert [(h["vertex"], h["frame"], h["other"]) for h in done.json["holds"]] == [
        (tip, 9, None), (tip, 4, low), (tip, 6, None), (low, 6, None), (tip, 3, None)
    ]  # fmt: skip


def test_several_vertices_and_plain_report_claim(cajole, words, body):
    run = cajole(*words("--drag", "26,27:6:+0,0.01,0"))
    assert run.code == 0
    assert run.out.count("reached") == 2
    assert "not reached" not in run.out
    assert "nothing (select a file with --output)" in run.out
    middle = cajole(*words("--drag", "@x>40%:6:+0,0.01,0", "--json")).json["holds"]
    assert body.vertices[middle[0]["vertex"], 0] == pytest.approx(2 / 3, abs=0.2)
    assert len(middle) == 1
    flat = cajole(*words("--drag", "x>40%:6:x=0.9"))
    assert flat.code == 0
    assert "not reached" in flat.out
    assert "4 more" in flat.out


def test_settings_agreement(cajole, words, body, motion, tmp_path):
    tip, target = tip_of(body), tmp_path / "out.npz"
    more = ("--energy", "smooth", "--smoothness", 2, "--h", "1/100", "--window", "1:11", "--region", "x>30%")
    cajole(*words(*more, "--damping", "0.1,0.01", "--warp", "additive", "--drag", f"{tip}:6:+0,0.05,0", "-o", target))
    editor = cj.edit(
        motion, body, 8, energy="smooth", smoothness=2, h=0.01, window=(1, 11), damping=(0.1, 0.01), warp="additive",
        region=np.flatnonzero(body.vertices[:, 0] > 0.3),
    )  # fmt: skip
    editor.drag(tip, 6, motion.positions[6][tip] + [0, 0.05, 0])
    assert cj.read_animation(target).positions == pytest.approx(editor.animation().positions, abs=1e-12)


def test_edit_files_agreement(cajole, words, beam, swing, body, motion, tmp_path):
    """An edit that is saved goes on, with other settings too, as if it had never been closed."""
    tip, kept, target = tip_of(body), tmp_path / "edit.json", tmp_path / "out.npz"
    told = cajole(*words("--drag", f"{tip}:6:+0,0.05,0", "--save-edit", kept, "--json")).json
    assert told["outputs"] == [str(kept)]
    same = ("edit", swing, "--body", beam, "--fixed", "x<1%", "--edit", kept)
    again = cajole(*same, "--drag", f"{tip}:9:+0,0,0.03", "--ends", "free", "-o", target, "--json").json
    editor = cj.edit(motion, body, 8)
    editor.drag(tip, 6, motion.positions[6][tip] + [0, 0.05, 0])
    editor.tune(ends="free")
    editor.drag(tip, 9, editor.positions(9)[tip] + [0, 0, 0.03])
    assert cj.read_animation(target).positions == pytest.approx(editor.animation().positions, abs=1e-9)
    assert len(again["holds"]) == 2
    other = cajole("edit", swing, "--body", beam, "--fixed", "x<1%", "--young", 2e6, "--edit", kept)
    assert other.code == 1
    assert "another body" in other.err.replace("\n", " ")
    assert "--modes is in" in cajole(*words("--edit", kept)).err


def test_bodies_claim(cajole, swing, motion, tmp_path):
    """The body that suits, one of the animation's tets; and of a surface a shell, or cells around it."""
    surface = motion.mesh.surface
    used = surface.used_vertex_mask
    skin = cj.MeshTri(surface.vertices[used], (np.cumsum(used) - 1)[surface.triangles])
    cj.Animation(skin, motion.positions[:, used], motion.fps).write(tmp_path / "skin.npz")
    drag = ("--drag", f"{len(skin.vertices) - 1}:6:+0,0.01,0", *MODES, "--json")
    for words in (
        ("edit", swing),
        ("edit", swing, "--body", "solid", "--young", 1e5, "--fixed", "x<1%"),
        ("edit", tmp_path / "skin.npz", "--cells", 6),
        ("edit", tmp_path / "skin.npz", "--body", "around", "--fixed", "x<1%", "--cells", 6),
        ("edit", tmp_path / "skin.npz", "--body", "shell", "--fixed", "x<1%", "--thickness", 0.01),
    ):
        told = cajole(*words, *drag).json
        assert told["landed"], words


def test_fixed_alone_agreement(cajole, swing, motion, body, tmp_path):
    """Without a material the body is the one that `edit` makes, holding what is named; an edit of it goes on."""
    tip, target, kept = tip_of(body), tmp_path / "out.npz", tmp_path / "edit.json"
    words = ("edit", swing, "--fixed", "x<20%", "-o", target)
    assert cajole(*words, "--drag", f"{tip}:6:+0,0.05,0", *MODES, "--save-edit", kept).code == 0
    held = np.flatnonzero(body.vertices[:, 0] < 0.2)
    editor = cj.edit(motion, modes=8, fixed=held)
    editor.drag(tip, 6, motion.positions[6][tip] + [0, 0.05, 0])
    assert cj.read_animation(target).positions == pytest.approx(editor.animation().positions, abs=1e-9)
    assert cajole(*words, "--edit", kept).code == 0
    assert cj.read_animation(target).positions == pytest.approx(editor.animation().positions, abs=1e-9)
    assert "is for another body" in cajole("edit", swing, "--edit", kept).err


def test_contacts_are_kept_claim(cajole, swing, motion, body, tmp_path):
    """Vertices on the ground keep their height while others are dragged, whether the ground is named or a mesh."""
    lifted = motion.positions - motion.positions[..., 2].min()
    cj.Animation(motion.mesh, lifted, motion.fps).write(swing)
    floor = cj.MeshTri([(-2, -2, 0), (2, -2, 0), (2, 2, 0), (-2, 2, 0)], [(0, 1, 2), (0, 2, 3)])
    write_mesh(floor, tmp_path / "floor.obj")
    kept = cj.find_contacts(cj.read_animation(swing), "ground")
    target, middle = tmp_path / "out.npz", int(np.argmin(abs(body.vertices - [0.5, 0, 0.2]).sum(axis=1)))
    for against in ("ground", tmp_path / "floor.obj"):
        drag = ("--drag", f"{middle}:6:+0,0,0.03", "--contacts", against, *MODES)
        told = cajole("edit", swing, "--fixed", "x<1%", *drag, "-o", target, "--json").json
        assert told["contacts"] == len(kept) > 0
        moved = cj.read_animation(target).positions - cj.read_animation(swing).positions
        assert abs(moved[kept.frame, kept.vertex, 2]).max() < 1e-9
        assert abs(moved).max() > 0.02


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ((), "nothing is edited"),
        (("--drag", "3:6"), "7:20:z=0.4"),
        (("--drag", "3:6:0,0"), "three numbers"),
        (("--drag", "3:x:0,0,0"), "'x' is not a frame"),
        (("--drag", "3:99:0,0,0"), "between 0 and 12"),
        (("--drag", "27:0:0,0,0"), "frame 0 stays as it is"),
        (("--drag", "0:6:0,0,0"), "fixed by the body"),
        (("--drag", "999:6:0,0,0"), "outside 0..27"),
        (("--drag", "x>50%:6:0,0,0"), "drag them by an offset"),
        (("--drag", "27:6:w=1"), "must be a coordinate"),
        (("--drag", "27:6:z=1,z=2"), "each axis once"),
        (("--drag", "27:6:0,0,nan"), "not a finite number"),
        (("--pin", "27:6:q"), "some of the letters"),
        (("--tie", "27:27:6"), "tied to itself"),
        (("--tie", "27:6"), "as in 7:3:20"),
        (("--tie", "x>50%:1:6"), "one is needed"),
        (("--script", "missing.txt"), "missing.txt does not exist"),
        (("--script", "odd.txt"), "odd.txt, line 2: the first word is 'lift'"),
        (("--script", "quote.txt"), "quote.txt, line 1: No closing quotation"),
        (("--drag", "27:6:0,0,0", "--window", "3"), "two frames, as in 20:80"),
        (("--drag", "27:6:0,0,0", "--ends", "loose"), "'fixed', 'free'"),
        (("--drag", "27:6:0,0,0", "--contacts", "sea"), '"ground", "self" or a mesh file'),
        (("--drag", "27:6:0,0,0", "--body", "shell"), 'choose "solid"'),
        (("--drag", "27:6:0,0,0", "--thickness", "0.1"), "--body shell"),
        (("--drag", "27:6:0,0,0", "--body", "dinosau"), "neither a scene"),
        (("--drag", "27:6:0,0,0", "--save-edit", "a.npz"), "an edit is a .json file"),
        (("--drag", "27:6:0,0,0", "-o", "a.xyz"), "cannot write .xyz"),
        (("--edit", "missing.json"), "missing.json does not exist"),
    ],
)
def test_messages_bad_input(cajole, swing, tmp_path, monkeypatch, more, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd.txt").write_text("drag 27:6:+0,0,0.1\nlift 27:6\n")
    (tmp_path / "quote.txt").write_text('drag "27:6:+0,0,0.1\n')
    held = () if "--body" in more or "--thickness" in more else ("--fixed", "x<1%")
    modes = () if "--edit" in more else MODES
    run = cajole("edit", swing, *held, *modes, *more)
    assert run.code == 1
    assert message in run.err.replace("\n", "")
