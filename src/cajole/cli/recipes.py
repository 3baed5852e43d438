"""Recipes: TOML files of commands. Their keys are the options and arguments of the commands."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import typer

from cajole.animation.files import FORMATS
from cajole.animation.obj_sequence import parse_output_sequence
from cajole.cli.app import app
from cajole.cli.command_options import COMMANDS
from cajole.cli.options import find_input_files, get_parameters, get_value_type, list_scene_names
from cajole.cli.parsers import parse_gravity, parse_pair, parse_seconds, parse_vector
from cajole.errors import FileError, InputError
from cajole.mesh.files import READERS
from cajole.storage import build_read_error, open_regular_file

# commands that make nothing from files, or never end
EXCLUDED_COMMANDS = ("run", "studio", "demo", "bench", "info", "scenes")


class InvalidRecipeValue(Exception):
    """A value that a key does not accept; the message names the accepted values."""


@dataclass(frozen=True)
class RecipeKey:
    """An option or argument of a command.

    flag_names: options for true and for false; is_output: it names files that are written; metavar: format of its
    values.
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
        """Description of the accepted values."""
        names = {int: "a whole number", float: "a number", str: "text", Path: "a path", bool: "true or false"}
        form = f", {self.metavar}" if self.metavar and self.value_type is str else ""
        return f"{names[self.value_type]}{form}{', or a list of such' * self.is_repeatable}"

    def format_values(self, value: Any) -> list[str]:
        """The value as words of a command line. Raises InvalidRecipeValue."""
        if self.value_type is bool:
            if not isinstance(value, bool):
                raise InvalidRecipeValue(self.accepted_values)
            return [""] if value else []
        values = value if self.is_repeatable and isinstance(value, list) else [value]
        return [self._format_value(each) for each in values]

    def _format_value(self, value: Any) -> str:
        is_number = _is_number(value)
        fits = {
            int: isinstance(value, int) and is_number,
            float: is_number,
            str: isinstance(value, str) or is_number,
            Path: isinstance(value, str) and bool(value),
        }
        if self.value_type is str and isinstance(value, list) and value and all(map(_is_number, value)):
            text = ",".join(repr(each) for each in value)  # a vector
        elif fits[self.value_type]:
            text = value if isinstance(value, str) else repr(value)
        else:
            raise InvalidRecipeValue(self.accepted_values)
        choices = self.metavar.split("|")
        if all(word.replace("-", "").isalpha() and word.islower() for word in choices) and text not in choices:
            raise InvalidRecipeValue("one of " + ", ".join(f'"{word}"' for word in choices))
        parsers: dict[str, Callable[[str], object]] = {
            "SECONDS": lambda text: parse_seconds(text, "it"),
            "ALPHA,BETA": lambda text: parse_pair(text, "it"),
            "X,Y,Z": lambda text: parse_vector(text, "it"),
            "G|X,Y,Z": parse_gravity,
        }
        try:
            parsers.get(self.metavar, str)(text)
        except InputError:
            raise InvalidRecipeValue(f"{self.metavar} in plain numbers, without units") from None
        return text

    def build_arguments(self, values: list[str]) -> list[str]:
        """Its part of the command line."""
        if self.value_type is bool:
            return [self.flag_names[0]] if values else [self.flag_names[1]] if self.flag_names[1] else []
        return values if self.is_argument else [f"--{self.name}={text}" for text in values]


def _is_number(value: Any) -> bool:
    # compared, not converted: integers of a recipe may be larger than any float
    finite = isinstance(value, int | float) and abs(value) <= sys.float_info.max
    return finite and not isinstance(value, bool)


@functools.cache
def get_recipe_commands() -> dict[str, Any]:
    """The commands that recipes may run, by name."""
    commands: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    return {name: command for name, command in commands.items() if name not in EXCLUDED_COMMANDS}


@functools.cache
def get_recipe_keys(verb: str) -> dict[str, RecipeKey]:
    """The keys of a verb, by name, in the order of its options."""
    declared, keys = get_parameters(COMMANDS[verb]), {}
    for parameter in get_recipe_commands()[verb].params:
        if parameter.name not in declared:
            continue
        annotation, info = declared[parameter.name]
        is_argument = parameter.param_type_name == "argument"
        name = parameter.name if is_argument else max(parameter.opts, key=len).removeprefix("--")
        kind, is_repeatable = get_value_type(annotation)
        keys[name] = RecipeKey(
            name,
            kind,
            is_repeatable,
            parameter.required,
            is_argument,
            (f"--{name}", next(iter(parameter.secondary_opts), "")),
            not info.readable,
            info.metavar or "",
        )
    return keys


# device and number of a file, or its path if it does not exist
FileIdentity = tuple[int, int] | Path


