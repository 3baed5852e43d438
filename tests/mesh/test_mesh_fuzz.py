"""Damaged files: whatever the bytes, the answer is a mesh or a FileError."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cajole.errors import FileError
from cajole.mesh import box_tets, read_bou, read_mesh, read_veg, write_mesh

TET_SUFFIXES = [".veg", ".node", ".ele", ".msh", ".vtk", ".vtu", ".mesh"]
TRI_SUFFIXES = [".obj", ".ply", ".stl"]
SUFFIXES = TET_SUFFIXES + TRI_SUFFIXES

# files live in one folder for all examples of a test, each of which overwrites them
quick = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def survives(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    with contextlib.suppress(FileError):
        mesh = read_mesh(path)
        assert len(mesh.elements) > 0
    if path.suffix == ".veg":
        with contextlib.suppress(FileError):
            read_veg(path)


def valid(folder: Path, suffix: str) -> bytes:
    box = box_tets(1, 1, 1)
    path = folder / f"damaged{suffix}"
    write_mesh(box if suffix in TET_SUFFIXES else box.surface, path)
    data = path.read_bytes()
    if suffix == ".veg":
        data += b"*MATERIAL a\nENU, 1, 1, 0.3\n*SET s\n1,2\n*REGION\ns, a\n"
    return data


@pytest.mark.parametrize("suffix", SUFFIXES)
@quick
@given(data=st.binary(min_size=0, max_size=400))
@example(data=b"\0")
@example(data=b"solid\n")
@example(data=b"*VERTICES\n*ELEMENTS\nTET\n")
@example(data=b"ply\nformat ascii 1.0\nelement vertex -1\nproperty float x\nend_header\n")
@example(data=b"ply\nformat ascii 1.0\nelement vertex 99999999999\nproperty float x\nend_header\n")
def test_random_bytes_bad_input(tmp_path: Path, suffix: str, data: bytes) -> None:
    write_mesh(box_tets(1, 1, 1), tmp_path / "damaged.node")
    survives(tmp_path / f"damaged{suffix}", data)


@pytest.mark.parametrize("suffix", SUFFIXES)
@quick
@given(share=st.floats(0, 1, exclude_max=True))
def test_cut_off_files_bad_input(tmp_path: Path, suffix: str, share: float) -> None:
    data = valid(tmp_path, suffix)
    survives(tmp_path / f"damaged{suffix}", data[: int(share * len(data))])


@pytest.mark.parametrize("suffix", SUFFIXES)
@quick
@given(
    changes=st.lists(
        st.tuples(st.floats(0, 1, exclude_max=True), st.binary(max_size=3), st.integers(0, 6)), min_size=1, max_size=4
    )
)
def test_changed_bytes_bad_input(tmp_path: Path, suffix: str, changes: list[tuple[float, bytes, int]]) -> None:
    data = valid(tmp_path, suffix)
    for share, new, drop in changes:
        at = int(share * len(data))
        data = data[:at] + new + data[at + drop :]
    survives(tmp_path / f"damaged{suffix}", data)


@quick
@given(data=st.binary(max_size=60))
def test_fixed_vertices_bad_input(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.bou"
    path.write_bytes(data)
    with contextlib.suppress(FileError):
        assert (read_bou(path) >= 0).all()
