"""`cajole run`: run recipes."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import typer

from cajole import cluster
from cajole.cli.command_options import RunCommandOptions
from cajole.cli.output import (
    CommandInvocation,
    DryRunComplete,
    ExitCode,
    UsageError,
    add_title,
    build_error_document,
    build_table,
    describe_usage_error,
    enter_invocation,
    get_current_invocation,
    print_error,
    print_result,
    show_progress,
)
from cajole.cli.recipes import RecipeFile, RecipeStep, get_recipe_commands, read_recipes
from cajole.errors import CajoleError, Cancelled, FileError
from cajole.storage import protect_inputs, register_input


def run(options: RunCommandOptions) -> None:
    """Run or check recipes and print their results."""
    recipes = read_recipes(_find_recipes(options.recipes))
    as_json = get_current_invocation().as_json
    if options.check:
        results = [_process_recipe(recipe, lambda recipe, _: _check_steps(recipe)) for recipe in recipes]
    elif len(recipes) == 1 and options.cluster is None:  # shows the progress and the answers of its own steps
        results = [_process_recipe(recipes[0], lambda recipe, result: _run_steps(recipe, result, quiet=as_json))]
    else:
        with show_progress("run") as progress:
            results = cluster.map(run_recipe_quietly, recipes, cluster=options.cluster, progress=progress)
    document = _build_document(results)
    for entry in results:
        if "error" in entry:
            print_error(f"{entry['recipe']}: {entry['error']['message']}")
    if len(results) > 1 or options.check:
        print_result(document, _build_result_table(results, "with problems" if options.check else "failed"))
    elif as_json:
        print_result(document, "")
    if "error" in document:
        raise typer.Exit(int(ExitCode.FAILED))


def _find_recipes(paths: list[Path]) -> list[Path]:
    """The recipes in files and folders, each once, in order. Raises FileError for folders without any."""
    files: dict[Path, None] = {}
    for place in paths:
        inside = sorted(place.glob("*.toml")) if place.is_dir() else [place]
        if not inside:
            raise FileError(f"{place} holds no recipe; they are files that end with .toml")
        files |= dict.fromkeys(inside)
    return list(files)


def run_recipe_quietly(recipe: RecipeFile) -> dict[str, Any]:
    """Run a recipe without progress and answers; a top-level function, so that workers can import it."""
    return _process_recipe(recipe, lambda recipe, result: _run_steps(recipe, result, quiet=True))


def _process_recipe(recipe: RecipeFile, work: Callable[[RecipeFile, dict[str, Any]], None]) -> dict[str, Any]:
    """Documents of the steps, files written, notes, and the error of a recipe; `work` runs unless it has problems."""
    started = time.perf_counter()
    result: dict[str, Any] = {
        "recipe": str(recipe.path),
        "verbs": [step.verb for step in recipe.steps],
        "steps": [],
        "outputs": [],
        "notes": [],
        "problems": [problem.as_dict() for problem in recipe.problems],
    }
    if recipe.problems:
        lines = "\n".join(f"  {problem}" for problem in recipe.problems)
        count = f"{len(recipe.problems)} problem{'' if len(recipe.problems) == 1 else 's'}"
        result |= build_error_document("RecipeError", f"{count}\n{lines}", ExitCode.FAILED)
    else:
        try:
            with protect_inputs():
                register_input(recipe.path)
                work(recipe, result)
        except Cancelled:
            raise
        except UsageError as error:
            result |= describe_usage_error(error)
        except MemoryError:
            message = "there is not enough memory for this; use fewer tets or frames"
            result |= build_error_document("MemoryError", message, ExitCode.FAILED)
        except Exception as error:  # other recipes continue after any error
            kind = type(error).__name__
            result |= build_error_document(kind, str(error) or kind, ExitCode.FAILED)
    return result | {"seconds": time.perf_counter() - started}


def _run_steps(recipe: RecipeFile, result: dict[str, Any], *, quiet: bool) -> None:
    for step in recipe.steps:
        with contextlib.chdir(recipe.folder), _add_step_to_errors(recipe, step):
            for document in _invoke_command(step, quiet=quiet):
                result["steps"].append(document)
                result["outputs"] += [str(recipe.folder / path) for path in document["outputs"]]
                result["notes"] += document["notes"]


def _check_steps(recipe: RecipeFile) -> None:
    for step in recipe.steps:
        with contextlib.chdir(recipe.folder), _add_step_to_errors(recipe, step), contextlib.suppress(DryRunComplete):
            _invoke_command(step, dry_run=True)


def _invoke_command(step: RecipeStep, *, quiet: bool = True, dry_run: bool = False) -> list[dict[str, Any]]:
    """Run a command in this process as the command line would, and return its documents."""
    command = get_recipe_commands()[step.verb]
    invocation = CommandInvocation(step.verb, captured_documents=[], is_quiet=quiet, is_dry_run=dry_run)
    with enter_invocation(invocation) as call:
        with command.make_context(step.verb, list(step.arguments)) as context:
            command.invoke(context)
        return call.captured_documents or []


@contextlib.contextmanager
def _add_step_to_errors(recipe: RecipeFile, step: RecipeStep) -> Iterator[None]:
    """Put the number of the step before errors, if there are several steps."""
    try:
        yield
    except CajoleError as error:
        if len(recipe.steps) == 1 or isinstance(error, Cancelled | ImportError):
            raise
        place = f"step {recipe.steps.index(step) + 1} ({step.verb})"
        raise type(error)(f"{place}: {error}") from error


def _build_document(results: list[dict[str, Any]]) -> dict[str, Any]:
    failed = [entry for entry in results if "error" in entry]
    document: dict[str, Any] = {
        "recipes": results,
        "failed": len(failed),
        "outputs": [path for entry in results for path in entry["outputs"]],
        "notes": [f"{entry['recipe']}: {note}" for entry in results for note in entry["notes"]],
    }
    if not failed:
        return document
    if len(results) == 1:
        return document | {"error": results[0]["error"]}
    kind = Counter(entry["error"]["kind"] for entry in failed).most_common(1)[0][0]
    return document | build_error_document(kind, f"{len(failed)} of {len(results)} recipes failed", ExitCode.FAILED)


def _build_result_table(results: list[dict[str, Any]], failure: str) -> Any:
    failed = sum("error" in entry for entry in results)
    title = (
        f"{len(results)} recipe{'' if len(results) == 1 else 's'}, {f'{failed} {failure}' if failed else 'all fine'}"
    )
    rows = build_table("recipe", "steps", "#seconds", "what came of it")
    for entry in results:
        fine = ", ".join(entry["outputs"]) or "fine"
        end = f"[red]{entry['error']['kind']}[/]" if "error" in entry else fine
        rows.add_row(f"[cyan]{entry['recipe']}[/]", ", ".join(entry["verbs"]), f"{entry['seconds']:.1f}", end)
    return add_title(title, rows)
