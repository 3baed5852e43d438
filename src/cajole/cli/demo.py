"""`cajole demo`: run the built-in items, print a report, and write a page."""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from cajole.checks import require_choice, require_integer
from cajole.cli.command_options import DemoCommandOptions
from cajole.cli.gallery import worker_pool
from cajole.cli.gallery.cards import CARD_BUILDERS
from cajole.cli.gallery.page import render_page
from cajole.cli.output import add_title, build_table, get_current_invocation, print_result, show_progress_bars
from cajole.errors import FileError
from cajole.pictures.image_files import PILLOW

# the slowest first, so that workers finish together; strike late, when flower-eight has compiled the kernels it shares
BUILD_ORDER = ("flower-eight", "bridge", "box", "strike", "swirl", "fish", "cloth", "twist")


def demo(options: DemoCommandOptions) -> None:
    """Build the cards in parallel and write the page that shows them."""
    PILLOW.require()  # for stills and loops of every item
    for name in options.scene or []:
        require_choice(name, "--scene", tuple(CARD_BUILDERS))
    names = [name for name in CARD_BUILDERS if name in (options.scene or CARD_BUILDERS)]
    started, output = time.perf_counter(), options.output
    with _open_staging_folder(output) as folder, show_progress_bars(names) as report_progress:
        count = min(require_integer(options.workers, "--workers"), len(names))
        cards = worker_pool.build_cards(sorted(names, key=BUILD_ORDER.index), folder, count, report_progress)
        entries = [cards[name] for name in names]
        seconds = time.perf_counter() - started
        (folder / "index.html").write_text(render_page(entries, folder, seconds), encoding="utf-8")
    page = output / "index.html"
    outputs = [page, *(output / entry[kind] for entry in entries for kind in ("file", "still", "loop"))]
    document = {"page": page, "seconds": seconds, "items": entries, "outputs": outputs}
    table = build_table("item", "verb", "of", "#frames", "#seconds", "what came out")
    for e in entries:
        *_, (label, value) = e["facts"].items()
        title = f"[cyan]{e['name']}[/]"
        table.add_row(title, e["verb"], e["facts"]["body"], f"{e['frames']}", f"{e['seconds']:.1f}", f"{label} {value}")
    print_result(document, add_title(f"{len(entries)} items in {seconds:.0f} s. Open {page}", table))
    if not get_current_invocation().as_json:
        # the command as it was called: in a virtual environment its script is not on the path
        script = Path(sys.argv[0])
        command = "cajole" if script.name != "cajole" or shutil.which("cajole") == str(script) else str(script)
        print_result({}, f"To direct interactively in the browser: [green]{command} studio[/]")


@contextlib.contextmanager
def _open_staging_folder(output: Path) -> Iterator[Path]:
    """A folder beside `output` whose files are moved into it if the block succeeds, and removed in any case."""
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{output.name}-", dir=output.parent))
    except OSError as reason:
        raise FileError(f"cannot write to {output.parent}: {reason.strerror}; choose another --output") from None
    try:
        yield folder
        output.mkdir(exist_ok=True)
        # the page goes last: until then the old page finds the old files that it embeds
        for path in sorted(folder.iterdir(), key=lambda path: path.suffix == ".html"):
            path.replace(output / path.name)
    except OSError as reason:
        raise FileError(f"cannot write {output}: {reason.strerror or reason}; choose another --output") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
