"""`--json`: one document of the same frame for every command, whatever happens."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from test_demo import entry

import cajole as cj
from cajole.cli.app import app
from cajole.cli.output import convert_to_json_value
from cajole.mesh import grid_triangles, write_mesh
from waiting import PATIENCE

COMMANDS = [command.callback.__name__ for command in app.registered_commands]
HELD = ("--fixed", "x<1%")


@pytest.fixture
def calls(beam, swing, wave, tmp_path):
    """The words of a small run of each command, by its name."""
    cloth = grid_triangles(3, 3, size=(1.0, 1.0))
    still = np.repeat(cloth.vertices[None], 3, axis=0)
    cj.Animation(cloth, still, fps=24).write(tmp_path / "cloth.npz")
    write_mesh(cloth, tmp_path / "cloth.obj")
    (tmp_path / "bench_one.py").write_text("def main():\n    print('done')\n")
    (tmp_path / "one.toml").write_text(f'verb = "pose"\nsource = "{beam.name}"\nfixed = "x<1%"\noutput = "p.npz"\n')
    out = tmp_path / "out.npz"
    return {
        "simulate": (beam, *HELD, "--frames", 3, "-o", out),
        "pose": (beam, *HELD, "--gravity", 9.81, "-o", out),
        "modes": (beam, *HELD, "--count", 3, "-o", out),
        "keyframe": (beam, *HELD, "--key", f"4={swing}#3", "--modes", 2, "-o", out),
        "edit": (swing, "--drag", "20:6:+0,0,0.01", "--modes", 6, "-o", out, "--save-edit", tmp_path / "edit.json"),
        "steer": (beam, *HELD, "--frames", 8, "--modes", 3, "-o", out, "--save", tmp_path / "controller.npz"),
        "enrich": (tmp_path / "cloth.npz", "--clusters", 3, "-o", out),
        "reroute": (tmp_path / "cloth.obj", "--fixed", "0", "--frames", 8, "--goal", "15:6:+0,0,0.01", "-o", out),
        "studio": ("--no-browser",),
        "picture": (wave, tmp_path / "wave.png", "--size", "16x16"),
        "scenes": (),
        "demo": ("--scene", "fish", "--output", tmp_path / "demo"),
        "run": (tmp_path / "one.toml",),
        "info": (swing,),
        "convert": (swing, tmp_path / "swing.obj"),
        "bench": ("one", "--folder", tmp_path),
    }


@pytest.fixture
def quick(monkeypatch):
    """A demo whose items are made by nobody, and for the studio one that ends as soon as it has begun."""
    from cajole.cli.gallery import worker_pool

    def made(names, folder, workers, told):
        return {name: _item(name, folder) for name in names}

    def ended():
        from cajole.studio import server

        monkeypatch.setattr(server, "serve", lambda *_, announce, **__: announce("http://127.0.0.1:1/#x"))

    monkeypatch.setattr(worker_pool, "build_cards", made)
    return ended


def _item(name, folder):
    (folder / f"{name}.glb").write_bytes(b"model")
    return entry(name, folder)


# what stands behind names of numbers with a dimension, and how those without one are called
UNITS = re.compile(r"_(m|s|kg|N|J|Pa|Hz|N2s|m_per_s|rad|weights|sizes|cells|share)$|(^|_)seconds$")

PURE = {"fps", "cost", "tracking", "final", "effort", "shape", "stepping", "turning", "background", "curves"}


def bare(value, name=""):
    """The names of numbers that are no counts and whose names have no unit behind them."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from bare(each, key)
    elif isinstance(value, list):
        for each in value:
            yield from bare(each, name)
    elif isinstance(value, float) and not UNITS.search(name):
        yield name


@pytest.mark.parametrize("name", COMMANDS)
def test_one_document_claim(cajole, calls, quick, name):
    if name == "studio":
        quick()
    told = cajole(name, *calls[name], "--json")
    assert told.code == 0, told.err
    document = json.loads(told.out)  # which fails for a second one
    assert document["command"] == name
    assert "error" not in document
    assert all(isinstance(note, str) for note in document["notes"])
    for path in document["outputs"]:
        assert Path(path).exists() or list(Path(path).parent.glob(f"{Path(path).stem}_*")), path
    assert set(bare(document)) <= PURE
    wrote = name not in ("studio", "scenes", "info", "bench")
    assert bool(document["outputs"]) == wrote


