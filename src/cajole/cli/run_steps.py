"""Recipes at work: each step is the command of its verb, called with the words that its keys became."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

from cajole.cli.json_documents import Call, Rehearsed, failure, within
from cajole.cli.output import FAILED, UsageError, misuse
from cajole.cli.run_keys import verbs
from cajole.cli.run_recipes import Recipe, Step
from cajole.errors import CajoleError, Cancelled
from cajole.storage import protect_inputs, register_input

MEMORY = "there is not enough memory for this; use fewer tets or frames"


def perform(recipe: Recipe, *, quiet: bool) -> dict[str, Any]:
    """What came of a recipe: the documents of its steps, files written, notes, and the error that ended it, if any."""
    told = _begun(recipe)
    started = time.perf_counter()
    if not recipe.problems:
        with protect_inputs():
            register_input(recipe.file)
            told |= _failing(lambda: _steps(recipe, told, quiet))
    return told | {"seconds": time.perf_counter() - started}


def performed_quietly(recipe: Recipe) -> dict[str, Any]:
    """The same without progress and answers of its own: what workers do."""
    return perform(recipe, quiet=True)


def rehearsed(recipe: Recipe) -> dict[str, Any]:
    """What is wrong with a recipe, as far as that is known without its work; each step's own checks are among it."""
    told = _begun(recipe)
    if not recipe.problems:
        with protect_inputs():
            register_input(recipe.file)
            told |= _failing(lambda: _rehearsals(recipe))
    return told | {"seconds": 0.0}


def _begun(recipe: Recipe) -> dict[str, Any]:
    told: dict[str, Any] = {
        "recipe": str(recipe.file),
        "verbs": [step.verb for step in recipe.steps],
        "steps": [],
        "outputs": [],
        "notes": [],
        "problems": [problem.told() for problem in recipe.problems],
    }
    if recipe.problems:
        lines = "\n".join(f"  {problem}" for problem in recipe.problems)
        count = f"{len(recipe.problems)} problem{'' if len(recipe.problems) == 1 else 's'}"
        told |= failure("RecipeError", f"{count}\n{lines}", FAILED)
    return told


def _steps(recipe: Recipe, told: dict[str, Any], quiet: bool) -> None:
    for step in recipe.steps:
        with contextlib.chdir(recipe.folder), _named(recipe, step):
            for document in _called(step, quiet=quiet):
                told["steps"].append(document)
                told["outputs"] += [str(recipe.folder / path) for path in document["outputs"]]
                told["notes"] += document["notes"]


def _rehearsals(recipe: Recipe) -> None:
    for step in recipe.steps:
        with contextlib.chdir(recipe.folder), _named(recipe, step), contextlib.suppress(Rehearsed):
            _called(step, rehearsal=True)


def _called(step: Step, *, quiet: bool = True, rehearsal: bool = False) -> list[dict[str, Any]]:
    """The documents of a command, run in this process as the command line would."""
    command = verbs()[step.verb]
    with within(Call(step.verb, kept=[], quiet=quiet, rehearsal=rehearsal)) as call:
        with command.make_context(step.verb, list(step.words)) as context:
            command.invoke(context)
        return call.kept or []


@contextlib.contextmanager
def _named(recipe: Recipe, step: Step) -> Iterator[None]:
    """Errors say in which step they were, where there are several."""
    try:
        yield
    except CajoleError as error:
        if len(recipe.steps) == 1 or isinstance(error, Cancelled | ImportError):
            raise
        place = f"step {recipe.steps.index(step) + 1} ({step.verb})"
        raise type(error)(f"{place}: {error}") from error


def _failing(work: Any) -> dict[str, Any]:
    """What a document says of the work: nothing, or the error that ended it. Only what stops everything is raised."""
    try:
        work()
    except Cancelled:
        raise
    except UsageError as error:
        return misuse(error)
    except MemoryError:
        return failure("MemoryError", MEMORY, FAILED)
    except Exception as error:  # whatever it is, other recipes go on
        return failure(type(error).__name__, str(error) or type(error).__name__, FAILED)
    return {}
