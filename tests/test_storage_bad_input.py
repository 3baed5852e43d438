"""Files that are no regular files, paths that are none, and archives that claim more than they may unpack to."""

from __future__ import annotations

import io
import json
import os
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cajole as cj
from cajole.animation import Animation, describe_file, read_animation
from cajole.animation.files import FORMATS
from cajole.cli.edit import EditOperationParser
from cajole.cli.enrich import read_labels
from cajole.cli.recipes import read_recipe
from cajole.cli.reroute import read_grey_image as read_image
from cajole.direct.editing import serialization
from cajole.memory import get_memory_limit, require_memory
from cajole.mesh import box_tets, read_bou
from cajole.mesh.files import READERS
from cajole.storage import as_path, open_regular_file, read_array, read_arrays, require_writable_path

MESH = box_tets(1, 1, 1)
BODY = cj.BodySolid(MESH)
MOVED = Animation(MESH, MESH.vertices[None])
# zeros that unpack to a thousand times their size: far more than plausible, and far from filling the memory of a test
BOMB = np.zeros(300_000_000, np.uint8)


def editor_of(path: Path) -> Any:
    return cj.load_edit(path, MOVED, BODY)


# by suffix: everything that reads a file of it
EVERY_READER: list[tuple[str, Callable[[Path], Any]]] = [
    *((suffix, cj.read_mesh) for suffix in READERS),
    *((suffix, read_animation) for suffix in FORMATS),
    *((suffix, describe_file) for suffix in FORMATS),
    (".veg", cj.read_body),
    (".bou", read_bou),
    (".npz", cj.load_controller),
    (".npz", cj.load_flow_controller),
    (".npz", lambda path: cj.load_model(path, BODY)),
    (".json", editor_of),
    (".json", serialization.read_edit_document),
    (".npz", read_arrays),
    (".npy", read_array),
    (".npy", lambda path: read_labels(path, "--paint-guide")),
    (".txt", lambda path: read_labels(path, "--paint-guide")),
    (".npy", read_image),
    (".png", read_image),
    (".txt", lambda path: EditOperationParser(MOVED, {}).read_script(path)),
]
IDS = [f"{k}{suffix}" for k, (suffix, _) in enumerate(EVERY_READER)]


def refusal(read: Callable[[Path], Any], path: Path) -> str:
    with pytest.raises(cj.FileError) as caught:
        read(path)
    return str(caught.value)


@pytest.mark.parametrize(("suffix", "read"), EVERY_READER, ids=IDS)
def test_irregular_files_bad_input(tmp_path: Path, suffix: str, read: Callable[[Path], Any]) -> None:
    """A pipe would block, a device fill the memory: neither is opened."""
    pipe, device = tmp_path / f"pipe_0000{suffix}", tmp_path / f"device_0000{suffix}"
    os.mkfifo(pipe)
    device.symlink_to("/dev/zero")
    if suffix == ".ele":  # its vertices, which are read first, are not there at all
        pipe.with_suffix(".node").symlink_to(pipe.name)
        device.with_suffix(".node").symlink_to("/dev/zero")
    assert "is a pipe, and only regular files are read" in refusal(read, pipe)
    assert "is a device, and only regular files are read" in refusal(read, device)


@pytest.mark.parametrize(("suffix", "read"), EVERY_READER, ids=IDS)
def test_paths_bad_input(tmp_path: Path, suffix: str, read: Callable[[Path], Any]) -> None:
    assert "NUL character" in refusal(read, tmp_path / f"a\0b{suffix}")
    assert refusal(read, tmp_path / f"{'long' * 2000}{suffix}")
    assert "none_0000" in refusal(read, tmp_path / f"none_0000{suffix}")


