"""`cajole info` and `cajole convert`."""

from __future__ import annotations

import pytest

from cajole.animation import read_animation
from cajole.mesh import read_mesh


def test_info_agreement(cajole, wave):
    told = cajole("info", wave, "--json").json
    assert (told["frames"], told["fps"], told["vertices"], told["tets"]) == (3, 24.0, 12, 12)
    assert told["largest_displacement"] == pytest.approx(0.2)
    assert "3 at 24 frames/s" in cajole("info", wave).out


def test_convert_animation_agreement(cajole, wave, tmp_path):
    target = tmp_path / "wave.pc2"
    told = cajole("convert", wave, target, "--json").json
    assert told == {"written": str(target), "frames": 3, "vertices": 12, "fps": 24.0}
    back = read_animation(target, mesh=read_animation(wave).mesh)
    assert back.positions == pytest.approx(read_animation(wave).positions, abs=1e-6)


@pytest.mark.parametrize("suffix", [".vtu", ".obj", ".npz"])
def test_convert_mesh_agreement(cajole, beam, tmp_path, suffix):
    target = tmp_path / f"other{suffix}"
    assert cajole("convert", beam, target, "--json").json["written"] == str(target)
    found = read_animation(target).mesh if suffix == ".npz" else read_mesh(target)
    assert found.vertices == pytest.approx(read_mesh(beam).vertices)


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
