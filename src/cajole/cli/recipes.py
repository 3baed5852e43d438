"""The keys of a recipe: the options and arguments of its verb's command, as the command itself declares them."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import typer

from cajole.cli.command import find_input_files
from cajole.errors import FileError, InputError
from cajole.storage import build_read_error, open_regular_file

# commands that make nothing out of files, or never end
EXCLUDED_COMMANDS = ("run", "studio", "demo", "bench", "info", "scenes")
# options that say how the command line answers
EXCLUDED_OPTIONS = ("json", "help")
TYPE_DESCRIPTIONS: dict[type, str] = {
    int: "a whole number", float: "a number", str: "text", Path: "a path", bool: "true or false",
}  # fmt: skip


class InvalidRecipeValue(Exception):
    """A value that a key does not take; says what it takes."""


@dataclass(frozen=True)
class RecipeKey:
    """An option or argument of a command. many: it may be repeated; flag: what is put for true, and for false.

    written: whether it names what is written; metavar: how its value is described to people.
    """

    name: str
    value_type: type
    is_repeatable: bool
    is_required: bool
    is_argument: bool
    flag_names: tuple[str, str]
    is_output: bool
    metavar: str

    @property
    def accepted_values(self) -> str:
        """What it takes, in words."""
        form = f", {self.metavar}" if self.metavar and self.value_type is str else ""
        one = f"{TYPE_DESCRIPTIONS[self.value_type]}{form}"
        return f"{one}, or a list of such" if self.is_repeatable else one

    def format_values(self, value: Any) -> list[str]:
        """The words of a value, as a command line would have them. Raises WrongValue."""
        if self.value_type is bool:
            if not isinstance(value, bool):
                raise InvalidRecipeValue(self.accepted_values)
            return [""] if value else []
        some = value if self.is_repeatable and isinstance(value, list) else [value]
        return [self._format_value(each) for each in some]

    def _format_value(self, value: Any) -> str:
        number = _is_number(value)
        fits = {
            int: isinstance(value, int) and number,
            float: number,
            str: isinstance(value, str) or number,
            Path: isinstance(value, str) and bool(value),
        }
        if self.value_type is str and isinstance(value, list) and value and all(map(_is_number, value)):
            return self._check_syntax(",".join(repr(each) for each in value))  # a vector, as the command line has it
        if not fits[self.value_type]:
            raise InvalidRecipeValue(self.accepted_values)
        return self._check_syntax(value if isinstance(value, str) else repr(value))

    def _check_syntax(self, text: str) -> str:
        """The text itself, if its form is right where that is known from the metavar. Raises WrongValue."""
        words = self.metavar.split("|")
        if all(word.isalpha() and word.islower() for word in words) and text not in words:
            raise InvalidRecipeValue("one of " + ", ".join(f'"{word}"' for word in words))
        try:
            _get_syntax_parsers().get(self.metavar, _pass_through)(text)
        except InputError:
            raise InvalidRecipeValue(f"{self.metavar} in plain numbers, without units") from None
        return text

    def build_arguments(self, values: list[str]) -> list[str]:
        """Its part of the command line; what a command takes without a name goes behind the rest."""
        if self.value_type is bool:
            return [self.flag_names[0]] if values else [self.flag_names[1]] if self.flag_names[1] else []
        return values if self.is_argument else [f"--{self.name}={text}" for text in values]


def _pass_through(text: str) -> object:
    return text


@functools.cache
def _get_syntax_parsers() -> dict[str, Callable[[str], object]]:
    """What reads texts that are numbers, by the metavar of their options."""
    from cajole.cli import force_parsers, number_parsers

    return {
        "SECONDS": lambda text: number_parsers.parse_seconds(text, "it"),
        "ALPHA,BETA": lambda text: number_parsers.parse_pair(text, "it"),
        "X,Y,Z": lambda text: number_parsers.parse_vector(text, "it"),
        "G|X,Y,Z": force_parsers.parse_gravity,
    }


def _is_number(value: Any) -> bool:
    # compared, not converted: whole numbers of a recipe may be larger than any float
    finite = isinstance(value, int | float) and abs(value) <= sys.float_info.max
    return finite and not isinstance(value, bool)


@functools.cache
def get_recipe_commands() -> dict[str, Any]:
    """The commands that recipes may run, by name."""
    from cajole.cli.app import app

    commands: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    return {name: command for name, command in commands.items() if name not in EXCLUDED_COMMANDS}


@functools.cache
def get_recipe_keys(verb: str) -> dict[str, RecipeKey]:
    """The keys of a verb, by name, in the order of its help."""
    from cajole.cli.app import app

    functions = {each.name or each.callback.__name__: each.callback for each in app.registered_commands}  # type: ignore[union-attr]
    declared = inspect.signature(functions[verb], eval_str=True).parameters  # type: ignore[arg-type]
    made = [
        _build_key(each, declared[each.name]) for each in get_recipe_commands()[verb].params if each.name in declared
    ]
    return {key.name: key for key in made if key.name not in EXCLUDED_OPTIONS}


def _build_key(parameter: Any, declared: inspect.Parameter) -> RecipeKey:
    argument = parameter.param_type_name == "argument"
    name = parameter.name if argument else max(parameter.opts, key=len).removeprefix("--")
    bare, info = get_args(declared.annotation) if get_origin(declared.annotation) is Annotated else (bool, None)
    kind, many = _resolve_value_type(bare)
    flag = f"--{name}", next(iter(parameter.secondary_opts), "")
    written = not getattr(info, "readable", True)
    return RecipeKey(
        name, kind, many, parameter.required, argument, flag, written, getattr(info, "metavar", None) or ""
    )


def _resolve_value_type(annotation: Any) -> tuple[type, bool]:
    """The type of one value, and whether there may be several."""
    union = get_origin(annotation) in (Union, UnionType)
    some = [each for each in get_args(annotation) if each is not NoneType] if union else [annotation]
    many = get_origin(some[0]) is list
    return (get_args(some[0])[0] if many else some[0]), many


# device and number of a file, or its path where there is none
FileIdentity = tuple[int, int] | Path

VERB_KEY, STEP_KEY = "verb", "step"
# Longer files are no recipes.
MAX_RECIPE_BYTES = 1_000_000
MAX_SHOWN_CHARACTERS = 80
# how commands call texts that may be files
FILE_METAVARS = ("FILE", "GUIDE")


@dataclass(frozen=True)
class RecipeProblem:
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
        given = "" if self.given is None else f" = {_truncate_value(self.given)}"
        meant = "" if self.nearest is None else f' (did you mean "{self.nearest}"?)'
        return f"{where}{self.key}{given}: {self.wrong}{meant}{'; ' if self.wrong else ''}{self.allowed}"

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return vars(self) | {"message": str(self)}


@dataclass(frozen=True)
class RecipeStep:
    """One command: its words, the files it names to be read, and those it writes."""

    verb: str
    arguments: tuple[str, ...]
    input_files: tuple[tuple[str, str], ...] = ()
    output_files: tuple[str, ...] = ()


@dataclass
class RecipeFile:
    """A file, its steps, and what is wrong with it."""

    path: Path
    steps: list[RecipeStep] = field(default_factory=list)
    problems: list[RecipeProblem] = field(default_factory=list)
    # where its paths are relative to; found at once, since steps are run from inside it
    folder: Path = field(init=False)

    def __post_init__(self) -> None:
        self.folder = self.path.absolute().parent


def read_recipes(files: list[Path]) -> list[RecipeFile]:
    """Recipes in files, with their problems: also that two of them would write one file."""
    recipes = [read_recipe(file) for file in files]
    first: dict[Path, RecipeFile] = {}
    for recipe in recipes:
        for written in {path for step in recipe.steps for path in step.output_files}:
            other = first.setdefault((recipe.folder / written).resolve(), recipe)
            if other is not recipe:
                recipe.problems.append(
                    RecipeProblem("", "output", written, f"{other.path} writes it, too; choose another")
                )
    return recipes


def read_recipe(file: Path) -> RecipeFile:
    """The recipe in a file; what is wrong with it is among its problems, a file that cannot be read too."""
    recipe = RecipeFile(file)
    try:
        table = _read_toml(file)
    except FileError as reason:
        recipe.problems.append(RecipeProblem("", "the file", None, str(reason)))
        return recipe
    for place, step in _split_steps(table, recipe.problems):
        made = _parse_step(place, step, recipe)
        recipe.steps += [] if made is None else [made]
    return recipe


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        with open_regular_file(file) as stream:
            raw = stream.read(MAX_RECIPE_BYTES + 1)
        if len(raw) > MAX_RECIPE_BYTES:
            raise FileError(f"it is longer than {MAX_RECIPE_BYTES} bytes, so it is no recipe")
        return tomllib.loads(raw.decode("utf-8"))
    except OSError as reason:
        raise build_read_error(file, reason) from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as reason:
        raise FileError(f"it is no TOML: {reason}") from None


def _split_steps(table: dict[str, Any], problems: list[RecipeProblem]) -> list[tuple[str, dict[str, Any]]]:
    """The tables of the steps, each with its place: one, the file itself, or all that stand under [[step]]."""
    if STEP_KEY not in table:
        return [("", table)]
    rest = [key for key in table if key != STEP_KEY]
    for key in rest:
        problems.append(
            RecipeProblem("", key, table[key], f"put it into a step; beside [[{STEP_KEY}]] there is nothing else")
        )
    found = table[STEP_KEY]
    if not isinstance(found, list) or not found or not all(isinstance(each, dict) for each in found):
        problems.append(
            RecipeProblem("", STEP_KEY, found, f"steps are written [[{STEP_KEY}]], each with a {VERB_KEY} and its keys")
        )
        return []
    return [(f"step {k}", each) for k, each in enumerate(found, start=1)]


def _parse_step(place: str, table: dict[str, Any], recipe: RecipeFile) -> RecipeStep | None:
    """A step, or None where it has no verb; what is wrong with it is added to the problems of the recipe."""
    verb = table.get(VERB_KEY)
    known = list(get_recipe_commands())
    if not isinstance(verb, str) or verb not in known:
        wrong = "is missing" if verb is None else "no such verb"
        recipe.problems.append(
            RecipeProblem(place, VERB_KEY, verb, _format_choices(known), wrong, _find_nearest_name(verb, known))
        )
        return None
    here, keys = f"{place} ({verb})" if place else verb, get_recipe_keys(verb)
    texts: dict[str, list[str]] = {}
    for name, value in table.items():
        if name == VERB_KEY:
            continue
        problem = _parse_key(here, name, value, keys, texts)
        recipe.problems += [] if problem is None else [problem]
    for name, key in keys.items():
        if key.is_required and not texts.get(name) and name not in table:
            recipe.problems.append(RecipeProblem(here, name, None, f"it is {key.accepted_values}", "is missing"))
    step = _build_step(verb, keys, texts)
    recipe.problems += _find_missing_files(here, step, recipe) + _find_unknown_scenes(here, keys, texts, recipe.folder)
    recipe.problems += _find_overwritten_inputs(here, step, recipe)
    return step


def _parse_key(
    place: str, name: str, value: Any, keys: dict[str, RecipeKey], texts: dict[str, list[str]]
) -> RecipeProblem | None:
    """What is wrong with a key; where nothing is, its words are put into `texts`."""
    if name not in keys:
        return RecipeProblem(
            place, name, value, _format_choices(list(keys)), "no such key", _find_nearest_name(name, list(keys))
        )
    try:
        texts[name] = keys[name].format_values(value)
    except InvalidRecipeValue as allowed:
        return RecipeProblem(place, name, value, f"must be {allowed}")
    return None


def _build_step(verb: str, keys: dict[str, RecipeKey], texts: dict[str, list[str]]) -> RecipeStep:
    given = {name: key for name, key in keys.items() if name in texts}
    options = [word for name, key in given.items() if not key.is_argument for word in key.build_arguments(texts[name])]
    behind = [word for name, key in given.items() if key.is_argument for word in key.build_arguments(texts[name])]
    paths = {name: key for name, key in given.items() if key.value_type is Path}
    reads = [(name, text) for name, key in paths.items() if not key.is_output for text in texts[name]]
    reads += [(name, found) for name, key in given.items() for found in _find_files(key, texts[name])]
    writes = [text for name, key in paths.items() if key.is_output for text in texts[name]]
    return RecipeStep(verb, (*options, "--", *behind), tuple(reads), tuple(writes))


def _find_files(key: RecipeKey, texts: list[str]) -> list[str]:
    """Files that texts name, where the key says that they may: "60=left.npz#3" and "body.obj", but not "dinosaur"."""
    if key.value_type is not str or not any(word in key.metavar for word in FILE_METAVARS):
        return []
    names = [text.rpartition("=")[2].partition("#")[0].split(" ")[0] for text in texts]
    return [name for name in names if Path(name).suffix.lower() in _list_readable_suffixes()]


def _list_readable_suffixes() -> tuple[str, ...]:
    from cajole.animation.files import FORMATS
    from cajole.mesh.files import READERS

    return (*FORMATS, *READERS)


def _find_missing_files(place: str, step: RecipeStep, recipe: RecipeFile) -> list[RecipeProblem]:
    """Files that are to be read, but neither are there nor are written by a step before."""
    made = {recipe.folder / path for before in recipe.steps for path in before.output_files}
    sequences = any(path.suffix.lower() == ".obj" for path in made)
    missing = []
    for name, text in step.input_files:
        path = recipe.folder / text
        pattern = "#" in text or "%" in text or (path.suffix.lower() == ".obj" and sequences)
        # os.path: a name that is too long for any file is a file that is not there, and no error of its own
        if not (pattern or os.path.exists(path) or path in made):
            beside = path.parent.glob("*") if os.path.isdir(path.parent) else ()
            near = _find_nearest_name(path.name, [each.name for each in (*beside, *made)])
            allowed = f"paths are relative to {recipe.folder}"
            missing.append(RecipeProblem(place, name, text, allowed, "no such file", near))
    return missing


def _find_overwritten_inputs(place: str, step: RecipeStep, recipe: RecipeFile) -> list[RecipeProblem]:
    """Files that are to be written, but that this step or one before it reads, unless the recipe itself made them.

    Frames of .obj sequences count, as far as they are there.
    """
    made = {
        file
        for before in recipe.steps
        for text in before.output_files
        for file in _identify_output_files(recipe.folder / text)
    }
    before = {
        file
        for each in recipe.steps
        for _, text in each.input_files
        for file in _identify_input_files(recipe.folder / text)
    }
    reads = {file for _, text in step.input_files for file in _identify_input_files(recipe.folder / text)}
    reads |= {_identify_file(recipe.path)} | (before - made)
    return [
        RecipeProblem(place, "output", text, "it is what is read, and would be lost; name another file")
        for text in step.output_files
        if not reads.isdisjoint(_identify_output_files(recipe.folder / text))
    ]


def _identify_input_files(path: Path) -> set[FileIdentity]:
    """The files that are read for a path, which may stand for a sequence."""
    return {_identify_file(file) for file in find_input_files(path)}


def _identify_output_files(path: Path) -> set[FileIdentity]:
    """The files that are replaced when a path is written: of an .obj also the frames of its sequence."""
    from cajole.animation.obj_sequence import parse_output_sequence

    files = [path]
    if path.suffix.lower() == ".obj":
        with contextlib.suppress(FileError, OSError):  # the step itself says what is wrong with the name
            files += parse_output_sequence(path).find_files().values()
    return {_identify_file(file) for file in files}


def _identify_file(path: Path) -> FileIdentity:
    """What all names and links of a file have in common; of one that is not there its resolved path."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return path.resolve()
    return found.st_dev, found.st_ino


