"""Options of commands: fields of dataclasses, from which typer commands, recipe keys and API tables are built."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Union, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand

from cajole.cli.output import JSON_FLAG, get_current_invocation


@dataclasses.dataclass(frozen=True, kw_only=True)
class CommandOptions:
    """Base class of the options of a command; the docstring of a subclass is the help text of its command.

    given: names of the options and arguments that the command line contains. A command with `protects_inputs` refuses
    to write a file that it reads.
    """

    protects_inputs: ClassVar[bool] = True
    given: frozenset[str] = frozenset()


def option(
    text: str,
    *names: str,
    default: Any = None,
    metavar: str | None = None,
    choices: tuple[str, ...] = (),
    complete: Callable[[str], list[str]] | None = None,
    panel: str | None = None,
    readable: bool = True,
) -> Any:
    """Dataclass field that is an option of a command.

    names: as typer takes them, the name of the field by default. choices: the values that the command accepts; they are
    the metavar and the completions. complete: completions of a text. readable: False for files that are written.
    """
    info = typer.Option(
        *names,
        help=re.sub(r"(\[[a-z#/@])", r"\\\1", text),  # units such as [s] are not markup
        metavar=metavar or "|".join(choices) or None,
        autocompletion=_complete_from(lambda: choices) if choices else complete,
        rich_help_panel=panel,
        readable=readable,
    )
    return dataclasses.field(default=default, metadata={"parameter": info})


def argument(
    text: str, *, metavar: str, default: Any = dataclasses.MISSING, complete: Any = None, readable: bool = True
) -> Any:
    """Dataclass field that is a positional argument of a command, required without a default."""
    info = typer.Argument(help=text, metavar=metavar, autocompletion=complete, readable=readable)
    return dataclasses.field(default=default, metadata={"parameter": info})


def get_parameters(options_class: type[CommandOptions]) -> dict[str, tuple[Any, Any]]:
    """Type and typer parameter of each option and argument, by the name of its field.

    The default metavar of integers is COUNT, that of paths FILE.
    """
    hints = get_type_hints(options_class)
    parameters = {}
    for field in dataclasses.fields(options_class):
        if "parameter" in field.metadata:
            kind, info = hints[field.name], field.metadata["parameter"]
            info.metavar = info.metavar or {int: "COUNT", Path: "FILE"}.get(get_value_type(kind)[0])
            parameters[field.name] = kind, info
    return parameters


def build_command(name: str, options_class: type[CommandOptions]) -> Callable[..., None]:
    """Function with a parameter per option, as typer expects it.

    It calls `cajole.cli.NAME.NAME(options)`. The module is imported by the call, so that help and completion need none
    of the numerical packages.
    """
    keyword = inspect.Parameter.KEYWORD_ONLY
    defaults = {
        field.name: inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
        for field in dataclasses.fields(options_class)
    }
    parameters = [
        inspect.Parameter(name, keyword, default=defaults[name], annotation=Annotated[kind, info])
        for name, (kind, info) in get_parameters(options_class).items()
    ]
    as_json = typer.Option(JSON_FLAG, help="Print one JSON document to stdout, and nothing else.")

    def run(context: typer.Context, *, as_json: bool, **values: Any) -> None:
        sources = {name: context.get_parameter_source(name) for name in values}
        given = frozenset(name for name, source in sources.items() if source is not None and source.name != "DEFAULT")
        options = options_class(given=given, **values)
        get_current_invocation().as_json = as_json
        command = getattr(importlib.import_module(f"cajole.cli.{name}"), name)
        if not options.protects_inputs:
            command(options)
            return
        from cajole.storage import protect_inputs, register_input

        with protect_inputs():
            for key, (_, info) in get_parameters(options_class).items():
                for file in find_named_files(values[key]) if info.readable else ():
                    register_input(file)
            command(options)

    run.__name__, run.__doc__ = name, options_class.__doc__
    context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    json = inspect.Parameter("as_json", keyword, default=False, annotation=Annotated[bool, as_json])
    run.__signature__ = inspect.Signature([context, *parameters, json])  # type: ignore[attr-defined]
    return run


class HelpWithoutTypesMixin:
    """Command or group whose help shows no Python type behind flags and arguments."""

    def get_params(self, ctx: Any) -> list[Any]:
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if parameter.param_type_name == "argument":
                parameter.display_type_rich = lambda ctx: None  # its metavar stands in the column of names
            elif getattr(parameter, "is_flag", False) and parameter.metavar is None:
                parameter.metavar = ""
        return parameters


class CajoleCommand(HelpWithoutTypesMixin, TyperCommand):
    """A command of the application."""


def find_named_files(value: Any) -> Iterator[Path]:
    """Every file that the value of a parameter may name: a path, a text with names of files, or a list of these."""
    if isinstance(value, list | tuple):
        for each in value:
            yield from find_named_files(each)
    elif isinstance(value, str | Path) and str(value):
        # separators of file names in texts such as "60=left.npz#3 on head" and "ground:0.1"
        for text in {str(value), *re.split(r"[=#\s:;]+", str(value))} - {""}:
            yield from find_input_files(Path(text))


def find_input_files(path: Path) -> Iterator[Path]:
    """A path and the files that are read with it: the other file of a pair, the mesh of a point cache, a sequence."""
    yield path
    suffix = path.suffix.lower()
    if suffix in (".pc2", ".mdd"):
        for other in (".veg", ".obj", ".ply", ".stl", ".msh", ".vtk", ".vtu", ".mesh"):
            yield path.with_suffix(other)
    elif suffix in (".node", ".ele"):
        yield path.with_suffix(".ele" if suffix == ".node" else ".node")
    elif suffix == ".obj" or (not suffix and path.is_dir()):
        from cajole.animation.obj_sequence import find_obj_sequence
        from cajole.errors import FileError

        try:
            yield from find_obj_sequence(path).find_files().values()
        except (FileError, OSError):  # no sequence; the reader of the file reports it
            return


def _complete_from(get_names: Callable[[], tuple[str, ...]]) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        return [name for name in get_names() if name.startswith(incomplete)]

    return complete


def list_scene_names(*kinds: str) -> tuple[str, ...]:
    """Names of built-in scenes; kinds: body, edit, enrich, reroute, flow, all of them by default."""
    from cajole.scenes import flow_scenes, scene_names
    from cajole.scenes.edit_scenes import list_edit_scene_names
    from cajole.scenes.enrich_scenes import list_enrich_scene_names
    from cajole.scenes.reroute_scenes import list_reroute_scene_names

    names: dict[str, Callable[[], tuple[str, ...]]] = {
        "body": scene_names,
        "flow": lambda: tuple(flow_scenes.FLOW_SCENE_DESCRIPTIONS),
        "edit": list_edit_scene_names,
        "enrich": list_enrich_scene_names,
        "reroute": list_reroute_scene_names,
    }
    return tuple(dict.fromkeys(name for kind in kinds or names for name in names[kind]()))


def complete_files_and_scenes(*kinds: str) -> Callable[[str], list[str]]:
    """Completions of SCENE|FILE: scenes of some kinds, see `list_scene_names`, and files of the folder."""
    complete_scenes = _complete_from(lambda: list_scene_names(*kinds))

    def complete(incomplete: str) -> list[str]:
        folder, slash, start = incomplete.rpartition("/")
        place = Path(folder + slash or ".")
        found = sorted(place.iterdir()) if place.is_dir() else []
        files = [path for path in found if path.name.startswith(start) and (start or not path.name.startswith("."))]
        names = [f"{folder}{slash}{path.name}{'/' * path.is_dir()}" for path in files]
        return [*complete_scenes(incomplete), *names]

    return complete


def get_value_type(annotation: Any) -> tuple[type, bool]:
    """Type of one value of an option, and whether the option may be repeated."""
    is_union = get_origin(annotation) in (Union, UnionType)
    kind = next(each for each in get_args(annotation) if each is not NoneType) if is_union else annotation
    return (get_args(kind)[0], True) if get_origin(kind) is list else (kind, False)
