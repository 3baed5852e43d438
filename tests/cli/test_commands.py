"""The frame around the commands: help, usage, light start, cancelling, benchmarks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

import job_control
from cajole.cli import output
from cajole.cli.app import app
from job_control import JobControl
from waiting import PATIENCE

COMMANDS = [command.callback.__name__ for command in app.registered_commands]


def test_commands_are_all_there_identity():
    expected = {
        "keyframe",
        "edit",
        "enrich",
        "reroute",
        "steer",
        "studio",
        "simulate",
        "pose",
        "modes",
        "picture",
        "scenes",
        "demo",
        "run",
        "info",
        "convert",
        "bench",
    }
    assert set(COMMANDS) == expected


@pytest.mark.parametrize("name", COMMANDS)
def test_help_teaches_identity(cajole, name):
    told = cajole(name, "--help")
    assert told.code == 0
    assert f"cajole {name} " in told.out.replace("\n", " ")
    assert "--json" in told.out


def test_help_is_light_identity():
    code = (
        "import sys\nfrom cajole.cli import main\nsys.argv = ['cajole', '--help']\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print([m for m in ('numba', 'scipy', 'numpy', 'mitsuba') if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert done.stderr.strip() == "[]"
    assert "simulate" in done.stdout


def test_exit_codes_bad_input(outside, tmp_path):
    assert outside("--version").code == 0
    wrong = outside("frobnicate")
    assert wrong.code == 2
    assert "No such command" in wrong.err
    missing = outside("info", tmp_path / "none.npz", "--json")
    assert missing.code == 1
    assert "Traceback" not in missing.err
    assert missing.json["error"]["kind"] == "FileError"


def test_unknown_option_bad_input(cajole):
    assert cajole("info", "--nonsense").code == 2


def test_interrupt_leaves_no_file_identity(beam, tmp_path):
    target, jobs = tmp_path / "long" / "out.npz", JobControl(tmp_path / "jobs")
    words = ["simulate", beam, "--fixed", "x<1%", "--frames", 20, "--dt", "1e-4", "-o", target, "--json"]
    command = [sys.executable, job_control.__file__, str(jobs.folder), *map(str, words)]
    with jobs.hold("command", fraction=0.5):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        jobs.wait_until_held()
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert json.loads(out)["error"]["kind"] == "Cancelled"
    assert not target.parent.exists()


def test_scenes_are_listed_agreement(cajole):
    from cajole.scenes import scene_names

    assert [entry["name"] for entry in cajole("scenes", "--json").json["scenes"]] == list(scene_names())
    assert "dinosaur" in cajole("scenes").out


def test_scenes_of_every_verb_are_listed_agreement(cajole):
    """All that there are, each with what it is for; what is said to make one is there."""
    from cajole.scenes import flow_scenes, steer_scenes
    from cajole.scenes.edit_scenes import list_edit_scene_names
    from cajole.scenes.enrich_scenes import list_enrich_scene_names
    from cajole.scenes.reroute_scenes import list_reroute_scene_names

    told = cajole("scenes", "--json").json
    named = {
        "edit": list_edit_scene_names(),
        "enrich": list_enrich_scene_names(),
        "reroute": list_reroute_scene_names(),
    }
    assert all([entry["name"] for entry in told[verb]] == list(names) for verb, names in named.items())
    makers = {
        name.removeprefix("build_").removesuffix("_scene"): getattr(room, name)
        for room in (steer_scenes, flow_scenes)
        for name in room.__all__
        if name.islower()
    }
    assert {entry["name"] for entry in told["steer"]} == set(makers)
    assert all(callable(make) for make in makers.values())
    entries = [entry for verb in (*named, "steer") for entry in told[verb]]
    assert all(entry["description"] and entry["name"] in entry["python"] for entry in entries)
    shown = " ".join(cajole("scenes").out.split())
    assert "bee_landing" in shown
    assert "cajole edit NAME" in shown


def test_progress_is_told_in_lines_without_a_terminal_identity(cajole, wave, tmp_path, monkeypatch):
    """Quick work says nothing; longer work a line now and then, on stderr alone."""
    words = ("picture", wave, tmp_path / "wave.gif", "--size", "16x16", "--json")
    monkeypatch.setattr(output, "PROGRESS_LINE_INTERVAL", 1e6)
    cajole(*words)  # the first call may compile kernels, and says so
    assert cajole(*words).err == ""
    monkeypatch.setattr(output, "PROGRESS_LINE_INTERVAL", 0.0)
    told = cajole(*words)
    assert told.json["frames"] == 3
    assert any(line.startswith("picture: 67%, frame 1, after ") for line in told.err.splitlines())


def test_bench_runs_each_script_identity(cajole, tmp_path):
    """Each with one thread, what lies beside it to import, and no argument that its own parser would not know."""
    source = "import beside, os, sys\ndef main():\n    print('threads', beside.threads(os), len(sys.argv))\n"
    (tmp_path / "bench_one.py").write_text(source)
    (tmp_path / "beside.py").write_text("def threads(os):\n    return os.environ['OPENBLAS_NUM_THREADS']\n")
    (tmp_path / "bench_two.py").write_text("def main():\n    raise SystemExit(3)\n")
    told = cajole("bench", "one", "--folder", tmp_path, "--json").json["benchmarks"]
    assert [(entry["name"], entry["output"]) for entry in told] == [("one", "threads 1 1\n")]
    failed = cajole("bench", "--folder", tmp_path, "--json")
    assert failed.code == 1
    assert "bench_two.py ended with exit code 3" in failed.err


def test_bench_bad_input(cajole, tmp_path):
    assert "they come with the source" in cajole("bench", "--folder", tmp_path).err
    (tmp_path / "bench_one.py").write_text("def main(): pass\n")
    assert "no benchmark 'three'" in cajole("bench", "three", "--folder", tmp_path).err
