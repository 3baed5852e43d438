"""OBJ sequences: every way of naming one, what a sequence must be, and that two are never mixed."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from animation_cases import FPS, FRAMES

from cajole.animation import Animation, obj_sequence, read_animation
from cajole.errors import Cancelled, FileError, InputError
from cajole.mesh import read_mesh, write_mesh

TEN_DIGITS = 1e-9


def numbers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("target", "first"),
    [
        ("x_####.obj", "x_0003.obj"),
        ("x_%04d.obj", "x_0003.obj"),
        ("x_%d.obj", "x_3.obj"),
        ("x##.obj", "x03.obj"),
        ("x1####.obj", "x10003.obj"),
        ("x_0100.obj", "x_0100_0003.obj"),
        ("x1.obj", "x1_0003.obj"),
        ("x.obj", "x_0003.obj"),
        ("folder/x_####.obj", "folder/x_0003.obj"),
    ],
)
def test_every_name_of_a_sequence_identity(tmp_path: Path, cloth: Animation, target: str, first: str) -> None:
    cloth.write(tmp_path / target)
    assert (tmp_path / first).exists()
    again = read_animation(tmp_path / target)
    np.testing.assert_allclose(again.positions, cloth.positions, rtol=TEN_DIGITS, atol=TEN_DIGITS)
    np.testing.assert_array_equal(again.mesh.elements, cloth.mesh.elements)
    assert again.fps == FPS
    assert again.start_frame == 3
    if target != "x1####.obj":  # only the pattern knows that the 1 is part of the name
        np.testing.assert_array_equal(read_animation(tmp_path / first).positions, again.positions)


def test_frames_agree_with_the_mesh_reader_agreement(tmp_path: Path, cloth: Animation) -> None:
    cloth.write(tmp_path / "x.obj")
    again = read_animation(tmp_path / "x.obj")
    for frame in range(FRAMES):
        mesh = read_mesh(tmp_path / f"x_{frame + 3:04d}.obj")
        np.testing.assert_array_equal(mesh.vertices, again.positions[frame])
        np.testing.assert_array_equal(mesh.elements, again.mesh.elements)


def test_natural_order_identity(tmp_path: Path, cloth: Animation) -> None:
    for frame in range(12):
        write_mesh(cloth.mesh.moved(cloth.mesh.vertices + frame), tmp_path / f"x{frame}.obj")
    again = read_animation(tmp_path)
    np.testing.assert_allclose(again.positions[:, 0, 0] - again.positions[0, 0, 0], np.arange(12))


def test_tets_as_surface_or_whole_identity(tmp_path: Path, tets: Animation) -> None:
    kept = tets.mesh.surface_vertices  # type: ignore[union-attr]
    tets.write(tmp_path / "s.obj")
    again = read_animation(tmp_path / "s.obj")
    np.testing.assert_allclose(again.positions, tets.positions[:, kept], atol=TEN_DIGITS)
    tets.write(tmp_path / "a.obj", vertices="all")
    again = read_animation(tmp_path / "a.obj", mesh=tets.mesh)
    assert again.mesh is tets.mesh
    np.testing.assert_allclose(again.positions, tets.positions, atol=TEN_DIGITS)


def test_skin_goes_with_its_colours_identity(tmp_path: Path, full: Animation) -> None:
    replace(full.skinned().trimmed(0, 2), start_frame=1).write(tmp_path / "x.obj")
    lines = (tmp_path / "x_0001.obj").read_text().splitlines()
    vertex = next(line for line in lines if line.startswith("v ")).split()
    assert full.skin is not None
    np.testing.assert_allclose(np.array(vertex[4:], dtype=float), full.skin.colors[0], atol=1e-3)
    assert read_animation(tmp_path / "x_0001.obj").n == len(full.skin.colors)


def test_one_file_is_one_frame_identity(tmp_path: Path, cloth: Animation) -> None:
    write_mesh(cloth.mesh, tmp_path / "rest.obj")
    again = read_animation(tmp_path / "rest.obj")
    assert again.frames == 1
    np.testing.assert_array_equal(again.positions[0], cloth.mesh.vertices)
    write_mesh(cloth.mesh, tmp_path / "rest_0012.obj")
    assert read_animation(tmp_path / "rest_0012.obj").start_frame == 12


def test_flattened_frames_are_kept_identity(tmp_path: Path, cloth: Animation) -> None:
    flat = np.array(cloth.positions)
    flat[4] = 0.0  # no triangle has an area here, and the frame is a frame all the same
    cloth.moved(flat).write(tmp_path / "x.obj")
    assert not read_animation(tmp_path / "x.obj").positions[4].any()


def test_faces_written_otherwise_are_the_same_identity(tmp_path: Path, cloth: Animation) -> None:
    replace(cloth.trimmed(0, 2), start_frame=0).write(tmp_path / "x.obj")
    path = tmp_path / "x_0001.obj"
    lines = path.read_text().splitlines()
    path.write_text("\n".join(_with_texture(line) for line in lines))
    assert read_animation(tmp_path).frames == 2
    path.write_text("\n".join(_backwards(line, cloth.n) for line in lines))
    assert read_animation(tmp_path).frames == 2


def _with_texture(line: str) -> str:
    words = line.split()
    return " ".join(["f", *(f"{word}/1/1" for word in words[1:])]) if words[0] == "f" else line


def _backwards(line: str, n: int) -> str:
    words = line.split()
    return " ".join(["f", *(str(int(word) - n - 1) for word in words[1:])]) if words[0] == "f" else line


def test_an_older_longer_sequence_goes_identity(tmp_path: Path, cloth: Animation) -> None:
    (tmp_path / "x_notes.obj").write_text("keep")
    cloth.resampled(2 * FPS).write(tmp_path / "x_####.obj")
    cloth.trimmed(0, 2).write(tmp_path / "x_####.obj")
    assert numbers(tmp_path) == ["x_0003.obj", "x_0004.obj", "x_notes.obj"]
    # a number in the path is part of the name
    cloth.trimmed(0, 1).write(tmp_path / "x_0004.obj")
    assert numbers(tmp_path) == ["x_0003.obj", "x_0004.obj", "x_0004_0003.obj", "x_notes.obj"]


def test_others_files_stay_identity(tmp_path: Path, cloth: Animation) -> None:
    for name in ("shot1.obj", "shot3.obj", "shot5.obj"):
        write_mesh(cloth.mesh, tmp_path / name)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    cloth.write(tmp_path / "shot1.obj")
    assert {path: path.read_bytes() for path in before} == before
    assert numbers(tmp_path)[1:-2] == [f"shot1_{frame:04d}.obj" for frame in range(3, 3 + FRAMES)]
    assert read_animation(tmp_path / "shot1_####.obj").frames == FRAMES
    # a name that has no file of its own is what was written there
    (tmp_path / "shot1.obj").unlink()
    assert read_animation(tmp_path / "shot1.obj").frames == FRAMES


@pytest.mark.parametrize("foreign", ["shot03.obj", "shot3.obj", "shot9999.obj"])
def test_files_of_others_in_the_way_bad_input(tmp_path: Path, cloth: Animation, foreign: str) -> None:
    cloth.trimmed(1, 3).write(tmp_path / "shot##.obj")
    write_mesh(cloth.mesh, tmp_path / foreign)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(FileError, match=rf"{foreign} is in the way of shot##\.obj, and is no frame that Cajole wrote"):
        cloth.write(tmp_path / "shot##.obj")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("broken", range(1, 2 * FRAMES, 3))
def test_a_failing_move_brings_the_old_back_identity(
    tmp_path: Path, cloth: Animation, monkeypatch: pytest.MonkeyPatch, broken: int
) -> None:
    cloth.write(tmp_path / "x.obj")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    real, calls = os.replace, []

    def failing(source: Path, target: Path) -> None:
        calls.append(source)
        if len(calls) == broken:
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(obj_sequence.os, "replace", failing)
    with pytest.raises(FileError, match="No space left"):
        cloth.moved(cloth.positions + 1).write(tmp_path / "x.obj")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_cancelled_midway_leaves_the_old_identity(tmp_path: Path, cloth: Animation) -> None:
    cloth.write(tmp_path / "x.obj")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(Cancelled):
        cloth.moved(cloth.positions + 1).write(tmp_path / "x.obj", progress=lambda fraction, text: fraction < 0.5)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_sequences_that_are_none_bad_input(tmp_path: Path, cloth: Animation) -> None:
    with pytest.raises(FileError, match="must hold one sequence, but has no numbered"):
        read_animation(tmp_path)
    with pytest.raises(FileError, match="no such file and no numbered"):
        read_animation(tmp_path / "x_####.obj")
    with pytest.raises(FileError, match="no such file and no numbered"):
        read_animation(tmp_path / "x.obj")
    cloth.write(tmp_path / "x.obj")
    cloth.write(tmp_path / "y.obj")
    with pytest.raises(FileError, match=r"x_####\.obj and y_####\.obj; name one"):
        read_animation(tmp_path)
    (tmp_path / "x_0005.obj").unlink()
    with pytest.raises(FileError, match="no frame between 4 and 6"):
        read_animation(tmp_path / "x.obj")
    (tmp_path / "y_3.obj").write_text("v 0 0 0")
    with pytest.raises(FileError, match="are both frame 3"):
        read_animation(tmp_path / "y_####.obj")


def test_other_topology_bad_input(tmp_path: Path, cloth: Animation, tets: Animation) -> None:
    replace(cloth.trimmed(0, 3), start_frame=0).write(tmp_path / "x.obj")
    path = tmp_path / "x_0001.obj"
    good = path.read_text()
    path.write_text(good.replace("\nf ", "\n# f ", 1))
    with pytest.raises(FileError, match=r"x_0001\.obj has other faces than x_0000\.obj"):
        read_animation(tmp_path)
    path.write_text(good + "v 0 0 0\n")
    with pytest.raises(FileError, match=rf"x_0001\.obj has {cloth.n + 1} vertices, but the mesh has {cloth.n}"):
        read_animation(tmp_path)
    path.write_text(good.replace("v ", "v a ", 1))
    with pytest.raises(FileError, match=r"x_0001\.obj: a vertex is not three numbers"):
        read_animation(tmp_path)
    path.write_text("")
    with pytest.raises(FileError, match=r"x_0001\.obj has no vertices"):
        read_animation(tmp_path)


def test_names_bad_input(tmp_path: Path, cloth: Animation) -> None:
    with pytest.raises(FileError, match="right before"):
        cloth.write(tmp_path / "x_####_end.obj")
    with pytest.raises(FileError, match="too long"):
        cloth.write(tmp_path / "x_%0999999999d.obj")
    early = Animation(cloth.mesh, cloth.positions, start_frame=-5, name="../../up")
    with pytest.raises(InputError, match="start_frame is -5"):
        early.write(tmp_path / "x.obj")
    for target in ("in", "in.v2", ""):
        (tmp_path / "in.v2").mkdir(exist_ok=True)
        with pytest.raises(FileError, match=r"has no suffix that names a format: write .*\.npz.*name_####\.obj for a"):
            cloth.write(tmp_path / target)
    assert numbers(tmp_path) == ["in.v2"]
