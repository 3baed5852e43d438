"""`cajole info` and `cajole convert`."""

from __future__ import annotations

import numpy as np
import pytest

from cajole.animation import Animation, read_animation
from cajole.body import BodySolid, MaterialStVK
from cajole.direct import build_reference, edit, save_edit, steer
from cajole.dynamics import modes
from cajole.mesh import read_mesh
from cajole.reduction import reduce


def test_info_agreement(cajole, wave):
    told = cajole("info", wave, "--json").json
    assert (told["frames"], told["fps"], told["vertices"], told["tets"]) == (3, 24.0, 12, 12)
    assert told["largest_displacement_m"] == pytest.approx(0.2)
    assert "3 at 24 frames/s" in cajole("info", wave).out


def test_convert_animation_agreement(cajole, wave, tmp_path):
    target = tmp_path / "wave.pc2"
    told = cajole("convert", wave, target, "--json").json
    expected = {"written": str(target), "frames": 3, "vertices": 12, "fps": 24.0, "outputs": [str(target)]}
    assert told == {"command": "convert", "notes": [], **expected}
    back = read_animation(target, mesh=read_animation(wave).mesh)
    assert back.positions == pytest.approx(read_animation(wave).positions, abs=1e-6)


@pytest.mark.parametrize("suffix", [".vtu", ".obj", ".npz"])
def test_convert_mesh_agreement(cajole, beam, tmp_path, suffix):
    target = tmp_path / f"other{suffix}"
    assert cajole("convert", beam, target, "--json").json["written"] == str(target)
    found = read_animation(target).mesh if suffix == ".npz" else read_mesh(target)
    assert found.vertices == pytest.approx(read_mesh(beam).vertices)


def test_convert_turns_what_has_y_up_agreement(cajole, beam, wave, tmp_path):
    """(x, y, z) in centimetres with y up is (x, -z, y) in metres with z up."""
    options = ("--up", "y", "--scale", "0.01")
    assert cajole("convert", beam, tmp_path / "up.vtu", *options).code == 0
    x, y, z = 0.01 * read_mesh(beam).vertices.T
    assert read_mesh(tmp_path / "up.vtu").vertices == pytest.approx(np.column_stack([x, -z, y]))
    cajole("convert", wave, tmp_path / "wave.mdd")
    assert cajole("convert", tmp_path / "wave.mdd", tmp_path / "up.npz", *options).code == 0
    x, y, z = 0.01 * np.moveaxis(read_animation(wave).positions, -1, 0)
    assert read_animation(tmp_path / "up.npz").positions == pytest.approx(np.stack([x, -z, y], axis=-1), abs=1e-8)
    refused = cajole("convert", wave, tmp_path / "no.glb", *options)
    assert refused.code != 0
    assert "option" in refused.err


def test_broken_file_names_line_bad_input(cajole, beam):
    lines = beam.read_text().splitlines()
    lines[4] = "3 0.5 nonsense 0.1"
    beam.write_text("\n".join(lines))
    answer = cajole("info", beam)
    assert answer.code == 1
    assert "beam.veg" in answer.err
    assert "line 5" in answer.err
    assert answer.out == ""


def test_missing_file_as_json_bad_input(cajole, tmp_path):
    answer = cajole("info", tmp_path / "none.veg", "--json")
    assert answer.code == 1
    assert answer.json["error"]["kind"] == "FileError"
    assert "none.veg does not exist" in answer.err


def test_unknown_suffix_bad_input(cajole, wave, tmp_path):
    answer = cajole("convert", wave, tmp_path / "wave.docx")
    assert answer.code == 1
    assert ".docx is not an animation format" in answer.err
    assert not (tmp_path / "wave.docx").exists()


