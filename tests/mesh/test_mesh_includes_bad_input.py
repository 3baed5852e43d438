"""A .veg file includes files of its own folder only, and messages never quote what they hold."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cajole.errors import FileError
from cajole.mesh import read_mesh, read_veg

SECRET = "the-password-is-swordfish"
VERTICES = "*VERTICES\n4 3 0 0\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n"
ELEMENTS = "*ELEMENTS\nTET\n1 4 0\n1 1 2 3 4\n"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "elsewhere" / "secret.txt"
    file.parent.mkdir()
    file.write_text(SECRET + "\n")
    return file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "meshes"
    place.mkdir()
    return place


def refusal(folder: Path, content: str) -> str:
    (folder / "body.veg").write_text(content)
    with pytest.raises(FileError) as caught:
        read_veg(folder / "body.veg")
    assert SECRET not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("form", ["*INCLUDE {}\n" + ELEMENTS, "*VERTICES\n{}\n" + ELEMENTS], ids=["include", "table"])
@pytest.mark.parametrize("way", ["absolute", "parent", "symbolic link", "linked folder"])
def test_other_folders_bad_input(folder: Path, secret: Path, form: str, way: str) -> None:
    name = {"absolute": str(secret), "parent": "../elsewhere/secret.txt", "symbolic link": "link.txt"}.get(way, "")
    if way == "symbolic link":
        (folder / "link.txt").symlink_to(secret)
    if way == "linked folder":
        (folder / "inside").symlink_to(secret.parent)
        name = "inside/secret.txt"
    assert "cannot include" in refusal(folder, form.format(name))


@pytest.mark.parametrize("name", ["/dev/zero", "pipe", "sub"])
def test_irregular_files_bad_input(folder: Path, name: str) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "sub").mkdir()
    assert "cannot include" in refusal(folder, f"*INCLUDE {name}\n{ELEMENTS}")


@pytest.mark.parametrize(
    "content", [SECRET, f"*VERTICES\n{SECRET}", f"{VERTICES}*SET a\n{SECRET}", f"*INCLUDE {SECRET}"]
)
def test_content_is_not_quoted_bad_input(folder: Path, content: str) -> None:
    (folder / "nodes.txt").write_text(content + "\n")
    refusal(folder, f"*INCLUDE nodes.txt\n{ELEMENTS}")


def test_cycles_bad_input(folder: Path) -> None:
    (folder / "one.txt").write_text("*INCLUDE two.txt\n")
    (folder / "two.txt").write_text("*INCLUDE one.txt\n")
    assert "in a circle" in refusal(folder, f"*INCLUDE one.txt\n{ELEMENTS}")
    for k in range(9):
        (folder / f"deep{k}.txt").write_text(f"*INCLUDE deep{k + 1}.txt\n")
    assert "deep" in refusal(folder, f"*INCLUDE deep0.txt\n{ELEMENTS}")


def test_own_folder_identity(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "nodes.txt").write_text(VERTICES)
    (folder / "body.veg").write_text(f"*INCLUDE sub/nodes.txt\n{ELEMENTS}")
    assert len(read_mesh(folder / "body.veg").elements) == 1
    (folder / "nodes.txt").symlink_to("sub/nodes.txt")
    (folder / "body.veg").write_text(f"*INCLUDE nodes.txt\n{ELEMENTS}")
    assert len(read_mesh(folder / "body.veg").elements) == 1


def test_files_that_multiply_bad_input(folder: Path) -> None:
    """A few short files that include each other many times would be more lines than the memory holds."""
    for number in range(3):
        (folder / f"{number}.txt").write_text(f"*INCLUDE {number + 1}.txt\n" * 200)
    (folder / "3.txt").write_text("# nothing\n")
    assert "included more than once" in refusal(folder, "*INCLUDE 0.txt\n" * 200)
