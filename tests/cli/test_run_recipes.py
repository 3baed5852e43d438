"""`cajole run`: recipes of every verb as the page shows them, all that is wrong at once, and batches."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import cajole as cj
from cajole.cli.recipes import EXCLUDED_COMMANDS, get_recipe_commands, get_recipe_keys, read_recipe

PAGE = Path(__file__).parents[2] / "docs" / "recipes.md"
RECIPES = dict(re.findall(r"```toml\n# (\S+)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL))


def recipe(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def simple(beam, tmp_path):
    """A recipe that simulates the beam."""
    text = f'verb = "simulate"\nsource = "{beam.name}"\nfixed = "x<1%"\nframes = 4\noutput = "moved.npz"\n'
    return recipe(tmp_path, "simple.toml", text)


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """A folder with the recipes of the page."""
    folder = tmp_path_factory.mktemp("shots")
    for name, text in RECIPES.items():
        recipe(folder, name, text)
    return folder


def test_every_verb_has_an_example_identity():
    used = set(re.findall(r'^verb = "(\w+)"', "\n".join(RECIPES.values()), re.MULTILINE))
    assert {"simulate", "pose", "keyframe", "edit", "steer", "reroute", "enrich"} <= used


@pytest.mark.parametrize("name", RECIPES)
def test_recipe_of_the_page_claim(cajole, shown, name):
    """In the order of the page, for they read what those before wrote; from another folder than their own."""
    told = cajole("run", shown / name, "--json")
    assert told.code == 0, told.out + told.err
    document = told.json
    assert document["command"] == "run"
    assert document["outputs"]
    assert all(Path(path).is_file() and Path(path).parent == shown for path in document["outputs"])
    (entry,) = document["recipes"]
    assert [step["command"] for step in entry["steps"]] == entry["verbs"]


def test_recipe_is_its_command_agreement(cajole, beam, simple, tmp_path):
    assert cajole("run", simple).code == 0
    words = ("--fixed", "x<1%", "--frames", 4, "-o", tmp_path / "typed.npz")
    typed = cajole("simulate", beam, *words, "--json").json
    told = cajole("run", simple, "--json").json["recipes"][0]["steps"][0]
    assert told["largest_displacement_m"] == typed["largest_displacement_m"]
    assert (
        cj.read_animation(tmp_path / "moved.npz").positions == cj.read_animation(tmp_path / "typed.npz").positions
    ).all()


def test_keys_are_the_options_identity():
    """No list of them but the commands' own: each option but --json is a key, under its name."""
    import typer

    from cajole.cli.app import app

    commands = typer.main.get_command(app).commands
    assert set(get_recipe_commands()) == set(commands) - set(EXCLUDED_COMMANDS)
    for verb in get_recipe_commands():
        named = {max(each.opts, key=len).removeprefix("--") for each in commands[verb].params} - {"json", "help"}
        assert set(get_recipe_keys(verb)) == named, verb


def test_paths_that_are_written_are_known_identity():
    """What a command writes need not be there: each option for it is marked so."""
    written = {
        verb: {key.name for key in get_recipe_keys(verb).values() if key.is_output} for verb in get_recipe_commands()
    }
    assert written["simulate"] == {"output"}
    assert written["edit"] == {"output", "save-edit"}
    assert {"output", "save", "plot"} <= written["steer"]
    assert {"output", "pilot"} <= written["reroute"]
    assert (written["convert"], written["picture"]) == ({"target"}, {"output"})


def test_texts_of_values_identity():
    keys = get_recipe_keys("simulate")
    assert keys["gravity"].build_arguments(keys["gravity"].format_values([0, 0, -9.81])) == ["--gravity=0,0,-9.81"]
    assert keys["gravity"].build_arguments(keys["gravity"].format_values(9.81)) == ["--gravity=9.81"]
    assert keys["output"].build_arguments(keys["output"].format_values(["a.npz", "b.glb"])) == [
        "--output=a.npz",
        "--output=b.glb",
    ]
    assert keys["source"].build_arguments(keys["source"].format_values("beam")) == ["beam"]
    flag = get_recipe_keys("reroute")["compare"]
    assert (flag.build_arguments(flag.format_values(True)), flag.build_arguments(flag.format_values(False))) == (
        ["--compare"],
        [],
    )
    switch = get_recipe_keys("picture")["wireframe"]
    assert (
        switch.build_arguments(switch.format_values(True)),
        switch.build_arguments(switch.format_values(False)),
    ) == (
        ["--wireframe"],
        ["--no-wireframe"],
    )


