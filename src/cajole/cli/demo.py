"""`cajole demo`: run the built-in items headless, print a report, write a page."""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cajole.cli.output import JsonOption, add_title, build_table, print_result, show_progress_bars

if TYPE_CHECKING:
    from rich.table import Table

# the longest first: then the workers finish together; but the strike late, when the kernels it shares with the
# keyframed flower are compiled
BUILD_ORDER = ("flower-eight", "bridge", "box", "strike", "swirl", "fish", "cloth", "twist")


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")] = Path("demo"),
    scene: Annotated[list[str] | None, typer.Option(help="Only this item; may be repeated.")] = None,
    workers: Annotated[int, typer.Option(help="Processes side by side.")] = 2,
    as_json: JsonOption = False,
) -> None:
    """Direct the built-in scenes with every verb, and write animations, stills, loops and a page that shows them.

    [green]cajole demo[/]

    [green]cajole demo --scene bridge --scene fish --output out[/]
    """
    from cajole.checks import require_integer
    from cajole.cli.gallery.page import render_page
    from cajole.cli.gallery.registry import CARD_BUILDERS
    from cajole.cli.gallery.worker_pool import build_cards
    from cajole.pictures.image_files import PILLOW

    # stills and loops of every item
    PILLOW.require()
    names = _select_cards(scene or [], list(CARD_BUILDERS))
    started = time.perf_counter()
    with _open_staging_folder(output) as folder, show_progress_bars(names) as told:
        ordered = sorted(names, key=lambda name: BUILD_ORDER.index(name) if name in BUILD_ORDER else -1)
        made = build_cards(ordered, folder, min(require_integer(workers, "--workers"), len(names)), told)
        entries = [made[name] for name in names]
        seconds = time.perf_counter() - started
        (folder / "index.html").write_text(render_page(entries, folder, seconds), encoding="utf-8")
    outputs = [
        output / "index.html",
        *(output / entry[kind] for entry in entries for kind in ("file", "still", "loop")),
    ]
    document = {"page": outputs[0], "seconds": seconds, "items": entries, "outputs": outputs}
    title = f"{len(entries)} items in {seconds:.0f} s. Open {output / 'index.html'}"
    print_result(document, add_title(title, _build_report_table(entries)), as_json=as_json)
    if not as_json:
        print_result(
            {},
            f"Now direct with your own hand, in the browser: [green]{_format_command_name()} studio[/]",
            as_json=False,
        )


def _format_command_name() -> str:
    """This command as it was called: in a virtual environment its script is not on the path."""
    script = Path(sys.argv[0])
    return "cajole" if script.name != "cajole" or shutil.which("cajole") == str(script) else str(script)


def _select_cards(requested: list[str], known: list[str]) -> list[str]:
    from cajole.checks import require_choice

    for name in requested:
        require_choice(name, "--scene", tuple(known))
    return [name for name in known if name in requested or not requested]


@contextlib.contextmanager
def _open_staging_folder(output: Path) -> Iterator[Path]:
    """A folder beside `output` whose files are moved into it when the block ends well, and removed in any case."""
    from cajole.errors import FileError

    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{output.name}-", dir=output.parent))
    except OSError as reason:
        raise FileError(f"cannot write to {output.parent}: {reason.strerror}; choose another --output") from None
    try:
        yield folder
        output.mkdir(exist_ok=True)
        # the page goes last: while it is the old one, so is what it embeds
        for path in sorted(folder.iterdir(), key=lambda path: path.suffix == ".html"):
            path.replace(output / path.name)
    except OSError as reason:
        raise FileError(f"cannot write {output}: {reason.strerror or reason}; choose another --output") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _build_report_table(entries: list[dict[str, Any]]) -> Table:
    rows = build_table("item", "verb", "of", "#frames", "#seconds", "what came out")
    for e in entries:
        *_, (label, value) = e["facts"].items()
        rows.add_row(
            f"[cyan]{e['name']}[/]", e["verb"], e["facts"]["body"], f"{e['frames']}", f"{e['seconds']:.1f}",
            f"{label} {value}",
        )  # fmt: skip
    return rows
