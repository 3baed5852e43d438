"""PC2 and MDD: bytes as the formats are written down, meshes found beside them, headers that lie."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from animation_cases import FPS, FRAMES

from cajole.animation import Animation, read_animation
from cajole.errors import FileError, InputError
from cajole.mesh import MeshTet, grid_triangles, write_mesh
from cajole.parsers.frame_rates import round_frame_rate


def test_pc2_bytes_reference(tmp_path: Path, cloth: Animation) -> None:
    # the layout as 3ds Max documents it, assembled by hand
    cloth.write(tmp_path / "a.pc2")
    head = b"POINTCACHE2\0" + struct.pack("<iiffi", 1, cloth.n, 3.0, 1.0, FRAMES)
    body = b"".join(struct.pack("<3f", *point) for frame in cloth.positions for point in frame)
    assert (tmp_path / "a.pc2").read_bytes() == head + body


def test_mdd_bytes_reference(tmp_path: Path, cloth: Animation) -> None:
    # LightWave's layout, big endian, assembled by hand
    cloth.write(tmp_path / "a.mdd")
    head = struct.pack(">ii", FRAMES, cloth.n) + b"".join(struct.pack(">f", (3 + k) / FPS) for k in range(FRAMES))
    body = b"".join(struct.pack(">3f", *point) for frame in cloth.positions for point in frame)
    assert (tmp_path / "a.mdd").read_bytes() == head + body


@pytest.mark.parametrize("suffix", [".pc2", ".mdd"])
def test_tets_come_back_on_their_mesh_identity(tmp_path: Path, tets: Animation, suffix: str) -> None:
    tets.write(tmp_path / f"a{suffix}")
    again = read_animation(tmp_path / f"a{suffix}", mesh=tets.mesh, fps=FPS)
    np.testing.assert_array_equal(again.positions, tets.positions.astype(np.float32))
    assert again.mesh is tets.mesh
    assert (again.fps, again.start_frame) == (FPS, 3)


@pytest.mark.parametrize("fps", [24, 23.976023976023978, 25, 29.97002997002997, 30, 60, 120, 12.5, 0.5, 240])
def test_mdd_keeps_the_rate_identity(tmp_path: Path, cloth: Animation, fps: float) -> None:
    Animation(cloth.mesh, cloth.positions, fps, start_frame=100).write(tmp_path / "a.mdd")
    again = read_animation(tmp_path / "a.mdd", mesh=cloth.mesh)
    assert again.fps == pytest.approx(fps, rel=1e-5)
    assert again.start_frame == 100


def test_tidy_rates_identity() -> None:
    assert round_frame_rate(59.999998) == 60.0
    assert round_frame_rate(23.97603) == pytest.approx(24000 / 1001, rel=1e-12)
    assert round_frame_rate(12.34) == 12.34


def test_mesh_is_found_beside_identity(tmp_path: Path, tets: Animation, cloth: Animation) -> None:
    tets.write(tmp_path / "a.pc2", companion=True)
    # a surface under the same stem does not distract from the tets that fit
    write_mesh(cloth.mesh, tmp_path / "a.obj")
    again = read_animation(tmp_path / "a.pc2")
    assert isinstance(again.mesh, MeshTet)
    np.testing.assert_array_equal(again.mesh.tets, tets.mesh.elements)
    cloth.write(tmp_path / "b.mdd", companion=True)
    np.testing.assert_array_equal(read_animation(tmp_path / "b.mdd").mesh.elements, cloth.mesh.elements)


@pytest.mark.parametrize("suffix", [".pc2", ".mdd"])
def test_mesh_goes_beside_identity(tmp_path: Path, tets: Animation, cloth: Animation, suffix: str) -> None:
    tets.write(tmp_path / f"a{suffix}")
    again = read_animation(tmp_path / f"a{suffix}")
    np.testing.assert_array_equal(again.mesh.vertices, tets.mesh.vertices)
    np.testing.assert_array_equal(again.mesh.elements, tets.mesh.elements)
    # a mesh that is there is left alone, whichever it is
    write_mesh(grid_triangles(1, 1), tmp_path / "b.ply")
    before = (tmp_path / "b.ply").read_bytes()
    cloth.write(tmp_path / f"b{suffix}")
    assert sorted(path.name for path in tmp_path.glob("b*")) == sorted(["b.ply", f"b{suffix}"])
    assert (tmp_path / "b.ply").read_bytes() == before


def test_surface_and_skin_identity(tmp_path: Path, full: Animation) -> None:
    kept = full.mesh.surface_vertices  # type: ignore[union-attr]
    assert len(kept) < full.n
    full.write(tmp_path / "a.pc2", vertices="surface", companion=True)
    again = read_animation(tmp_path / "a.pc2")
    np.testing.assert_array_equal(again.positions, full.positions[:, kept].astype(np.float32))
    assert again.start_frame == -2
    full.write(tmp_path / "b.pc2", vertices="skin", companion=True)
    np.testing.assert_allclose(read_animation(tmp_path / "b.pc2").positions, full.skinned().positions, atol=1e-6)
    with pytest.raises(InputError, match="vertices is 'half'"):
        full.write(tmp_path / "c.pc2", vertices="half")


def test_pc2_is_mapped_identity(tmp_path: Path, cloth: Animation) -> None:
    cloth.write(tmp_path / "a.pc2")
    again = read_animation(tmp_path / "a.pc2", mesh=cloth.mesh, mmap=True)
    assert isinstance(again.positions, np.memmap)
    np.testing.assert_array_equal(again.positions, cloth.positions.astype(np.float32))
    assert again.frame(0).dtype == np.float64


@pytest.mark.parametrize("suffix", [".pc2", ".mdd"])
def test_without_a_mesh_bad_input(tmp_path: Path, cloth: Animation, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    cloth.write(path, companion=False)
    with pytest.raises(FileError, match=f"moves {cloth.n} points but holds no mesh: pass mesh="):
        read_animation(path)
    wrong = grid_triangles(1, 1)
    write_mesh(wrong, tmp_path / "a.obj")
    with pytest.raises(FileError, match=r"a\.obj has 4, which does not fit"):
        read_animation(path)
    with pytest.raises(FileError, match=f"moves {cloth.n} vertices, but the mesh has 4"):
        read_animation(path, mesh=wrong)
    with pytest.raises(InputError, match="mesh must be"):
        read_animation(path, mesh=7)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (struct.pack("<12siiffi", b"POINTCACHE2\0", 1, 2**31 - 1, 0, 1, 2**31 - 1), "is cut short"),
        (struct.pack("<12siiffi", b"POINTCACHE2\0", 1, 1, 0, 1, 0), "0 frames of 1 points"),
        (struct.pack("<12siiffi", b"POINTCACHE2\0", 1, -1, 0, 1, 1), "1 frames of -1 points"),
        (struct.pack("<12siiffi", b"POINTCACHE2\0", 7, 1, 0, 1, 1), "version 7"),
        (struct.pack("<12siiffi", b"POINTCACHE2\0", 1, 1, float("nan"), 1, 1) + bytes(12), "make no sense"),
        (struct.pack("<12siiffi", b"POINTCACHE2\0", 1, 1, 0, 1, 1) + bytes(13), "longer than it says"),
        (b"POINT", "cut short"),
        (b"", "cut short"),
    ],
)
def test_pc2_lies_bad_input(tmp_path: Path, cloth: Animation, header: bytes, message: str) -> None:
    (tmp_path / "a.pc2").write_bytes(header)
    with pytest.raises(FileError, match=message):
        read_animation(tmp_path / "a.pc2", mesh=cloth.mesh)


def test_mdd_lies_bad_input(tmp_path: Path, cloth: Animation) -> None:
    (tmp_path / "a.mdd").write_bytes(struct.pack(">ii", 2**31 - 1, 2**31 - 1) + bytes(40))
    with pytest.raises(FileError, match="is cut short"):
        read_animation(tmp_path / "a.mdd", mesh=cloth.mesh)


@pytest.mark.parametrize(
    ("times", "message"),
    [([0, 0, 0], "do not rise"), ([0, np.nan, 1], "do not rise"), ([0, 0.1, 0.5], "not evenly spaced")],
)
def test_mdd_times_bad_input(tmp_path: Path, times: list[float], message: str) -> None:
    mesh = grid_triangles(1, 1)
    data = (
        struct.pack(">ii", 3, 4)
        + np.array(times, ">f4").tobytes()
        + np.tile(mesh.vertices, (3, 1, 1)).astype(">f4").tobytes()
    )
    (tmp_path / "a.mdd").write_bytes(data)
    with pytest.raises(FileError, match=message):
        read_animation(tmp_path / "a.mdd", mesh=mesh)
    assert read_animation(tmp_path / "a.mdd", mesh=mesh, fps=25).fps == 25


def test_beyond_single_precision_bad_input(tmp_path: Path, cloth: Animation) -> None:
    huge = np.array(cloth.positions)
    huge[2] *= 1e40
    for name in ("a.pc2", "a.mdd", "a.glb"):
        with pytest.raises(InputError, match="frame 2 has coordinates beyond"):
            cloth.moved(huge).write(tmp_path / name)
        assert not list(tmp_path.iterdir())