WRONG = """
[[step]]
verb = "simulate"
source = "beam.veg"
frams = 12
fps = "fast"
frames = 2.5
output = [3, "out.npz"]
substeps = true

[[step]]
verb = "keyfram"

[[step]]
verb = "keyframe"
source = "beem.veg"
dt = nan
"""


def test_everything_wrong_is_said_at_once_bad_input(cajole, beam, tmp_path):
    run = cajole("run", recipe(tmp_path, "wrong.toml", WRONG), "--json")
    assert run.code == 1
    (entry,) = run.json["recipes"]
    found = {(problem["place"], problem["key"]): problem for problem in entry["problems"]}
    first, third = "step 1 (simulate)", "step 3 (keyframe)"
    keys = {(first, key) for key in ("frams", "fps", "frames", "output", "substeps")}
    assert set(found) == keys | {("step 2", "verb"), (third, "source"), (third, "dt"), (third, "key")}
    assert found[first, "frams"]["nearest"] == "frames"
    assert found[first, "frams"]["given"] == 12
    assert "duration" in found[first, "frams"]["allowed"]
    assert found[first, "frames"]["allowed"] == "must be a whole number"
    assert found[first, "fps"]["allowed"] == "must be a number"
    assert found["step 2", "verb"]["nearest"] == "keyframe"
    assert found[third, "source"]["nearest"] == "beam.veg"
    assert found[third, "key"]["wrong"] == "is missing"
    assert "FRAME=FILE" in found[third, "key"]["allowed"]
    assert run.json["error"] == entry["error"]
    assert all(problem["message"] in run.err for problem in entry["problems"])
    assert not (tmp_path / "out.npz").exists()


UNITS = """
verb = "enrich"
source = "wave.npz"
subdivide = 1
dt = "10 ms"
gravity = "9.81 m/s2"
damping = [1]
wind = [1, 2]
collisions = "Fast"
"""


def test_units_and_words_are_said_at_once_bad_input(cajole, wave, tmp_path):
    """Texts whose form is known from their options are read with the recipe, not one after the other by its command."""
    run = cajole("run", recipe(tmp_path, "units.toml", UNITS), "--json")
    (entry,) = run.json["recipes"]
    assert {problem["key"]: problem["allowed"] for problem in entry["problems"]} == {
        "dt": "must be SECONDS in plain numbers, without units",
        "gravity": "must be G|X,Y,Z in plain numbers, without units",
        "damping": "must be ALPHA,BETA in plain numbers, without units",
        "wind": "must be X,Y,Z in plain numbers, without units",
        "collisions": 'must be one of "fast", "exact"',
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("verb = ", "it is no TOML"),
        ("verb = 3", "verb = 3: no such verb; there are simulate"),
        ("", "verb: is missing; there are simulate"),
        ('title = "x"\n[[step]]\nverb = "pose"\nsource = "beam"', "beside [[step]] there is nothing else"),
        ("step = []", "steps are written [[step]]"),
        ('verb = "pose"\nsource = "beam"\nload = [{a = 1}]', "must be text"),
        ('verb = "run"\nrecipes = ["a.toml"]', "no such verb; there are"),
    ],
)
def test_files_that_are_no_recipes_bad_input(cajole, tmp_path, text, message):
    run = cajole("run", recipe(tmp_path, "odd.toml", text))
    assert run.code == 1
    assert message in run.err


def test_places_bad_input(cajole, tmp_path):
    assert "does not exist; check the name" in cajole("run", tmp_path / "none.toml").err
    (tmp_path / "empty").mkdir()
    assert "holds no recipe" in cajole("run", tmp_path / "empty").err
    (tmp_path / "raw.toml").write_bytes(b"\xff\xfe")
    assert "it is no TOML" in cajole("run", tmp_path / "raw.toml").err


def test_check_does_nothing_but_look_identity(cajole, simple, tmp_path):
    told = cajole("run", simple, "--check", "--json")
    assert told.code == 0
    assert told.json["failed"] == 0
    assert not (tmp_path / "moved.npz").exists()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('output = "moved.xyz"', "cannot write .xyz"),
        ("dt = 0.1\nfps = 10", "--dt and --fps say the same thing"),
    ],
)
def test_check_asks_the_command_itself_bad_input(cajole, beam, tmp_path, line, message):
    path = recipe(tmp_path, "odd.toml", f'verb = "simulate"\nsource = "{beam.name}"\n{line}\n')
    run = cajole("run", path, "--check")
    assert run.code == 1
    assert message in run.err


