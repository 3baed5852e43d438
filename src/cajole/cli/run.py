"""`cajole run`: recipes, shots written down in files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cajole.cli.json_documents import build_error_document
from cajole.cli.output import EXIT_FAILED, JsonOption, add_title, build_table, print_error, print_result, show_progress

if TYPE_CHECKING:
    from rich.console import RenderableType

    from cajole.cli.recipes import RecipeFile

RECIPE_SUFFIX = ".toml"


def run(
    recipes: Annotated[list[Path], typer.Argument(metavar="RECIPE...", help="Recipes (.toml), or folders of them.")],
    check: Annotated[bool, typer.Option("--check", help="Only say what is wrong with them.")] = False,
    cluster: Annotated[
        str | None,
        typer.Option(
            help='Who works when there are several: "processes", "processes:4", "dask", or a scheduler '
            '"tcp://host:port". This process, one after the other, when left out.'
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Run recipes: a verb and its options, or several steps, written down in TOML. Paths are relative to the recipe.

    A key is an option of the verb's command, by its name; see docs/recipes.md. All that is wrong with a recipe is said
    at once. Of several, those that fail do not stop the others, and the exit code is 1.

    [green]cajole run look.toml[/]

    [green]cajole run shots/ --check[/]

    [green]cajole run shots/ --cluster processes --json[/]
    """
    from cajole.cli.recipes import read_recipes

    found = read_recipes(_find_recipes(recipes))
    told = _check_recipes(found) if check else _run_recipes(found, cluster, verbose=not as_json)
    document = _build_document(told)
    for entry in told:
        if "error" in entry:
            print_error(f"{entry['recipe']}: {entry['error']['message']}")
    if len(told) > 1 or check:
        print_result(document, add_title(_format_title(told, check), _build_result_table(told)), as_json=as_json)
    elif as_json:
        print_result(document, "", as_json=True)
    if "error" in document:
        raise typer.Exit(EXIT_FAILED)


def _find_recipes(paths: list[Path]) -> list[Path]:
    """The recipes in files and folders, each once, in the order asked for. Raises FileError where there is none."""
    from cajole.errors import FileError

    files: dict[Path, None] = {}
    for place in paths:
        inside = sorted(place.glob(f"*{RECIPE_SUFFIX}")) if place.is_dir() else [place]
        if not inside:
            raise FileError(f"{place} holds no recipe; they are files that end with {RECIPE_SUFFIX}")
        files |= dict.fromkeys(inside)
    return list(files)


def _check_recipes(recipes: list[RecipeFile]) -> list[dict[str, Any]]:
    from cajole.cli.recipe_runner import check_recipe

    return [check_recipe(recipe) for recipe in recipes]


def _run_recipes(recipes: list[RecipeFile], cluster: str | None, *, verbose: bool) -> list[dict[str, Any]]:
    """What came of each. One alone shows its own progress and answers; of several the number that are done is told."""
    from cajole import cluster as workers
    from cajole.cli.recipe_runner import run_recipe, run_recipe_quietly

    if len(recipes) == 1 and cluster is None:
        return [run_recipe(recipes[0], quiet=not verbose)]
    with show_progress("run") as progress:
        return workers.map(run_recipe_quietly, recipes, cluster=cluster, progress=progress)


def _build_document(results: list[dict[str, Any]]) -> dict[str, Any]:
    failed = sum("error" in entry for entry in results)
    document: dict[str, Any] = {
        "recipes": results,
        "failed": failed,
        "outputs": [path for entry in results for path in entry["outputs"]],
        "notes": [f"{entry['recipe']}: {note}" for entry in results for note in entry["notes"]],
    }
    if failed == 1 and len(results) == 1:
        return document | {"error": results[0]["error"]}
    if failed:
        kinds = Counter(entry["error"]["kind"] for entry in results if "error" in entry)
        return document | build_error_document(
            kinds.most_common(1)[0][0], f"{failed} of {len(results)} recipes failed", EXIT_FAILED
        )
    return document


def _format_title(results: list[dict[str, Any]], is_check: bool) -> str:
    failed = sum("error" in entry for entry in results)
    count = f"{len(results)} recipe{'' if len(results) == 1 else 's'}"
    return f"{count}, " + ((f"{failed} with problems" if is_check else f"{failed} failed") if failed else "all fine")


def _build_result_table(results: list[dict[str, Any]]) -> RenderableType:
    rows = build_table("recipe", "steps", "#seconds", "what came of it")
    for entry in results:
        fine = ", ".join(entry["outputs"]) or "fine"
        end = f"[red]{entry['error']['kind']}[/]" if "error" in entry else fine
        rows.add_row(f"[cyan]{entry['recipe']}[/]", ", ".join(entry["verbs"]), f"{entry['seconds']:.1f}", end)
    return rows
