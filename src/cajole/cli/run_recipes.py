"""Recipes as files: read, and held against the keys of their verbs; all that is wrong is found at once."""

from __future__ import annotations

import contextlib
import functools
import os
import tomllib
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from cajole.cli.inputs import files_read_with
from cajole.cli.run_keys import Key, WrongValue, keys_of, verbs
from cajole.errors import FileError
from cajole.storage import cannot_read, open_regular

# device and number of a file, or its path where there is none
FileIdentity = tuple[int, int] | Path

VERB, STEPS = "verb", "step"
# Longer files are no recipes.
MOST_BYTES = 1_000_000
MOST_SHOWN = 80
# how commands call texts that may be files
NAMING = ("FILE", "GUIDE")


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: where, which key, what was given, what is allowed.

    wrong: of a name, what there is not; nearest: the name that was likely meant.
    """

    place: str
    key: str
    given: Any
    allowed: str
    wrong: str = ""
    nearest: str | None = None

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        given = "" if self.given is None else f" = {_shortly(self.given)}"
        meant = "" if self.nearest is None else f' (did you mean "{self.nearest}"?)'
        return f"{where}{self.key}{given}: {self.wrong}{meant}{'; ' if self.wrong else ''}{self.allowed}"

    def told(self) -> dict[str, Any]:
        """As JSON has it."""
        return vars(self) | {"message": str(self)}


@dataclass(frozen=True)
class Step:
    """One command: its words, the files it names to be read, and those it writes."""

    verb: str
    words: tuple[str, ...]
    reads: tuple[tuple[str, str], ...] = ()
    writes: tuple[str, ...] = ()


@dataclass
class Recipe:
    """A file, its steps, and what is wrong with it."""

    file: Path
    steps: list[Step] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    # where its paths are relative to; found at once, since steps are run from inside it
    folder: Path = field(init=False)

    def __post_init__(self) -> None:
        self.folder = self.file.absolute().parent


def read_recipes(files: list[Path]) -> list[Recipe]:
    """Recipes in files, with their problems: also that two of them would write one file."""
    recipes = [read_recipe(file) for file in files]
    first: dict[Path, Recipe] = {}
    for recipe in recipes:
        for written in {path for step in recipe.steps for path in step.writes}:
            other = first.setdefault((recipe.folder / written).resolve(), recipe)
            if other is not recipe:
                recipe.problems.append(Problem("", "output", written, f"{other.file} writes it, too; choose another"))
    return recipes


def read_recipe(file: Path) -> Recipe:
    """The recipe in a file; what is wrong with it is among its problems, a file that cannot be read too."""
    recipe = Recipe(file)
    try:
        table = _table(file)
    except FileError as reason:
        recipe.problems.append(Problem("", "the file", None, str(reason)))
        return recipe
    for place, step in _steps(table, recipe.problems):
        made = _step(place, step, recipe)
        recipe.steps += [] if made is None else [made]
    return recipe


def _table(file: Path) -> dict[str, Any]:
    try:
        with open_regular(file) as stream:
            raw = stream.read(MOST_BYTES + 1)
        if len(raw) > MOST_BYTES:
            raise FileError(f"it is longer than {MOST_BYTES} bytes, so it is no recipe")
        return tomllib.loads(raw.decode("utf-8"))
    except OSError as reason:
        raise cannot_read(file, reason) from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as reason:
        raise FileError(f"it is no TOML: {reason}") from None


def _steps(table: dict[str, Any], problems: list[Problem]) -> list[tuple[str, dict[str, Any]]]:
    """The tables of the steps, each with its place: one, the file itself, or all that stand under [[step]]."""
    if STEPS not in table:
        return [("", table)]
    rest = [key for key in table if key != STEPS]
    for key in rest:
        problems.append(Problem("", key, table[key], f"put it into a step; beside [[{STEPS}]] there is nothing else"))
    found = table[STEPS]
    if not isinstance(found, list) or not found or not all(isinstance(each, dict) for each in found):
        problems.append(Problem("", STEPS, found, f"steps are written [[{STEPS}]], each with a {VERB} and its keys"))
        return []
    return [(f"step {k}", each) for k, each in enumerate(found, start=1)]


def _step(place: str, table: dict[str, Any], recipe: Recipe) -> Step | None:
    """A step, or None where it has no verb; what is wrong with it is added to the problems of the recipe."""
    verb = table.get(VERB)
    known = list(verbs())
    if not isinstance(verb, str) or verb not in known:
        wrong = "is missing" if verb is None else "no such verb"
        recipe.problems.append(Problem(place, VERB, verb, _listed(known), wrong, _nearest(verb, known)))
        return None
    here, keys = f"{place} ({verb})" if place else verb, keys_of(verb)
    texts: dict[str, list[str]] = {}
    for name, value in table.items():
        if name == VERB:
            continue
        problem = _read_key(here, name, value, keys, texts)
        recipe.problems += [] if problem is None else [problem]
    for name, key in keys.items():
        if key.required and not texts.get(name) and name not in table:
            recipe.problems.append(Problem(here, name, None, f"it is {key.takes}", "is missing"))
    step = _made(verb, keys, texts)
    recipe.problems += _missing(here, step, recipe) + _unknown(here, keys, texts, recipe.folder)
    recipe.problems += _overwritten(here, step, recipe)
    return step


def _read_key(place: str, name: str, value: Any, keys: dict[str, Key], texts: dict[str, list[str]]) -> Problem | None:
    """What is wrong with a key; where nothing is, its words are put into `texts`."""
    if name not in keys:
        return Problem(place, name, value, _listed(list(keys)), "no such key", _nearest(name, list(keys)))
    try:
        texts[name] = keys[name].texts(value)
    except WrongValue as allowed:
        return Problem(place, name, value, f"must be {allowed}")
    return None


def _made(verb: str, keys: dict[str, Key], texts: dict[str, list[str]]) -> Step:
    given = {name: key for name, key in keys.items() if name in texts}
    options = [word for name, key in given.items() if not key.argument for word in key.words(texts[name])]
    behind = [word for name, key in given.items() if key.argument for word in key.words(texts[name])]
    paths = {name: key for name, key in given.items() if key.kind is Path}
    reads = [(name, text) for name, key in paths.items() if not key.written for text in texts[name]]
    reads += [(name, found) for name, key in given.items() for found in _files_in(key, texts[name])]
    writes = [text for name, key in paths.items() if key.written for text in texts[name]]
    return Step(verb, (*options, "--", *behind), tuple(reads), tuple(writes))


def _files_in(key: Key, texts: list[str]) -> list[str]:
    """Files that texts name, where the key says that they may: "60=left.npz#3" and "body.obj", but not "dinosaur"."""
    if key.kind is not str or not any(word in key.metavar for word in NAMING):
        return []
    names = [text.rpartition("=")[2].partition("#")[0].split(" ")[0] for text in texts]
    return [name for name in names if Path(name).suffix.lower() in _suffixes()]


def _suffixes() -> tuple[str, ...]:
    from cajole.animation.files import FORMATS
    from cajole.mesh.files import READERS

    return (*FORMATS, *READERS)


def _missing(place: str, step: Step, recipe: Recipe) -> list[Problem]:
    """Files that are to be read, but neither are there nor are written by a step before."""
    made = {recipe.folder / path for before in recipe.steps for path in before.writes}
    sequences = any(path.suffix.lower() == ".obj" for path in made)
    missing = []
    for name, text in step.reads:
        path = recipe.folder / text
        pattern = "#" in text or "%" in text or (path.suffix.lower() == ".obj" and sequences)
        # os.path: a name that is too long for any file is a file that is not there, and no error of its own
        if not (pattern or os.path.exists(path) or path in made):
            beside = path.parent.glob("*") if os.path.isdir(path.parent) else ()
            near = _nearest(path.name, [each.name for each in (*beside, *made)])
            allowed = f"paths are relative to {recipe.folder}"
            missing.append(Problem(place, name, text, allowed, "no such file", near))
    return missing


def _overwritten(place: str, step: Step, recipe: Recipe) -> list[Problem]:
    """Files that are to be written, but that this step or one before it reads, unless the recipe itself made them.

    Frames of .obj sequences count, as far as they are there.
    """
    made = {file for before in recipe.steps for text in before.writes for file in _files_written(recipe.folder / text)}
    before = {file for each in recipe.steps for _, text in each.reads for file in _files_read(recipe.folder / text)}
    reads = {file for _, text in step.reads for file in _files_read(recipe.folder / text)}
    reads |= {_identity(recipe.file)} | (before - made)
    return [
        Problem(place, "output", text, "it is what is read, and would be lost; name another file")
        for text in step.writes
        if not reads.isdisjoint(_files_written(recipe.folder / text))
    ]


def _files_read(path: Path) -> set[FileIdentity]:
    """The files that are read for a path, which may stand for a sequence."""
    return {_identity(file) for file in files_read_with(path)}


def _files_written(path: Path) -> set[FileIdentity]:
    """The files that are replaced when a path is written: of an .obj also the frames of its sequence."""
    from cajole.animation.objs import sequence_to

    files = [path]
    if path.suffix.lower() == ".obj":
        with contextlib.suppress(FileError, OSError):  # the step itself says what is wrong with the name
            files += sequence_to(path).files().values()
    return {_identity(file) for file in files}


def _identity(path: Path) -> FileIdentity:
    """What all names and links of a file have in common; of one that is not there its resolved path."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return path.resolve()
    return found.st_dev, found.st_ino