@pytest.mark.parametrize("name", COMMANDS)
def test_wrong_usage_is_a_document_too_bad_input(cajole, name):
    told = cajole(name, "--nonsense", "--json")
    assert told.code == 2
    assert told.json["command"] == name
    assert told.json["error"]["code"] == 2
    assert told.json["error"]["kind"] == "UsageError"
    assert "--nonsense" in told.json["error"]["message"]
    assert told.json["outputs"] == []


@pytest.mark.parametrize(
    ("words", "kind", "code"),
    [
        (("info", "none.npz"), "FileError", 1),
        (("simulate", "nobody"), "InputError", 1),
        (("run", "none.toml"), "RecipeError", 1),
        (("frobnicate",), "UsageError", 2),
        (("--nonsense",), "UsageError", 2),
        (("simulate", "beam", "--frames", "many"), "UsageError", 2),
    ],
)
def test_errors_have_a_code_bad_input(cajole, words, kind, code):
    told = cajole(*words, "--json")
    assert told.code == code
    error = told.json["error"]
    assert (error["kind"], error["code"]) == (kind, code)
    assert error["message"]
    assert error["message"].splitlines()[0] in " ".join(told.err.replace("│", " ").split())


def test_without_the_option_stdout_is_for_people_identity(cajole):
    told = cajole("info", "none.npz")
    assert (told.code, told.out) == (1, "")


def test_faults_are_documents_identity(monkeypatch, swing):
    """What nobody expected ends with a traceback, and still with a document."""
    from typer.testing import CliRunner

    from cajole import animation

    def broken(*_, **__):
        raise ZeroDivisionError("of all things")

    monkeypatch.setattr(animation, "describe_file", broken)
    result = CliRunner().invoke(app, ["info", str(swing), "--json"])
    assert isinstance(result.exception, ZeroDivisionError)
    assert json.loads(result.stdout)["error"] == {"code": 1, "kind": "ZeroDivisionError", "message": "of all things"}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full is Linux's")
@pytest.mark.parametrize("words", [("scenes",), ("scenes", "--json")])
def test_an_answer_that_finds_no_room_bad_input(words):
    """One line and an exit code, and nothing more when Python ends."""
    command = [sys.executable, "-c", "from cajole.cli import main; main()", *words]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 1
    said = "the answer cannot be written: No space left on device; free some space, or write it elsewhere"
    assert " ".join(done.stderr.split()) == said


@pytest.mark.parametrize("how", ["print('from Python')", "__import__('os').write(1, b'past Python')"])
def test_what_libraries_print_is_not_the_document_identity(swing, tmp_path, how):
    """Some write to the descriptor itself: while a command works, that is stderr."""
    script = (
        "from cajole import animation\nfrom cajole.cli import main\nwrite = animation.convert\n"
        f"def loud(*words, **more):\n    {how}\n    return write(*words, **more)\n"
        "animation.convert = loud\nmain()"
    )
    command = [sys.executable, "-c", script, "convert", str(swing), str(tmp_path / "loud.npz"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert json.loads(done.stdout)["outputs"] == [str(tmp_path / "loud.npz")]
    assert "Python" in done.stderr


@pytest.mark.parametrize("words", [("scenes",), ("scenes", "--json")])
def test_nobody_listens_identity(words):
    """With stdout closed there is nothing to say, and nothing wrong."""
    script = "import os\nos.close(1)\nimport sys\nsys.stdout = None\nfrom cajole.cli import main\nmain()"
    done = subprocess.run(
        [sys.executable, "-c", script, *words], stderr=subprocess.PIPE, text=True, timeout=PATIENCE, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_plain_values_identity():
    values = {1: np.arange(2), "a": (np.float32(0.5), np.inf), "b": {"c": np.nan, "d": Path("x")}, "e": True, "f": None}
    assert convert_to_json_value(values) == {
        "1": [0, 1],
        "a": [0.5, None],
        "b": {"c": None, "d": "x"},
        "e": True,
        "f": None,
    }