@dataclass(frozen=True)
class RecipeProblem:
    """An error in a recipe: its place, the key, the given value and the allowed ones.

    wrong: the kind of error of a name; nearest: the similar name that exists.
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
        """The problem as a JSON object."""
        return vars(self) | {"message": str(self)}


def _truncate_value(value: Any) -> str:
    text = f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= 80 else f"{text[:80]}…"


@dataclass(frozen=True)
class RecipeStep:
    """A command: its arguments, the files that it reads, as (key, path), and those that it writes."""

    verb: str
    arguments: tuple[str, ...]
    input_files: tuple[tuple[str, str], ...] = ()
    output_files: tuple[str, ...] = ()


@dataclass
class RecipeFile:
    """A recipe: its steps and its problems."""

    path: Path
    steps: list[RecipeStep] = field(default_factory=list)
    problems: list[RecipeProblem] = field(default_factory=list)
    # the folder of relative paths, resolved at once since steps run inside it
    folder: Path = field(init=False)

    def __post_init__(self) -> None:
        self.folder = self.path.absolute().parent


def read_recipes(files: list[Path]) -> list[RecipeFile]:
    """Read recipes; it is a problem too if two of them write the same file."""
    recipes = [read_recipe(file) for file in files]
    first: dict[Path, RecipeFile] = {}
    for recipe in recipes:
        for written in {path for step in recipe.steps for path in step.output_files}:
            other = first.setdefault((recipe.folder / written).resolve(), recipe)
            if other is not recipe:
                message = f"{other.path} writes it, too; choose another"
                recipe.problems.append(RecipeProblem("", "output", written, message))
    return recipes


def read_recipe(file: Path) -> RecipeFile:
    """Read a recipe; errors, an unreadable file among them, become its problems."""
    recipe = RecipeFile(file)
    try:
        table = _read_toml(file)
    except FileError as reason:
        recipe.problems.append(RecipeProblem("", "the file", None, str(reason)))
        return recipe
    for place, step in _split_steps(table, recipe.problems):
        parsed = _parse_step(place, step, recipe)
        recipe.steps += [] if parsed is None else [parsed]
    return recipe


def _read_toml(file: Path) -> dict[str, Any]:
    limit = 1_000_000
    try:
        with open_regular_file(file) as stream:
            raw = stream.read(limit + 1)
        if len(raw) > limit:
            raise FileError(f"it is longer than {limit} bytes, so it is no recipe")
        return tomllib.loads(raw.decode("utf-8"))
    except OSError as reason:
        raise build_read_error(file, reason) from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as reason:
        raise FileError(f"it is no TOML: {reason}") from None


def _split_steps(table: dict[str, Any], problems: list[RecipeProblem]) -> list[tuple[str, dict[str, Any]]]:
    """The tables of the steps, with their places: the file itself, or all [[step]] tables."""
    if "step" not in table:
        return [("", table)]
    for key in table:
        if key != "step":
            message = "put it into a step; beside [[step]] there is nothing else"
            problems.append(RecipeProblem("", key, table[key], message))
    steps = table["step"]
    if not isinstance(steps, list) or not steps or not all(isinstance(each, dict) for each in steps):
        problems.append(RecipeProblem("", "step", steps, "steps are written [[step]], each with a verb and its keys"))
        return []
    return [(f"step {k}", each) for k, each in enumerate(steps, start=1)]


def _parse_step(place: str, table: dict[str, Any], recipe: RecipeFile) -> RecipeStep | None:
    """A step, or None without a verb; adds its problems to those of the recipe."""
    verb, known = table.get("verb"), list(get_recipe_commands())
    if not isinstance(verb, str) or verb not in known:
        wrong = "is missing" if verb is None else "no such verb"
        recipe.problems.append(
            RecipeProblem(place, "verb", verb, _format_choices(known), wrong, _find_nearest_name(verb, known))
        )
        return None
    here, keys = f"{place} ({verb})" if place else verb, get_recipe_keys(verb)
    texts: dict[str, list[str]] = {}
    for name, value in table.items():
        if name == "verb":
            continue
        if name not in keys:
            nearest = _find_nearest_name(name, list(keys))
            recipe.problems.append(
                RecipeProblem(here, name, value, _format_choices(list(keys)), "no such key", nearest)
            )
            continue
        try:
            texts[name] = keys[name].format_values(value)
        except InvalidRecipeValue as allowed:
            recipe.problems.append(RecipeProblem(here, name, value, f"must be {allowed}"))
    for name, key in keys.items():
        if key.is_required and not texts.get(name) and name not in table:
            recipe.problems.append(RecipeProblem(here, name, None, f"it is {key.accepted_values}", "is missing"))
    step = _build_step(verb, keys, texts)
    recipe.problems += _find_missing_files(here, step, recipe) + _find_unknown_scenes(here, keys, texts, recipe.folder)
    recipe.problems += _find_overwritten_inputs(here, step, recipe)
    return step


def _build_step(verb: str, keys: dict[str, RecipeKey], texts: dict[str, list[str]]) -> RecipeStep:
    options: list[str] = []
    arguments: list[str] = []
    reads: list[tuple[str, str]] = []
    writes: list[str] = []
    for name, key in keys.items():
        if name not in texts:
            continue
        (arguments if key.is_argument else options).extend(key.build_arguments(texts[name]))
        if key.value_type is Path and key.is_output:
            writes += texts[name]
        elif key.value_type is Path:
            reads += [(name, text) for text in texts[name]]
        elif key.value_type is str and any(word in key.metavar for word in ("FILE", "GUIDE")):
            # "60=left.npz#3" and "body.obj" name files, "dinosaur" does not
            files = [text.rpartition("=")[2].partition("#")[0].split(" ")[0] for text in texts[name]]
            reads += [(name, file) for file in files if Path(file).suffix.lower() in (*FORMATS, *READERS)]
    return RecipeStep(verb, (*options, "--", *arguments), tuple(reads), tuple(writes))


def _find_missing_files(place: str, step: RecipeStep, recipe: RecipeFile) -> list[RecipeProblem]:
    """Input files that neither exist nor are written by an earlier step."""
    written = {recipe.folder / path for before in recipe.steps for path in before.output_files}
    has_sequences = any(path.suffix.lower() == ".obj" for path in written)
    missing = []
    for name, text in step.input_files:
        path = recipe.folder / text
        is_pattern = "#" in text or "%" in text or (path.suffix.lower() == ".obj" and has_sequences)
        # os.path.exists is false for names that are too long, where Path.exists raises
        if not (is_pattern or os.path.exists(path) or path in written):
            beside = path.parent.glob("*") if os.path.isdir(path.parent) else ()
            nearest = _find_nearest_name(path.name, [each.name for each in (*beside, *written)])
            allowed = f"paths are relative to {recipe.folder}"
            missing.append(RecipeProblem(place, name, text, allowed, "no such file", nearest))
    return missing


def _find_overwritten_inputs(place: str, step: RecipeStep, recipe: RecipeFile) -> list[RecipeProblem]:
    """Output files that this step or an earlier one reads, unless the recipe itself made them.

    Existing frames of .obj sequences count.
    """
    folder = recipe.folder
    written = {
        file for each in recipe.steps for text in each.output_files for file in _identify_output_files(folder / text)
    }
    read = {
        _identify_file(file)
        for each in recipe.steps
        for _, text in each.input_files
        for file in find_input_files(folder / text)
    }
    own = {_identify_file(file) for _, text in step.input_files for file in find_input_files(folder / text)}
    protected = own | {_identify_file(recipe.path)} | (read - written)
    return [
        RecipeProblem(place, "output", text, "it is what is read, and would be lost; name another file")
        for text in step.output_files
        if not protected.isdisjoint(_identify_output_files(folder / text))
    ]


def _identify_output_files(path: Path) -> set[FileIdentity]:
    """The files that writing a path replaces: of an .obj also the frames of its sequence."""
    files = [path]
    if path.suffix.lower() == ".obj":
        with contextlib.suppress(FileError, OSError):  # the step itself reports bad names
            files += parse_output_sequence(path).find_files().values()
    return {_identify_file(file) for file in files}


def _identify_file(path: Path) -> FileIdentity:
    """A value that is equal for all names and links of a file; the resolved path if it does not exist."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return path.resolve()
    return found.st_dev, found.st_ino


def _find_unknown_scenes(
    place: str, keys: dict[str, RecipeKey], texts: dict[str, list[str]], folder: Path
) -> list[RecipeProblem]:
    """Unknown names of scenes in keys that accept scenes."""
    problems = []
    for name, text in [(name, text) for name, some in texts.items() if "SCENE" in keys[name].metavar for text in some]:
        known = [*list_scene_names(), *(word for word in keys[name].metavar.split("|") if word.islower())]
        if not Path(text).suffix and text not in known and not os.path.exists(folder / text):
            nearest = _find_nearest_name(text, known)
            problems.append(RecipeProblem(place, name, text, "files have a suffix", "no such scene", nearest))
    return problems


def _find_nearest_name(name: Any, known: list[str]) -> str | None:
    return next(iter(get_close_matches(name, known, 1)), None) if isinstance(name, str) else None


def _format_choices(names: list[str]) -> str:
    return f"there are {', '.join(names)}"
