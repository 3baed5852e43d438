"""All formats alike: round trips, full disks, garbage, cancelling, options, conversion and summaries."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from animation_cases import FPS, FRAMES, waved
from full_disk import NAMES, contents
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cajole.animation import Animation, convert, describe_file, read_animation
from cajole.errors import Cancelled, FileError, InputError
from cajole.mesh import box_tets, grid_triangles, write_mesh

SINGLE = 2e-7  # coordinates here are below two
NEEDS_MESH = (".pc2", ".mdd")


def options(name: str, animation: Animation) -> dict[str, Any]:
    """What a reader cannot know from the file."""
    known: dict[str, Any] = {"mesh": animation.mesh} if name.endswith(NEEDS_MESH) else {}
    return known | ({"fps": FPS} if name.endswith(".pc2") else {})


@pytest.mark.parametrize("name", NAMES)
def test_triangles_survive_every_format_identity(tmp_path: Path, cloth: Animation, name: str) -> None:
    cloth.write(tmp_path / name)
    again = read_animation(tmp_path / name, **options(name, cloth))
    np.testing.assert_allclose(again.positions, cloth.positions, rtol=0, atol=SINGLE)
    np.testing.assert_array_equal(again.mesh.elements, cloth.mesh.elements)
    assert again.fps == pytest.approx(FPS, rel=1e-6)
    assert (again.frames, again.start_frame) == (FRAMES, 3)


@pytest.mark.parametrize("name", NAMES)
def test_a_flat_start_survives_identity(tmp_path: Path, tets: Animation, name: str) -> None:
    # a first frame in which one triangle has no area is no reason to lose the file
    surface = Animation(tets.mesh.surface, tets.positions)  # type: ignore[union-attr]
    positions = np.array(surface.positions)
    a, b, _ = surface.mesh.elements[0]
    positions[0, a] = positions[0, b]
    surface.moved(positions).write(tmp_path / name)
    assert read_animation(tmp_path / name, **options(name, surface)).frames == FRAMES


@pytest.mark.parametrize("name", [n for n in NAMES if "obj" not in n])
def test_cancelling_leaves_the_old_file_identity(tmp_path: Path, cloth: Animation, name: str) -> None:
    cloth.write(tmp_path / name)
    before = contents(tmp_path)
    heard: list[float] = []
    with pytest.raises(Cancelled):
        cloth.moved(cloth.positions + 1).write(tmp_path / name, progress=lambda f, _: heard.append(f) or len(heard) < 2)
    assert contents(tmp_path) == before
    with pytest.raises(Cancelled):
        read_animation(tmp_path / name, progress=lambda f, _: False, **options(name, cloth))


@pytest.mark.parametrize("name", NAMES)
def test_progress_rises_to_one_identity(tmp_path: Path, cloth: Animation, name: str) -> None:
    cloth = replace(cloth, velocities=cloth.positions)
    heard: list[float] = []
    cloth.write(tmp_path / name, progress=lambda f, _: heard.append(f))
    assert heard == sorted(heard)
    assert heard[-1] == 1.0
    heard.clear()
    read_animation(tmp_path / name, progress=lambda f, _: heard.append(f), **options(name, cloth))
    assert heard == sorted(heard)
    assert heard[-1] == 1.0


def test_a_full_disk_leaves_the_old_files_identity(tmp_path: Path) -> None:
    script = Path(__file__).with_name("full_disk.py")
    done = subprocess.run([sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, check=True)
    outcomes = json.loads(done.stdout)
    assert set(outcomes) == set(NAMES)
    for name, (error, message, unchanged) in outcomes.items():
        assert error == "FileError", (name, error, message)
        assert "File too large" in message, (name, message)
        assert unchanged, name


def sample(folder: Path, name: str) -> tuple[Path, bytes, dict[str, Any]]:
    """A good file of one format, its bytes, and how to read it."""
    mesh = box_tets(1, 1, 1)
    animation = Animation(mesh, waved(mesh.vertices, 2))
    path = folder / name
    if name.endswith(".obj"):
        path = folder / "a.obj"
        write_mesh(mesh.surface, path)
    else:
        animation.write(path)
    return path, path.read_bytes(), options(name, animation)


def outcome(path: Path, data: bytes, known: dict[str, Any]) -> None:
    """Any answer will do but an exception other than FileError, a warning, or a crash."""
    path.write_bytes(data)
    with contextlib.suppress(FileError):
        assert np.isfinite(read_animation(path, **known).positions).all()


# those that are parsed in a child process, a third of a second each, are in tests/fuzz
FUZZED = [name for name in NAMES if not name.endswith((".usdc", ".usda", ".usd", ".glb"))]
slow_fixture = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@pytest.mark.parametrize("name", FUZZED)
@slow_fixture
@given(data=st.binary(max_size=300))
def test_random_bytes_bad_input(tmp_path: Path, name: str, data: bytes) -> None:
    path, _, known = sample(tmp_path, name)
    path.write_bytes(data)
    with pytest.raises(FileError, match=re.escape(path.name)):
        read_animation(path, **known)


@pytest.mark.parametrize("name", FUZZED)
@slow_fixture
@given(share=st.floats(0, 1, exclude_max=True))
def test_cut_off_files_bad_input(tmp_path: Path, name: str, share: float) -> None:
    path, good, known = sample(tmp_path, name)
    outcome(path, good[: int(share * len(good))], known)


@pytest.mark.parametrize("name", FUZZED)
@slow_fixture
@given(flips=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 7)), min_size=1, max_size=4))
def test_flipped_bits_bad_input(tmp_path: Path, name: str, flips: list[tuple[float, int]]) -> None:
    path, good, known = sample(tmp_path, name)
    data = bytearray(good)
    for share, bit in flips:
        data[int(share * len(data))] ^= 1 << bit
    outcome(path, bytes(data), known)


@pytest.mark.parametrize("damage", ["bytes", "cut", "flip", "words"])
def test_damaged_binary_usd_bad_input(tmp_path: Path, damage: str) -> None:
    path, good, known = sample(tmp_path, "a.usdc")
    data = bytearray(good)
    if damage == "flip":
        data[len(data) // 2] ^= 16
    elif damage == "words":
        data[100:] = np.random.default_rng(1).bytes(len(data) - 100)
    changed = {"bytes": b"PXR-USDC" + bytes(range(200)), "cut": good[: len(good) // 2]}.get(damage, bytes(data))
    outcome(path, changed, known)


@pytest.mark.parametrize("name", NAMES)
def test_missing_files_bad_input(tmp_path: Path, cloth: Animation, name: str) -> None:
    with pytest.raises(FileError, match=r"exist|no such file"):
        read_animation(tmp_path / "none" / name, **options(name, cloth))
    (tmp_path / name).mkdir()
    with pytest.raises(FileError):
        read_animation(tmp_path / name, **options(name, cloth))
    if not name.endswith(".obj"):
        with pytest.raises(FileError, match="cannot write"):
            cloth.write(tmp_path / name)
    (tmp_path / "plain").write_text("a file where a folder should be")
    with pytest.raises(FileError, match="cannot write"):
        cloth.write(tmp_path / "plain" / name)


def test_formats_and_options_bad_input(tmp_path: Path, cloth: Animation) -> None:
    with pytest.raises(FileError, match=r"\.abc is not an animation format; known are \.npz \.usd"):
        cloth.write(tmp_path / "a.abc")
    with pytest.raises(FileError, match="is not an animation format"):
        read_animation(tmp_path / "a.abc")
    with pytest.raises(InputError, match="writing NPZ has no option 'every'; it takes single"):
        cloth.write(tmp_path / "a.npz", every=2)
    with pytest.raises(InputError, match="reading MDD has no option 'prim'; it takes scale, up"):
        read_animation(tmp_path / "a.mdd", prim="x")
    with pytest.raises(InputError, match="a path must be"):
        cloth.write(7)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("target", NAMES)
def test_convert_agreement(tmp_path: Path, cloth: Animation, target: str) -> None:
    cloth.write(tmp_path / "from.npz")
    heard: list[float] = []
    returned = convert(tmp_path / "from.npz", tmp_path / target, progress=lambda f, _: heard.append(f))
    np.testing.assert_array_equal(returned.positions, cloth.positions)
    assert heard == sorted(heard)
    again = read_animation(tmp_path / target, **options(target, cloth))
    np.testing.assert_allclose(again.positions, cloth.positions, rtol=0, atol=SINGLE)


def test_convert_passes_everything_on_identity(tmp_path: Path, cloth: Animation) -> None:
    cloth.write(tmp_path / "a.pc2")
    write_mesh(cloth.mesh, tmp_path / "mesh.obj")
    convert(tmp_path / "a.pc2", tmp_path / "b.glb", mesh=tmp_path / "mesh.obj", fps=30, every=2)
    assert read_animation(tmp_path / "b.glb").fps == 30
    with pytest.raises(InputError, match="has no option"):
        convert(tmp_path / "a.pc2", tmp_path / "c.glb", mesh=cloth.mesh, companion=True)
    with pytest.raises(InputError, match="has no option 'prim'"):
        convert(tmp_path / "a.pc2", tmp_path / "c.glb", mesh=cloth.mesh, prim="x")


@pytest.mark.parametrize("name", NAMES)
def test_info_agreement(tmp_path: Path, cloth: Animation, name: str) -> None:
    alone = name.endswith(NEEDS_MESH)
    cloth.write(tmp_path / name, **({"companion": False} if alone else {}))
    known = {"mesh": cloth.mesh} if alone else {}
    found = describe_file(tmp_path / name, **known)
    assert (found.frames, found.vertices, found.faces, found.tets) == (FRAMES, cloth.n, len(cloth.mesh.elements), None)
    np.testing.assert_allclose(found.bounds, cloth.bounds, atol=SINGLE)
    assert found.bytes == sum(len(data) for data in contents(tmp_path).values())
    start = cloth.frame(0) if name.endswith((".glb", ".obj")) else cloth.mesh.vertices
    farthest = np.linalg.norm(cloth.positions - start, axis=2).max()
    assert found.largest_displacement == pytest.approx(farthest, rel=1e-5)
    assert json.loads(json.dumps(found.as_dict()))["frames"] == FRAMES
    assert f"vertices     {cloth.n}\n" in str(found)


def test_info_of_meshes_and_lone_caches_identity(tmp_path: Path, tets: Animation, cloth: Animation) -> None:
    write_mesh(tets.mesh, tmp_path / "a.veg")
    found = describe_file(tmp_path / "a.veg")
    assert (found.format, found.frames, found.fps) == ("VEG mesh", 1, None)
    assert (found.vertices, found.tets) == (tets.n, len(tets.mesh.elements))
    write_mesh(cloth.mesh, tmp_path / "b.obj")
    assert describe_file(tmp_path / "b.obj").format == "OBJ mesh"
    for name in ("c.pc2", "c.mdd"):
        cloth.write(tmp_path / name, companion=False)
        found = describe_file(tmp_path / name)
        assert (found.frames, found.vertices, found.faces) == (FRAMES, cloth.n, None)
        assert "no mesh was found" in str(found)
    (tmp_path / "d.pc2").write_bytes((tmp_path / "c.pc2").read_bytes()[:-1])
    with pytest.raises(FileError, match="is cut short"):
        describe_file(tmp_path / "d.pc2")


@pytest.mark.parametrize("name", ["a.xyz", "a.npz", "a.veg", "a.obj", "folder"])
def test_info_bad_input(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileError):
        describe_file(tmp_path / name)


def test_reading_what_is_being_replaced_identity(tmp_path: Path, cloth: Animation) -> None:
    """A mapped animation can be written over its own file: the old data stay until nobody looks at them."""
    cloth.write(tmp_path / "a.npz")
    mapped = read_animation(tmp_path / "a.npz", mmap=True)
    mapped.moved(mapped.positions + 1).write(tmp_path / "a.npz")
    mapped.write(tmp_path / "b.npz")
    np.testing.assert_array_equal(read_animation(tmp_path / "b.npz").positions, cloth.positions)
    np.testing.assert_array_equal(read_animation(tmp_path / "a.npz").positions, cloth.positions + 1)


def test_public_names_identity(tmp_path: Path) -> None:
    import cajole

    mesh = grid_triangles(1, 1)
    cajole.Animation(mesh, mesh.vertices[None], fps=60).write(tmp_path / "deep" / "folder" / "a.npz")
    assert cajole.read_animation(tmp_path / "deep" / "folder" / "a.npz").frames == 1
    shutil.rmtree(tmp_path / "deep")