@pytest.mark.parametrize(
    ("lines", "key"),
    [
        (f'source = "fish"\nframes = {10**400}', "frames"),
        (f'source = "fish"\nfps = {10**400}', "fps"),
        (f'source = "{"a" * 5000}"', "source"),
        (f'source = "{"a" * 5000}.veg"', "source"),
        (f'source = "{"a" * 5000}/b.veg"', "source"),
    ],
    ids=["whole", "number", "scene", "file", "folder"],
)
def test_numbers_and_names_without_bounds_bad_input(tmp_path, lines, key):
    """More digits than a float has, and longer names than a file can have."""
    found = read_recipe(recipe(tmp_path, "a.toml", f'verb = "simulate"\n{lines}\noutput = "a.npz"\n'))
    assert key in {problem.key for problem in found.problems}


def test_names_of_scenes_are_known_bad_input(tmp_path):
    text = """
    [[step]]
    verb = "simulate"
    source = "dinosaurr"
    [[step]]
    verb = "reroute"
    source = "cloth"
    [[step]]
    verb = "edit"
    source = "twist"
    body = "solid"
    [[step]]
    verb = "steer"
    source = "leafs"
    """
    found = read_recipe(recipe(tmp_path, "names.toml", text)).problems
    assert [(problem.given, problem.nearest) for problem in found] == [("dinosaurr", "dinosaur"), ("leafs", "leaves")]


def test_a_step_reads_what_one_before_wrote_identity(beam, tmp_path):
    text = """
    [[step]]
    verb = "pose"
    source = "beam.veg"
    output = "bent.npz"
    [[step]]
    verb = "keyframe"
    source = "beam.veg"
    key = ["5=bent.npz#0 hard", "9=bend.npz"]
    """
    (problem,) = read_recipe(recipe(tmp_path, "two.toml", text)).problems
    assert (problem.key, problem.given, problem.nearest) == ("key", "bend.npz", "bent.npz")
    found = read_recipe(recipe(tmp_path, "three.toml", text.replace('"pose"', '"pose"\nlod = 1'))).problems
    assert [problem.key for problem in found] == ["lod", "key"]  # what a wrong step would write is known all the same


@pytest.mark.parametrize("cluster", [(), ("--cluster", "processes:2")], ids=["here", "processes"])
def test_one_failure_does_not_stop_the_others_identity(cajole, beam, simple, tmp_path, cluster):
    shots = tmp_path / "shots"
    shots.mkdir()
    good = simple.read_text().replace(beam.name, f"../{beam.name}")
    recipe(shots, "a.toml", good.replace("moved", "a"))
    recipe(shots, "b.toml", good.replace("moved", "b").replace("x<1%", "tail"))  # no such part: found at work
    recipe(shots, "c.toml", good.replace("moved", "c").replace("frames", "frams"))  # found before
    recipe(shots, "d.toml", good.replace("moved", "d"))
    recipe(shots, "e.toml", good.replace("moved", "a"))  # writes what the first one does
    told = cajole("run", shots, *cluster, "--json")
    assert told.code == 1
    entries = {Path(entry["recipe"]).stem: entry for entry in told.json["recipes"]}
    assert [name for name, entry in entries.items() if "error" not in entry] == ["a", "d"]
    assert entries["b"]["error"]["kind"] == "InputError"
    assert entries["c"]["error"]["kind"] == "RecipeError"
    assert "writes it, too" in entries["e"]["error"]["message"]
    assert sorted(path.name for path in shots.glob("*.npz")) == ["a.npz", "d.npz"]
    assert told.json["error"]["message"] == "3 of 5 recipes failed"
    assert told.json["failed"] == 3


def test_outputs_are_named_where_they_are_identity(cajole, simple, monkeypatch, tmp_path):
    """Also of a recipe that is named from outside its folder, by a relative path."""
    monkeypatch.chdir(tmp_path.parent)
    (output,) = cajole("run", simple.relative_to(tmp_path.parent), "--json").json["outputs"]
    assert Path(output) == tmp_path / "moved.npz"
    assert Path(output).is_file()


def test_the_folder_is_left_as_it_was_identity(cajole, simple, monkeypatch, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert cajole("run", simple).code == 0
    assert Path(os.getcwd()) == tmp_path / "elsewhere"
    assert (tmp_path / "moved.npz").is_file()
