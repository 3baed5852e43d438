"""Help texts and shell completion of all commands, and agreement of their choices with the package."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest
import typer
from typer._completion_classes import BashComplete

from cajole.cli.app import app
from cajole.cli.command_options import COMMANDS, ENRICH_MATERIALS, find_shared_parameters
from cajole.cli.options import get_parameters

GROUP = typer.main.get_command(app)


def complete(*words: str) -> list[str]:
    """The completions of the last word, by the shell completion of click."""
    *arguments, incomplete = words
    found = BashComplete(GROUP, {}, "cajole", "_CAJOLE_COMPLETE").get_completions(arguments, incomplete)
    return [item.value for item in found]


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_names_no_python_types_claim(cajole, name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")
    words = [name] if name else []
    told = cajole(*words, "--help")
    assert told.code == 0
    assert not re.findall(r"<\w+>|list\[|\bPath\b", told.out)
    assert cajole(*words, "-h").out == told.out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_explained_claim(name):
    command = GROUP.commands[name]
    assert all(parameter.help for parameter in command.params)
    examples = re.findall(r"\[green\](cajole .*?)\[/\]", command.help)
    assert any(example.split()[1] == name for example in examples)


@pytest.mark.parametrize("name", COMMANDS)
def test_defaults_are_those_of_the_fields_agreement(name):
    parameters = {parameter.name: parameter for parameter in GROUP.commands[name].params}
    declared = get_parameters(COMMANDS[name])
    assert set(parameters) - {"as_json"} == set(declared)
    for field in fields(COMMANDS[name]):
        if field.name in declared and not parameters[field.name].required:
            assert parameters[field.name].default == field.default or field.default is None


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("sim",), ["simulate"]),
        (("simulate", "dino"), ["dinosaur", "dinosaur-large"]),
        (("edit", "tw"), ["twist"]),
        (("steer", "swi"), ["swirl"]),
        (("enrich", "wal"), ["walker"]),
        (("reroute", "ski"), ["skirt"]),
        (("simulate", "beam", "--integrator", ""), ["newmark", "bdf2", "euler"]),
        (("edit", "twist", "--energy", "s"), ["smooth"]),
        (("edit", "a.npz", "--body", "so"), ["solid"]),
        (("enrich", "bag", "--collisions", "e"), ["exact"]),
        (("enrich", "bag", "--material", "vin"), ["vinyl"]),
        (("reroute", "cloth", "--method", "l"), ["least-force"]),
        (("studio", "--mode", ""), ["edit", "keyframe", "steer", "enrich", "reroute"]),
        (("picture", "fish", "fish.png", "--renderer", "m"), ["mitsuba"]),
        (("demo", "--scene", "fi"), ["fish"]),
        (("run", "a.toml", "--cluster", "da"), ["dask"]),
        (("simulate", "--du"), ["--duration"]),
    ],
)
def test_completion_claim(words, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert complete(*words) == expected


def test_completion_of_files_claim(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dine.obj").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "one.veg").touch()
    assert complete("simulate", "din") == ["dinosaur", "dinosaur-large", "dine.obj"]
    assert complete("simulate", "fol") == ["folder/"]
    assert complete("simulate", "folder/o") == ["folder/one.veg"]


def test_choices_are_those_of_the_package_agreement():
    from cajole.cli.gallery.cards import CARD_BUILDERS
    from cajole.pictures import render
    from cajole.scenes.enrich_scenes import list_enrich_scene_names, load_enrich_scene

    def get_choices(name: str, option: str) -> list[str]:
        return str(get_parameters(COMMANDS[name])[option][1].metavar).split("|")

    assert get_choices("demo", "scene") == list(CARD_BUILDERS)
    assert set(get_choices("picture", "renderer")) == set(render.RENDERERS)
    assert set(ENRICH_MATERIALS) == set(list_enrich_scene_names())
    assert ENRICH_MATERIALS["box"] == tuple(load_enrich_scene("box").variants)
    assert ENRICH_MATERIALS["bag"] == tuple(load_enrich_scene("bag").variants)


@pytest.mark.parametrize("verb", ["simulate", "pose", "modes", "keyframe", "edit", "enrich", "steer", "reroute"])
def test_shared_parameters_agreement(verb):
    """Parameters of a command and its function are in the API table and have the same defaults, where both have one."""
    import inspect

    import cajole as cj

    signature = inspect.signature(getattr(cj, verb)).parameters
    shared = find_shared_parameters(verb, signature)
    assert shared
    defaults = {field.name: field.default for field in fields(COMMANDS[verb])}
    for name in shared:
        if defaults[name] not in (None, False) and signature[name].default is not inspect.Parameter.empty:
            assert signature[name].default == defaults[name], name
