"""`cajole run`: recipes, shots written down in files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cajole.cli.json_documents import failure
from cajole.cli.output import FAILED, Json, answer, complain, table, titled, working

if TYPE_CHECKING:
    from rich.console import RenderableType

    from cajole.cli.run_recipes import Recipe

SUFFIX = ".toml"


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
    as_json: Json = False,
) -> None:
    """Run recipes: a verb and its options, or several steps, written down in TOML. Paths are relative to the recipe.

    A key is an option of the verb's command, by its name; see docs/recipes.md. All that is wrong with a recipe is said
    at once. Of several, those that fail do not stop the others, and the exit code is 1.

    [green]cajole run look.toml[/]

    [green]cajole run shots/ --check[/]

    [green]cajole run shots/ --cluster processes --json[/]
    """
    from cajole.cli.run_recipes import read_recipes

    found = read_recipes(_gathered(recipes))
    told = _checked(found) if check else _performed(found, cluster, shown=not as_json)
    document = _document(told)
    for entry in told:
        if "error" in entry:
            complain(f"{entry['recipe']}: {entry['error']['message']}")
    if len(told) > 1 or check:
        answer(document, titled(_title(told, check), _listed(told)), as_json=as_json)
    elif as_json:
        answer(document, "", as_json=True)
    if "error" in document:
        raise typer.Exit(FAILED)


def _gathered(places: list[Path]) -> list[Path]:
    """The recipes in files and folders, each once, in the order asked for. Raises FileError where there is none."""
    from cajole.errors import FileError

    files: dict[Path, None] = {}
    for place in places:
        inside = sorted(place.glob(f"*{SUFFIX}")) if place.is_dir() else [place]
        if not inside:
            raise FileError(f"{place} holds no recipe; they are files that end with {SUFFIX}")
        files |= dict.fromkeys(inside)
    return list(files)


def _checked(recipes: list[Recipe]) -> list[dict[str, Any]]:
    from cajole.cli.run_steps import rehearsed

    return [rehearsed(recipe) for recipe in recipes]


def _performed(recipes: list[Recipe], cluster: str | None, *, shown: bool) -> list[dict[str, Any]]:
    """What came of each. One alone shows its own progress and answers; of several the number that are done is told."""
    from cajole import cluster as workers
    from cajole.cli.run_steps import perform, performed_quietly

    if len(recipes) == 1 and cluster is None:
        return [perform(recipes[0], quiet=not shown)]
    with working("run") as progress:
        return workers.map(performed_quietly, recipes, cluster=cluster, progress=progress)


def _document(told: list[dict[str, Any]]) -> dict[str, Any]:
    failed = sum("error" in entry for entry in told)
    document: dict[str, Any] = {
        "recipes": told,
        "failed": failed,
        "outputs": [path for entry in told for path in entry["outputs"]],
        "notes": [f"{entry['recipe']}: {note}" for entry in told for note in entry["notes"]],
    }
    if failed == 1 and len(told) == 1:
        return document | {"error": told[0]["error"]}
    if failed:
        kinds = Counter(entry["error"]["kind"] for entry in told if "error" in entry)
        return document | failure(kinds.most_common(1)[0][0], f"{failed} of {len(told)} recipes failed", FAILED)
    return document


def _title(told: list[dict[str, Any]], check: bool) -> str:
    failed = sum("error" in entry for entry in told)
    count = f"{len(told)} recipe{'' if len(told) == 1 else 's'}"
    return f"{count}, " + ((f"{failed} with problems" if check else f"{failed} failed") if failed else "all fine")


def _listed(told: list[dict[str, Any]]) -> RenderableType:
    rows = table("recipe", "steps", "#seconds", "what came of it")
    for entry in told:
        fine = ", ".join(entry["outputs"]) or "fine"
        end = f"[red]{entry['error']['kind']}[/]" if "error" in entry else fine
        rows.add_row(f"[cyan]{entry['recipe']}[/]", ", ".join(entry["verbs"]), f"{entry['seconds']:.1f}", end)
    return rows