def test_recipes_bad_input(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    for name in ("pipe.toml", "none.toml", "a\0b.toml"):
        assert read_recipe(tmp_path / name).problems


@pytest.mark.parametrize(
    "write",
    [
        *(lambda path, s=suffix: MOVED.write(f"{path}{s}") for suffix in FORMATS),
        lambda path: cj.write_mesh(MESH, f"{path}.veg"),
        lambda path: cj.write_mesh(MESH.surface, f"{path}.obj"),
        lambda path: cj.reduce(BODY, 8).save(f"{path}.npz"),
        lambda path: cj.picture(MOVED, f"{path}.png", size=(8, 8)),
        lambda path: require_writable_path(f"{path}.npz"),
    ],
)
def test_written_paths_bad_input(tmp_path: Path, write: Callable[[str], None]) -> None:
    with pytest.raises(cj.FileError, match="NUL character"):
        write(str(tmp_path / "a\0"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("path", [None, 3, b"a.npz", ["a.npz"], 1.5])
def test_kinds_of_paths_bad_input(path: Any) -> None:
    with pytest.raises(cj.FileError, match="a path must be a string or a Path"):
        as_path(path)


def test_replaced_by_a_pipe_bad_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kind is looked at again on what was opened: a pipe that takes the place of a file does not block."""
    file, pipe = tmp_path / "file", tmp_path / "pipe"
    file.write_text("a")
    os.mkfifo(pipe)
    status = os.stat(file)
    monkeypatch.setattr(os, "stat", lambda _: status)
    with pytest.raises(cj.FileError, match="is a pipe"):
        open_regular_file(pipe)


# --- archives


def archive(path: Path, **arrays: np.ndarray) -> Path:
    np.savez_compressed(path, **arrays)
    return path


def peak(work: Callable[[], Any]) -> int:
    """Bytes that were allocated at most."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("member", "read"),
    [
        ("course", cj.load_controller),
        ("states", cj.load_flow_controller),
        ("basis", lambda path: cj.load_model(path, BODY)),
        ("positions", lambda path: read_animation(path, mesh=MESH)),
        ("skin_colors", lambda path: read_animation(path, mesh=MESH)),
        ("anything", read_arrays),
    ],
)
def test_expansion_bad_input(tmp_path: Path, member: str, read: Callable[[Path], Any]) -> None:
    text = np.array("cajole controller" if member == "course" else "cajole flow controller 1")
    arrays = {"positions": MOVED.positions, "format": text, member: BOMB}
    path = archive(tmp_path / "a.npz", **arrays)
    assert path.stat().st_size < 400_000
    assert peak(lambda: refusal(read, path)) < 20_000_000
    assert "more than 100 times as many" in refusal(read, path)
    assert "CAJOLE_MAX_EXPANSION" in refusal(read, path)


def test_expansion_is_a_choice_identity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = archive(tmp_path / "a.npz", zeros=BOMB)
    monkeypatch.setenv("CAJOLE_MAX_EXPANSION", "2000")
    assert len(read_arrays(path)["zeros"]) == len(BOMB)
    monkeypatch.setenv("CAJOLE_MAX_EXPANSION", "many")
    assert "CAJOLE_MAX_EXPANSION is 'many'" in refusal(read_arrays, path)


def test_members_that_are_not_used_identity(tmp_path: Path) -> None:
    """What a reader has no use for is never unpacked, and does not count."""
    arrays = {"positions": MOVED.positions, "vertices": MESH.vertices, "tets": MESH.tets, "other": BOMB}
    path = archive(tmp_path / "a.npz", **arrays)
    assert peak(lambda: read_animation(path)) < 20_000_000
    cj.reduce(BODY, 8).save(tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz") as model:
        path = archive(tmp_path / "more.npz", **model, other=BOMB)
    assert cj.load_model(path, BODY).size == 8


def test_memory_bad_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez(tmp_path / "a.npz", zeros=np.zeros(100_000))
    monkeypatch.setenv("CAJOLE_MAX_MEMORY", "100000")
    assert "would take 800 kB of memory, and this machine has 100 kB" in refusal(read_arrays, tmp_path / "a.npz")
    with pytest.raises(cj.InputError, match="1e105 TB of memory"):
        require_memory(8 * 10**117, "a", "b")
    monkeypatch.delenv("CAJOLE_MAX_MEMORY")
    assert 1e8 < get_memory_limit() < 1e16


def damaged(header: bytes, data: bytes = b"") -> bytes:
    """An .npy with a header of its own."""
    padded = header + b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded + data


HEADERS = [
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (3,), ",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (-3,), }",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (10**30,), }",
    b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
    b"{'descr': [('a', '|O')], 'fortran_order': False, 'shape': (1,), }",
    b"(((((((((((((((((((((((",
    b"'''",
    b"\xff\xfe",
    b"",
    b"{'descr': '<f8'}",
    b"{'descr': '<U999999999', 'fortran_order': False, 'shape': (1,), }",
]


@pytest.mark.parametrize("header", HEADERS)
def test_headers_bad_input(tmp_path: Path, header: bytes) -> None:
    content = damaged(header, bytes(24))
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as made:
        for name in ("positions", "format", "basis", "body"):
            made.writestr(f"{name}.npy", content)
    (tmp_path / "a.npy").write_bytes(content)
    for read in (read_arrays, read_animation, cj.load_controller, cj.load_flow_controller):
        assert "a.npz" in refusal(read, tmp_path / "a.npz")
    assert "a.npz" in refusal(lambda path: cj.load_model(path, BODY), tmp_path / "a.npz")
    assert "a.npy" in refusal(read_array, tmp_path / "a.npy")


def test_arrays_identity(tmp_path: Path) -> None:
    """What NumPy writes is read as NumPy reads it: types, orders, empty arrays and scalars."""
    rng = np.random.default_rng(0)
    arrays = {
        "fortran": np.asfortranarray(rng.normal(size=(3, 4, 2))),
        "big": rng.normal(size=5).astype(">f4"),
        "whole": np.arange(6, dtype=np.int16).reshape(2, 3),
        "scalar": np.array(2.5),
        "word": np.array("wörd"),
        "empty": np.empty((0, 3)),
        "no_words": np.array([], dtype=np.str_),
        "truth": np.array([True, False]),
    }
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "a.npz", **arrays)
        found = read_arrays(tmp_path / "a.npz")
        assert found.keys() == arrays.keys()
        for name, array in arrays.items():
            assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
            np.testing.assert_array_equal(found[name], array)


def test_checksum_bad_input(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, a=np.arange(1000.0))
    raw = bytearray(buffer.getvalue())
    raw[len(raw) // 2] ^= 1
    (tmp_path / "a.npz").write_bytes(raw)
    assert "CRC" in refusal(read_arrays, tmp_path / "a.npz")


def test_pages_bad_input(tmp_path: Path) -> None:
    """The motion of a page is packed, too."""
    page = tmp_path / "a.html"
    MOVED.write(page)
    text = page.read_text(encoding="utf-8")
    assert '"frames": 1,' in text or '"frames":1,' in text
    page.write_text(text.replace('"frames": 1,', '"frames": 900000000,').replace('"frames":1,', '"frames":900000000,'))
    assert "times as many" in refusal(read_animation, page)


def test_repeated_pieces_bad_input(tmp_path: Path) -> None:
    """A small GLB that names one array many times."""
    file = tmp_path / "a.glb"
    MOVED.write(file)
    raw = file.read_bytes()
    length = int.from_bytes(raw[12:16], "little")
    document = json.loads(raw[20 : 20 + length])
    document["meshes"][0]["primitives"] *= 100_000
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    rest = raw[20 + length :]
    total = (20 + len(text) + len(rest)).to_bytes(4, "little")
    file.write_bytes(raw[:8] + total + len(text).to_bytes(4, "little") + raw[16:20] + text + rest)
    assert "00000 vertices in" in refusal(read_animation, file)
