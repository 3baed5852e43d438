"""The keys of a recipe: the options and arguments of its verb's command, as the command itself declares them."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import typer

from cajole.errors import InputError

# commands that make nothing out of files, or never end
NOT_IN_RECIPES = ("run", "studio", "demo", "bench", "info", "scenes")
# options that say how the command line answers
NOT_KEYS = ("json", "help")
WORDS: dict[type, str] = {
    int: "a whole number", float: "a number", str: "text", Path: "a path", bool: "true or false",
}  # fmt: skip


class WrongValue(Exception):
    """A value that a key does not take; says what it takes."""


@dataclass(frozen=True)
class Key:
    """An option or argument of a command. many: it may be repeated; flag: what is put for true, and for false.

    written: whether it names what is written; metavar: how its value is described to people.
    """

    name: str
    kind: type
    many: bool
    required: bool
    argument: bool
    flag: tuple[str, str]
    written: bool
    metavar: str

    @property
    def takes(self) -> str:
        """What it takes, in words."""
        form = f", {self.metavar}" if self.metavar and self.kind is str else ""
        one = f"{WORDS[self.kind]}{form}"
        return f"{one}, or a list of such" if self.many else one

    def texts(self, value: Any) -> list[str]:
        """The words of a value, as a command line would have them. Raises WrongValue."""
        if self.kind is bool:
            if not isinstance(value, bool):
                raise WrongValue(self.takes)
            return [""] if value else []
        some = value if self.many and isinstance(value, list) else [value]
        return [self._text(each) for each in some]

    def _text(self, value: Any) -> str:
        number = _is_number(value)
        fits = {
            int: isinstance(value, int) and number,
            float: number,
            str: isinstance(value, str) or number,
            Path: isinstance(value, str) and bool(value),
        }
        if self.kind is str and isinstance(value, list) and value and all(map(_is_number, value)):
            return self._read(",".join(repr(each) for each in value))  # a vector, as the command line has it
        if not fits[self.kind]:
            raise WrongValue(self.takes)
        return self._read(value if isinstance(value, str) else repr(value))

    def _read(self, text: str) -> str:
        """The text itself, if its form is right where that is known from the metavar. Raises WrongValue."""
        words = self.metavar.split("|")
        if all(word.isalpha() and word.islower() for word in words) and text not in words:
            raise WrongValue("one of " + ", ".join(f'"{word}"' for word in words))
        try:
            _forms().get(self.metavar, _as_it_is)(text)
        except InputError:
            raise WrongValue(f"{self.metavar} in plain numbers, without units") from None
        return text

    def words(self, texts: list[str]) -> list[str]:
        """Its part of the command line; what a command takes without a name goes behind the rest."""
        if self.kind is bool:
            return [self.flag[0]] if texts else [self.flag[1]] if self.flag[1] else []
        return texts if self.argument else [f"--{self.name}={text}" for text in texts]


def _as_it_is(text: str) -> object:
    return text


@functools.cache
def _forms() -> dict[str, Callable[[str], object]]:
    """What reads texts that are numbers, by the metavar of their options."""
    from cajole.cli import numbers, pushes

    return {
        "SECONDS": lambda text: numbers.seconds(text, "it"),
        "ALPHA,BETA": lambda text: numbers.pair(text, "it"),
        "X,Y,Z": lambda text: numbers.vector(text, "it"),
        "G|X,Y,Z": pushes.gravity,
    }


def _is_number(value: Any) -> bool:
    # compared, not converted: whole numbers of a recipe may be larger than any float
    finite = isinstance(value, int | float) and abs(value) <= sys.float_info.max
    return finite and not isinstance(value, bool)


@functools.cache
def verbs() -> dict[str, Any]:
    """The commands that recipes may run, by name."""
    from cajole.cli.app import app

    commands: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    return {name: command for name, command in commands.items() if name not in NOT_IN_RECIPES}


@functools.cache
def keys_of(verb: str) -> dict[str, Key]:
    """The keys of a verb, by name, in the order of its help."""
    from cajole.cli.app import app

    functions = {each.name or each.callback.__name__: each.callback for each in app.registered_commands}  # type: ignore[union-attr]
    declared = inspect.signature(functions[verb], eval_str=True).parameters  # type: ignore[arg-type]
    made = [_key(each, declared[each.name]) for each in verbs()[verb].params if each.name in declared]
    return {key.name: key for key in made if key.name not in NOT_KEYS}


def _key(parameter: Any, declared: inspect.Parameter) -> Key:
    argument = parameter.param_type_name == "argument"
    name = parameter.name if argument else max(parameter.opts, key=len).removeprefix("--")
    bare, info = get_args(declared.annotation) if get_origin(declared.annotation) is Annotated else (bool, None)
    kind, many = _kind(bare)
    flag = f"--{name}", next(iter(parameter.secondary_opts), "")
    written = not getattr(info, "readable", True)
    return Key(name, kind, many, parameter.required, argument, flag, written, getattr(info, "metavar", None) or "")


def _kind(annotation: Any) -> tuple[type, bool]:
    """The type of one value, and whether there may be several."""
    union = get_origin(annotation) in (Union, UnionType)
    some = [each for each in get_args(annotation) if each is not NoneType] if union else [annotation]
    many = get_origin(some[0]) is list
    return (get_args(some[0])[0] if many else some[0]), many