def _unknown(place: str, keys: dict[str, Key], texts: dict[str, list[str]], folder: Path) -> list[Problem]:
    """Names of scenes, where such may stand, that no verb knows."""
    found = []
    for name, text in [(name, text) for name, some in texts.items() if "SCENE" in keys[name].metavar for text in some]:
        known = [*_scenes(), *(word for word in keys[name].metavar.split("|") if word.islower())]
        if not Path(text).suffix and text not in known and not os.path.exists(folder / text):
            found.append(Problem(place, name, text, "files have a suffix", "no such scene", _nearest(text, known)))
    return found


@functools.cache
def _scenes() -> tuple[str, ...]:
    from cajole.scenes import flowing, scene_names
    from cajole.scenes.editing import edit_scene_names
    from cajole.scenes.enriching import enrich_scene_names
    from cajole.scenes.rerouting import reroute_scene_names

    return (*scene_names(), *flowing.PURPOSES, *edit_scene_names(), *enrich_scene_names(), *reroute_scene_names())


def _nearest(name: Any, known: list[str]) -> str | None:
    return next(iter(get_close_matches(name, known, 1)), None) if isinstance(name, str) else None


def _listed(names: list[str]) -> str:
    return f"there are {', '.join(names)}"


def _shortly(value: Any) -> str:
    text = f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"
