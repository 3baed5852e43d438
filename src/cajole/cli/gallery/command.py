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

from cajole.cli.output import Json, answer, many_working, table, titled

if TYPE_CHECKING:
    from rich.table import Table

# the longest first: then the workers finish together; but the strike late, when the kernels it shares with the
# keyframed flower are compiled
SLOWEST_FIRST = ("flower-eight", "bridge", "box", "strike", "swirl", "fish", "cloth", "twist")


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")] = Path("demo"),
    scene: Annotated[list[str] | None, typer.Option(help="Only this item; may be repeated.")] = None,
    workers: Annotated[int, typer.Option(help="Processes side by side.")] = 2,
    as_json: Json = False,
) -> None:
    """Direct the built-in scenes with every verb, and write animations, stills, loops and a page that shows them.

    [green]cajole demo[/]

    [green]cajole demo --scene bridge --scene fish --output out[/]
    """
    from cajole.checks import count
    from cajole.cli.gallery.items import ITEMS
    from cajole.cli.gallery.page import page
    from cajole.cli.gallery.pool import make_all
    from cajole.pictures.loops import PILLOW

    # stills and loops of every item
    PILLOW.require()
    names = _chosen(scene or [], list(ITEMS))
    started = time.perf_counter()
    with _staging(output) as folder, many_working(names) as told:
        ordered = sorted(names, key=lambda name: SLOWEST_FIRST.index(name) if name in SLOWEST_FIRST else -1)
        made = make_all(ordered, folder, min(count(workers, "--workers"), len(names)), told)
        entries = [made[name] for name in names]
        seconds = time.perf_counter() - started
        (folder / "index.html").write_text(page(entries, folder, seconds), encoding="utf-8")
    outputs = [
        output / "index.html",
        *(output / entry[kind] for entry in entries for kind in ("file", "still", "loop")),
    ]
    document = {"page": outputs[0], "seconds": seconds, "items": entries, "outputs": outputs}
    title = f"{len(entries)} items in {seconds:.0f} s. Open {output / 'index.html'}"
    answer(document, titled(title, _report(entries)), as_json=as_json)
    if not as_json:
        answer({}, f"Now direct with your own hand, in the browser: [green]{_called()} studio[/]", as_json=False)


def _called() -> str:
    """This command as it was called: in a virtual environment its script is not on the path."""
    script = Path(sys.argv[0])
    return "cajole" if script.name != "cajole" or shutil.which("cajole") == str(script) else str(script)


def _chosen(wanted: list[str], known: list[str]) -> list[str]:
    from cajole.checks import one_of

    for name in wanted:
        one_of(name, "--scene", tuple(known))
    return [name for name in known if name in wanted or not wanted]


@contextlib.contextmanager
def _staging(output: Path) -> Iterator[Path]:
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


def _report(entries: list[dict[str, Any]]) -> Table:
    rows = table("item", "verb", "of", "#frames", "#seconds", "what came out")
    for e in entries:
        *_, (label, value) = e["facts"].items()
        rows.add_row(
            f"[cyan]{e['name']}[/]", e["verb"], e["facts"]["body"], f"{e['frames']}", f"{e['seconds']:.1f}",
            f"{label} {value}",
        )  # fmt: skip
    return rows