def _find_unknown_scenes(
    place: str, keys: dict[str, RecipeKey], texts: dict[str, list[str]], folder: Path
) -> list[RecipeProblem]:
    """Names of scenes, where such may stand, that no verb knows."""
    found = []
    for name, text in [(name, text) for name, some in texts.items() if "SCENE" in keys[name].metavar for text in some]:
        known = [*_list_scene_names(), *(word for word in keys[name].metavar.split("|") if word.islower())]
        if not Path(text).suffix and text not in known and not os.path.exists(folder / text):
            found.append(
                RecipeProblem(
                    place, name, text, "files have a suffix", "no such scene", _find_nearest_name(text, known)
                )
            )
    return found


@functools.cache
def _list_scene_names() -> tuple[str, ...]:
    from cajole.scenes import flow_scenes, scene_names
    from cajole.scenes.edit_scenes import list_edit_scene_names
    from cajole.scenes.enrich_scenes import list_enrich_scene_names
    from cajole.scenes.reroute_scenes import list_reroute_scene_names

    return (
        *scene_names(),
        *flow_scenes.FLOW_SCENE_DESCRIPTIONS,
        *list_edit_scene_names(),
        *list_enrich_scene_names(),
        *list_reroute_scene_names(),
    )


def _find_nearest_name(name: Any, known: list[str]) -> str | None:
    return next(iter(get_close_matches(name, known, 1)), None) if isinstance(name, str) else None


def _format_choices(names: list[str]) -> str:
    return f"there are {', '.join(names)}"


def _truncate_value(value: Any) -> str:
    text = f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= MAX_SHOWN_CHARACTERS else f"{text[:MAX_SHOWN_CHARACTERS]}…"
