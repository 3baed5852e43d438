"""Recipes at work: each step is the command of its verb, called with the words that its keys became."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

from cajole.cli.json_documents import CommandInvocation, DryRunComplete, build_error_document, enter_invocation
from cajole.cli.output import EXIT_FAILED, UsageError, describe_usage_error
from cajole.cli.recipes import RecipeFile, RecipeStep, get_recipe_commands
from cajole.errors import CajoleError, Cancelled
from cajole.storage import protect_inputs, register_input

OUT_OF_MEMORY_MESSAGE = "there is not enough memory for this; use fewer tets or frames"


def run_recipe(recipe: RecipeFile, *, quiet: bool) -> dict[str, Any]:
    """What came of a recipe: the documents of its steps, files written, notes, and the error that ended it, if any."""
    told = _build_result(recipe)
    started = time.perf_counter()
    if not recipe.problems:
        with protect_inputs():
            register_input(recipe.path)
            told |= _capture_error(lambda: _run_steps(recipe, told, quiet))
    return told | {"seconds": time.perf_counter() - started}


def run_recipe_quietly(recipe: RecipeFile) -> dict[str, Any]:
    """The same without progress and answers of its own: what workers do."""
    return run_recipe(recipe, quiet=True)


def check_recipe(recipe: RecipeFile) -> dict[str, Any]:
    """What is wrong with a recipe, as far as that is known without its work; each step's own checks are among it."""
    told = _build_result(recipe)
    if not recipe.problems:
        with protect_inputs():
            register_input(recipe.path)
            told |= _capture_error(lambda: _check_steps(recipe))
    return told | {"seconds": 0.0}


def _build_result(recipe: RecipeFile) -> dict[str, Any]:
    told: dict[str, Any] = {
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
        told |= build_error_document("RecipeError", f"{count}\n{lines}", EXIT_FAILED)
    return told


def _run_steps(recipe: RecipeFile, result: dict[str, Any], quiet: bool) -> None:
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
    """The documents of a command, run in this process as the command line would."""
    command = get_recipe_commands()[step.verb]
    with enter_invocation(
        CommandInvocation(step.verb, captured_documents=[], is_quiet=quiet, is_dry_run=dry_run)
    ) as call:
        with command.make_context(step.verb, list(step.arguments)) as context:
            command.invoke(context)
        return call.captured_documents or []


@contextlib.contextmanager
def _add_step_to_errors(recipe: RecipeFile, step: RecipeStep) -> Iterator[None]:
    """Errors say in which step they were, where there are several."""
    try:
        yield
    except CajoleError as error:
        if len(recipe.steps) == 1 or isinstance(error, Cancelled | ImportError):
            raise
        place = f"step {recipe.steps.index(step) + 1} ({step.verb})"
        raise type(error)(f"{place}: {error}") from error


def _capture_error(work: Any) -> dict[str, Any]:
    """What a document says of the work: nothing, or the error that ended it. Only what stops everything is raised."""
    try:
        work()
    except Cancelled:
        raise
    except UsageError as error:
        return describe_usage_error(error)
    except MemoryError:
        return build_error_document("MemoryError", OUT_OF_MEMORY_MESSAGE, EXIT_FAILED)
    except Exception as error:  # whatever it is, other recipes go on
        return build_error_document(type(error).__name__, str(error) or type(error).__name__, EXIT_FAILED)
    return {}