def test_sequence_is_told_agreement(cajole, wave, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = cajole("convert", wave.name, "take2.obj").out
    assert "take2_0000.obj … take2_0002.obj (3 files)" in " ".join(told.split())
    assert read_animation(tmp_path / "take2.obj").frames == 3
    (tmp_path / "other_0007.obj").write_text("v 0 0 0\n")
    answer = cajole("convert", wave, tmp_path / "other.obj")
    assert answer.code == 1
    assert "other_0007.obj is in the way" in answer.err


def test_cache_comes_with_its_mesh_agreement(cajole, wave, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = cajole("convert", wave.name, "cache.pc2").out
    assert "its mesh is cache.veg" in " ".join(told.split())
    assert cajole("convert", tmp_path / "cache.pc2", tmp_path / "back.npz").code == 0
    assert read_animation(tmp_path / "back.npz").mesh.tets.tolist() == read_animation(wave).mesh.tets.tolist()


def test_place_is_looked_at_first_bad_input(cajole, beam, tmp_path, monkeypatch):
    """What cannot be written is refused before anything is computed."""
    monkeypatch.setattr("cajole.cli.bodies.load_scene_body", None)
    (tmp_path / "plain").write_text("a file")
    (tmp_path / "shot_0003.obj").write_text("v 0 0 0\n")
    for target, message in (
        ("plain/a.npz", "part of the path is a file, not a folder"),
        ("folder", "has no suffix that names a format: write folder.npz"),
        ("shot.obj", "shot_0003.obj is in the way of shot_####.obj"),
    ):
        answer = cajole("simulate", beam, "-o", tmp_path / target)
        assert answer.code == 1
        assert message in answer.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["beam.veg", "plain", "shot_0003.obj"]


def test_info_of_other_files_agreement(cajole, beam, wave, tmp_path):
    mesh = read_mesh(beam)
    body = BodySolid(mesh, MaterialStVK(1e5, 0.3, 1e3), fixed=np.flatnonzero(mesh.vertices[:, 0] < 0.01))
    model = reduce(body, modes(body, 3))
    model.save(tmp_path / "model.npz")
    told = cajole("info", tmp_path / "model.npz", "--json").json
    assert (told["format"], told["vertices"], told["basis"]) == ("reduced model", body.vertex_count, 3)

    rest = Animation(mesh, np.tile(mesh.vertices, (6, 1, 1)), fps=50)
    steer(build_reference(model, rest), effort=0.5).save(tmp_path / "back.npz")
    told = cajole("info", tmp_path / "back.npz", "--json").json
    assert (told["format"], told["frames"], told["basis"], told["effort"]) == ("controller", 6, 3, 0.5)
    assert told["fps"] == pytest.approx(50)
    assert "6 frames at 50 frames/s, 0.1 s" in cajole("info", tmp_path / "back.npz").out

    editor = edit(rest, body, modes=3)
    editor.drag(5, 3, mesh.vertices[5] + 0.01)
    save_edit(editor, tmp_path / "nod.json")
    told = cajole("info", tmp_path / "nod.json", "--json").json
    assert (told["format"], told["frames"], told["modes"]) == ("edit", 6, 3)
    assert told["holds"] == [{"vertex": 5, "frame": 3, "other": None}]
    assert "1 places of 1 vertices, in frames 3..3" in cajole("info", tmp_path / "nod.json").out

    (tmp_path / "held.bou").write_text("2,5,3\n")
    assert cajole("info", tmp_path / "held.bou", "--json").json["vertices"] == [1, 2, 4]
    assert "3, numbers 1 to 4 (from 0)" in cajole("info", tmp_path / "held.bou").out


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none.json", "does not exist"),
        ("none.bou", "none.bou"),
        ("none.npz", "none.npz does not exist"),
        ("none", "none does not exist; check the name"),
        ("other.json", "the file is no edit"),
        ("other.npz", "has no array 'positions'; it holds format"),
    ],
)
def test_info_of_other_files_bad_input(cajole, tmp_path, name, message):
    (tmp_path / "other.json").write_text("{}")
    np.savez(tmp_path / "other.npz", format="something else")
    answer = cajole("info", tmp_path / name)
    assert answer.code == 1
    assert message in answer.err
