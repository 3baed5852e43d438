"""No command writes to a file that it reads, whatever name or link leads to it; the file stays as it was."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from cajole.animation import Animation, convert, read_animation
from cajole.cli.app import app
from cajole.errors import FileError
from cajole.mesh import box_tets, write_mesh
from cajole.storage import protect_inputs

# commands that write no file of the user's choice, or read none
NEITHER = {"info", "bench", "scenes", "demo", "studio"}
# by command and input: the file that is read and written, and the words; OUT is another name of the file
CASES: dict[str, tuple[str, str]] = {
    "simulate": ("wag.npz", "simulate beam.veg --start wag.npz --frames 3 -o OUT"),
    "simulate obstacle": ("jump_0001.obj", "simulate beam.veg --obstacle OUT --frames 3 -o jump.obj"),
    "pose": ("ball.obj", "pose ball.obj --fixed x<1% --gravity 9 -o OUT"),
    "modes": ("jump_0000.obj", "modes OUT --count 1 -o jump_####.obj"),
    "keyframe": ("wag.npz", "keyframe beam.veg --key 5=wag.npz#2 -o OUT"),
    "edit": ("wag.npz", "edit wag.npz --drag 3:1:+0,0,0.1 -o OUT"),
    "edit of an edit": ("edit.json", "edit wag.npz --edit edit.json --save-edit OUT"),
    "steer motion": ("wag.npz", "steer beam.veg --motion wag.npz -o OUT"),
    "steer saved onto its motion": ("wag.npz", "steer beam.veg --motion wag.npz --save OUT"),
    "steer a controller": ("wag.npz", "steer wag.npz -o OUT"),
    "enrich": ("wag.npz", "enrich wag.npz --subdivide 1 -o OUT"),
    "enrich collider": ("ball.npz", "enrich wag.npz --subdivide 1 --collisions fast --collider ball.npz -o OUT"),
    "reroute": ("wag.npz", "reroute wag.npz --goal 7:2:0,0,1 -o OUT"),
    "reroute pilot": ("wag.npz", "reroute wag.npz --goal 7:2:0,0,1 --pilot OUT"),
    "picture": ("wag.png", "picture wag.png OUT"),
    "convert": ("wag.glb", "convert wag.glb OUT"),
    "convert a mesh": ("beam.veg", "convert beam.veg OUT"),
    "convert a pair": ("beam.ele", "convert beam.node OUT"),
    "convert a cache onto its mesh": ("cache.veg", "convert cache.pc2 OUT"),
    "run": ("recipe.toml", "run recipe.toml"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file for every command, which is the working folder."""
    monkeypatch.chdir(tmp_path)
    mesh = box_tets(3, 1, 1, size=(1.0, 0.2, 0.2))
    moved = Animation(mesh, mesh.vertices + np.arange(4)[:, None, None] * np.array([0.0, 0.0, 0.01]), 24.0)
    for name in ("wag.npz", "wag.glb", "cache.pc2", "jump.obj"):
        moved.write(name)
    Animation(mesh.surface, moved.positions, 24.0).write("ball.npz")
    for mesh_file in ("beam.veg", "beam.node"):
        write_mesh(mesh, mesh_file)
    write_mesh(mesh.surface, "ball.obj")
    for text_file in ("edit.json", "recipe.toml", "wag.png"):
        Path(text_file).write_text("verb = 'convert'\nsource = 'wag.glb'\ntarget = 'recipe.toml'\n")
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def link(file: Path, way: str) -> Path:
    """Another name of a file."""
    other = file.with_name(f"other{file.suffix}")
    if way == "symbolic link":
        other.symlink_to(file.name)
    elif way == "hard link":
        os.link(file, other)
    elif way == "relative path":
        return Path("..") / file.parent.name / file.name
    elif way == "linked folder":
        (file.parent / "twin").symlink_to(file.parent)
        return file.parent / "twin" / file.name
    else:
        return file
    return other


def test_every_command_identity() -> None:
    """A new command must say here what it reads and writes."""
    known = {each.name or each.callback.__name__ for each in app.registered_commands if each.callback}
    assert known == {name.split()[0] for name in CASES} | NEITHER


@pytest.mark.parametrize("way", ["same name", "symbolic link", "hard link", "relative path", "linked folder"])
@pytest.mark.parametrize("case", CASES)
def test_inputs_bad_input(folder: Path, cajole, case: str, way: str) -> None:
    name, words = CASES[case]
    target = link(folder / name, way)
    before = contents(folder)
    done = cajole(*(word.replace("OUT", str(target)) for word in words.split()))
    said = " ".join(done.err.split())
    assert done.code == 1, said
    assert "is what is read, and would be lost" in said
    assert contents(folder) == before


