"""NPZ: everything comes back exactly, large arrays stay on disk, nothing is unpickled."""

from __future__ import annotations

import io
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from animation_cases import FPS

from cajole.animation import Animation, frame_blocks, npz, read_animation
from cajole.errors import FileError
from cajole.mesh import grid_triangles


def test_everything_comes_back_identity(tmp_path: Path, full: Animation) -> None:
    full.write(tmp_path / "a.npz")
    again = read_animation(tmp_path / "a.npz")
    np.testing.assert_array_equal(again.positions, full.positions)
    np.testing.assert_array_equal(again.velocities, full.velocities)  # type: ignore[arg-type]
    np.testing.assert_array_equal(again.mesh.vertices, full.mesh.vertices)
    np.testing.assert_array_equal(again.mesh.elements, full.mesh.elements)
    assert (again.fps, again.start_frame, again.name) == (FPS, -2, "jelly fish")
    assert again.contacts is not None
    assert full.contacts is not None
    for column in ("frame", "vertex", "normal", "kind", "other"):
        np.testing.assert_array_equal(getattr(again.contacts, column), getattr(full.contacts, column))
    assert again.skin is not None
    assert full.skin is not None
    assert again.skin.parts == full.skin.parts
    for column in ("colors", "labels", "gloss"):
        np.testing.assert_array_equal(getattr(again.skin, column), getattr(full.skin, column))
    np.testing.assert_array_equal(again.skinned().positions, full.skinned().positions)


def test_numpy_reads_it_without_pickle_reference(tmp_path: Path, full: Animation) -> None:
    full.write(tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz", allow_pickle=False) as stored:
        np.testing.assert_array_equal(stored["positions"], full.positions)
        np.testing.assert_array_equal(stored["tets"], full.mesh.elements)
        assert float(stored["fps"]) == FPS


def test_writing_twice_gives_the_same_bytes_identity(tmp_path: Path, full: Animation) -> None:
    full.write(tmp_path / "a.npz")
    full.write(tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_positions_lie_aligned_and_are_mapped_identity(tmp_path: Path, full: Animation) -> None:
    full.write(tmp_path / "a.npz")
    again = read_animation(tmp_path / "a.npz", mmap=True)
    for array in (again.positions, again.velocities):
        assert isinstance(array, np.memmap)
        assert array.offset % 64 == 0
        assert array.flags.aligned
        assert not array.flags.writeable
    np.testing.assert_array_equal(again.positions, full.positions)
    np.testing.assert_array_equal(again.velocities, full.velocities)  # type: ignore[arg-type]


def test_large_ones_are_mapped_unasked_identity(
    tmp_path: Path, tets: Animation, monkeypatch: pytest.MonkeyPatch
) -> None:
    tets.write(tmp_path / "a.npz")
    assert not isinstance(read_animation(tmp_path / "a.npz").positions, np.memmap)
    monkeypatch.setattr(npz, "MAX_DOUBLE_PRECISION_BYTES", 1000)
    assert isinstance(read_animation(tmp_path / "a.npz").positions, np.memmap)
    assert not isinstance(read_animation(tmp_path / "a.npz", mmap=False).positions, np.memmap)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("name", ["a.npz", "longer.npz"])
def test_files_of_numpy_itself_reference(tmp_path: Path, cloth: Animation, save, name: str) -> None:
    # np.savez aligns nothing, so the array lies at an odd place; compressed, it cannot be mapped at all
    save(
        tmp_path / name,
        positions=np.asfortranarray(cloth.positions) if name == "longer.npz" else cloth.positions,
        vertices=cloth.mesh.vertices,
        triangles=cloth.mesh.elements,
    )
    for mmap in (True, False, None):
        again = read_animation(tmp_path / name, mmap=mmap)
        np.testing.assert_array_equal(again.positions, cloth.positions)
        assert again.fps == 60.0


def test_single_precision_option_identity(tmp_path: Path, tets: Animation) -> None:
    tets.write(tmp_path / "a.npz", single=True)
    again = read_animation(tmp_path / "a.npz")
    np.testing.assert_array_equal(again.positions, tets.positions.astype(np.float32))


def test_neither_way_needs_the_whole_in_memory_identity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mesh = grid_triangles(20, 20)
    frames = 2000
    monkeypatch.setattr(frame_blocks, "BLOCK_BYTES", 1 << 18)
    shape = (frames, len(mesh.vertices), 3)
    on_disk = np.memmap(tmp_path / "raw", dtype=np.float64, mode="w+", shape=shape)
    on_disk[:] = mesh.vertices
    animation = Animation(mesh, on_disk)
    tracemalloc.start()
    animation.write(tmp_path / "a.npz")
    again = read_animation(tmp_path / "a.npz", mmap=True)
    largest = again.largest_displacement
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert largest == 0.0
    assert peak < on_disk.nbytes / 8


def test_objects_are_never_unpickled_bad_input(tmp_path: Path, cloth: Animation) -> None:
    class Trap:
        def __reduce__(self) -> tuple:
            return (pytest.fail, ("unpickled",))

    positions = np.empty((2, 3), dtype=object)
    positions[0, 0] = Trap()
    np.savez(tmp_path / "a.npz", allow_pickle=True, positions=positions)
    with pytest.raises(FileError, match=r"\.npz: an array of type .* could run code; store numbers"):
        read_animation(tmp_path / "a.npz", mesh=cloth.mesh)


def test_what_is_missing_is_named_bad_input(tmp_path: Path, cloth: Animation) -> None:
    np.savez(tmp_path / "none.npz", velocities=cloth.positions)
    with pytest.raises(FileError, match="no array 'positions'; it holds velocities"):
        read_animation(tmp_path / "none.npz")
    np.savez(tmp_path / "bare.npz", positions=cloth.positions)
    with pytest.raises(FileError, match="holds no mesh"):
        read_animation(tmp_path / "bare.npz")
    assert read_animation(tmp_path / "bare.npz", mesh=cloth.mesh, fps=30).fps == 30
    np.savez(tmp_path / "new.npz", positions=cloth.positions, version=99)
    with pytest.raises(FileError, match="format version 99"):
        read_animation(tmp_path / "new.npz")


def test_bombs_and_lies_bad_input(tmp_path: Path, cloth: Animation) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (10**9, len(cloth.mesh.vertices), 3)}
    )
    with zipfile.ZipFile(tmp_path / "lie.npz", "w") as archive:
        archive.writestr("positions.npy", header.getvalue() + bytes(100))
    for mmap in (True, False):
        with pytest.raises(FileError, match="not the size of its data"):
            read_animation(tmp_path / "lie.npz", mesh=cloth.mesh, mmap=mmap)


def test_headers_that_are_no_python_bad_input(tmp_path: Path, cloth: Animation) -> None:
    """NumPy splits the header of an array into tokens, which fails in a way of its own."""
    cloth.write(tmp_path / "a.npz")
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["positions.npy"] = members["positions.npy"].replace(b"}", b"(", 1)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(FileError, match=r"a\.npz"):
        read_animation(tmp_path / "a.npz")


def test_flipped_bits_in_the_positions_are_noticed_bad_input(tmp_path: Path, tets: Animation) -> None:
    tets.write(tmp_path / "a.npz")
    data = bytearray((tmp_path / "a.npz").read_bytes())
    place = read_animation(tmp_path / "a.npz", mmap=True).positions.offset  # type: ignore[attr-defined]
    data[place + 100] ^= 1
    (tmp_path / "b.npz").write_bytes(data)
    with pytest.raises(FileError, match="Bad CRC"):
        read_animation(tmp_path / "b.npz")