@pytest.mark.parametrize("target", ["jump.obj", "jump_####.obj", "../{}/jump.obj"])
def test_sequences_bad_input(folder: Path, cajole, target: str) -> None:
    before = contents(folder)
    done = cajole("convert", "jump.obj", target.format(folder.name))
    assert (done.code, "is what is read, and would be lost" in " ".join(done.err.split())) == (1, True)
    assert contents(folder) == before


def test_included_files_bad_input(folder: Path, cajole) -> None:
    """Files that only the reader knows of are protected, too."""
    text = (folder / "beam.veg").read_text()
    start = text.index("*ELEMENTS")
    (folder / "nodes.veg").write_text(text[:start])
    (folder / "whole.veg").write_text(f"*INCLUDE nodes.veg\n{text[start:]}")
    before = contents(folder)
    done = cajole("convert", "whole.veg", "nodes.veg")
    assert (done.code, "is what is read, and would be lost" in " ".join(done.err.split())) == (1, True)
    assert contents(folder) == before


def test_steps_of_recipes_bad_input(folder: Path, cajole) -> None:
    """A step must not write what an earlier one read, unless the recipe made that itself."""
    step = "[[step]]\nverb = 'convert'\nsource = '{}'\ntarget = '{}'\n"
    recipe = folder / "steps.toml"
    recipe.write_text(step.format("wag.glb", "a.npz") + step.format("a.npz", "wag.glb"))
    before = contents(folder)
    done = cajole("run", recipe)
    assert (done.code, "is what is read, and would be lost" in " ".join(done.err.split())) == (1, True)
    assert contents(folder) == before
    chain = [("wag.glb", "a.npz"), ("a.npz", "b.glb"), ("wag.npz", "a.npz"), ("a.npz", "c.glb")]
    recipe.write_text("".join(step.format(*pair) for pair in chain))
    assert cajole("run", recipe).code == 0


@pytest.mark.parametrize(
    ("source", "target"),
    [("jump.obj", "jump_####.obj"), ("jump_0001.obj", "jump.obj"), (".", "jump.obj"), ("jump_%04d.obj", "jump.obj")],
)
@pytest.mark.parametrize("later", [False, True])
def test_sequences_of_recipes_bad_input(folder: Path, cajole, source: str, target: str, later: bool) -> None:
    """Refused before the first step, whether the step that overwrites the sequence reads it or an earlier one does."""
    step = "[[step]]\nverb = 'convert'\nsource = '{}'\ntarget = '{}'\n"
    (folder / "ball.obj").unlink()
    pairs = [(source, "a.npz"), ("a.npz", target)] if later else [("wag.glb", "a.npz"), (source, target)]
    recipe = folder / "steps.toml"
    recipe.write_text("".join(step.format(*pair) for pair in pairs))
    before = contents(folder)
    done = cajole("run", recipe)
    said = " ".join(done.err.split())
    assert done.code == 1
    assert f'step 2 (convert): output = "{target}": it is what is read, and would be lost' in said
    assert contents(folder) == before


def test_sequences_that_a_recipe_makes_identity(folder: Path, cajole) -> None:
    """Frames of an earlier run do not stop the next one."""
    chain = [("wag.glb", "new.obj"), ("new_####.obj", "a.npz"), ("wag.npz", "new.obj")]
    recipe = folder / "steps.toml"
    recipe.write_text("".join(f"[[step]]\nverb = 'convert'\nsource = '{a}'\ntarget = '{b}'\n" for a, b in chain))
    for _ in range(2):
        done = cajole("run", recipe)
        assert done.code == 0, done.err


def test_library_convert_bad_input(folder: Path) -> None:
    before = contents(folder)
    with pytest.raises(FileError, match="is what is read, and would be lost"):
        convert("wag.glb", folder / "wag.glb")
    assert contents(folder) == before
    read_animation("wag.glb").write("wag.glb")  # outside of a command files are the caller's own


def test_results_may_be_read_again_identity(folder: Path) -> None:
    with protect_inputs():
        moved = read_animation("wag.glb")
        for _ in range(2):
            moved.write("new.npz")
            read_animation("new.npz")
        with pytest.raises(FileError, match="what is read"):
            moved.write("wag.glb")
