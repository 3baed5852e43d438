"""What commands say: answers on stdout, progress and errors on stderr, and the exit codes."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from cajole.cli.json_documents import (
    JSON_FLAG,
    DryRunComplete,
    begin_invocation,
    build_document,
    build_error_document,
    get_current_invocation,
    print_document,
    print_document_once,
)
from cajole.errors import CajoleError, Cancelled

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from cajole.progress import ProgressCallback

EXIT_FAILED, EXIT_USAGE, EXIT_CANCELLED = 1, 2, 130
# the root of what is wrong with words of a command line; older and newer versions of typer keep it in different places
UsageError: type[Exception] = typer.BadParameter.__bases__[0]
# a disk or a share of it that takes no more
DISK_FULL_ERRNOS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# [s] between lines of progress where no bar can be drawn
PROGRESS_LINE_INTERVAL = 5.0


JsonOption = Annotated[bool, typer.Option(JSON_FLAG, help="Print one JSON document and nothing else to stdout.")]


class CajoleGroup(TyperGroup):
    """A group of commands whose expected errors become a message and an exit code, never a traceback."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        begin_invocation("", list(args))
        try:
            return super().parse_args(ctx, args)
        except UsageError as error:
            print_document_once(describe_usage_error(error))
            raise

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        begin_invocation(args[0], args[1:])
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, Cancelled):
            raise self._report_failure(
                "cancelled: nothing was left half-written", "Cancelled", EXIT_CANCELLED
            ) from None
        except CajoleError as error:
            raise self._report_failure(str(error), type(error).__name__, EXIT_FAILED) from None
        except MemoryError:
            raise self._report_failure(
                "there is not enough memory for this; use fewer tets or frames", "MemoryError", EXIT_FAILED
            ) from None
        except UsageError as error:  # typer shows it
            print_document_once(describe_usage_error(error))
            raise
        except (typer.Exit, typer.Abort, BrokenPipeError):  # who reads no further has heard enough
            raise
        except OSError as error:
            if error.errno not in DISK_FULL_ERRNOS:
                print_document_once(build_error_document(type(error).__name__, str(error), EXIT_FAILED))
                raise
            _redirect_stdout_to_null()
            raise self._report_failure(
                f"the answer cannot be written: {error.strerror}; free some space, or write it elsewhere",
                "FileError",
                EXIT_FAILED,
            ) from None
        except Exception as error:
            print_document_once(build_error_document(type(error).__name__, str(error), EXIT_FAILED))
            raise

    @staticmethod
    def _report_failure(message: str, kind: str, code: int) -> typer.Exit:
        print_error(message)
        print_document_once(build_error_document(kind, message, code))
        return typer.Exit(code)


def _redirect_stdout_to_null() -> None:
    """What is left of an answer that nobody can have would be tried again, and complained of, when Python ends."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def describe_usage_error(error: Exception) -> dict[str, Any]:
    """What a document says of a UsageError."""
    said = getattr(error, "format_message", lambda: str(error))()
    return build_error_document("UsageError", said, EXIT_USAGE)


def print_error(message: str) -> None:
    """What went wrong, on stderr."""
    from rich.console import Console
    from rich.text import Text

    Console(stderr=True, soft_wrap=True).print(Text(message, style="red"))


def print_result(document: Mapping[str, Any], renderable: RenderableType, *, as_json: bool) -> None:
    """Print the result on stdout: `document` as JSON, or `shown` for people."""
    call = get_current_invocation()
    if call.captured_documents is not None:
        call.captured_documents.append(build_document(call.command, document))
    elif as_json:
        print_document(build_document(call.command, document))
    if as_json or call.is_quiet:
        return
    from rich.console import Console

    Console().print(renderable)
    if sys.stdout is not None:  # it may be closed
        sys.stdout.flush()


def build_table(*columns: str) -> Table:
    """An empty table in the house style; columns whose names start with a number sign are aligned right."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        made.add_column(name.lstrip("#"), justify="right" if name.startswith("#") else "left")
    return made


def add_title(title: str, renderable: RenderableType) -> RenderableType:
    """A bold line above something."""
    from rich.console import Group
    from rich.text import Text

    return Group(Text(title, style="bold"), renderable)


def build_summary_table(title: str, rows: Mapping[str, str]) -> RenderableType:
    """A table of names and values below a title."""
    made = build_table("", "")
    made.show_header = False
    made.columns[1].overflow = "fold"  # a long path goes on in the next line; cut short it names no file
    for name, value in rows.items():
        made.add_row(f"[cyan]{name}[/]", value)
    return add_title(title, made)


def format_written_files(outputs: Sequence[str]) -> str:
    """What was written, for people: of sequences the first and the last file, of point caches also their mesh."""
    return ", ".join(_format_written_file(Path(output)) for output in outputs) or "nothing (say where with --output)"


def _format_written_file(path: Path) -> str:
    from cajole.animation.obj_sequence import parse_output_sequence
    from cajole.animation.point_cache import find_companion_meshes

    suffix = path.suffix.lower()
    if suffix in (".pc2", ".mdd") and (meshes := find_companion_meshes(path)):
        return f"{path} (its mesh is {meshes[0].name})"
    files = list(parse_output_sequence(path).find_files().values()) if suffix == ".obj" else []
    if not files:
        return str(path)
    return f"{files[0]} … {files[-1].name} ({len(files)} files)" if len(files) > 1 else f"{files[0]} (1 file)"


@contextlib.contextmanager
def show_progress_bars(titles: Sequence[str]) -> Iterator[Callable[[str, float, str], None]]:
    """A progress bar on stderr for each title, and `told(title, fraction, text)`, which moves it.

    Where stderr is not a terminal, a plain line every few seconds. Here work begins: a rehearsal ends.
    """
    call = get_current_invocation()
    if call.is_dry_run:
        raise DryRunComplete
    with _redirect_stdout_to_stderr(), contextlib.nullcontext() if call.is_quiet else show_compilation():
        yield from _open_progress_bars(call.is_quiet, titles)


@contextlib.contextmanager
def show_compilation() -> Iterator[None]:
    """Print a line on stderr if kernels have to be compiled, which on a new machine takes longer than the work itself.

    The package logs it, so that the module that compiles, and numba with it, is loaded only by commands that use it.
    """
    log, shown = logging.getLogger("cajole.jit"), _StderrLogHandler()
    level = log.level
    log.setLevel(logging.INFO)
    log.addHandler(shown)
    try:
        yield
    finally:
        log.removeHandler(shown)
        log.setLevel(level)


class _StderrLogHandler(logging.Handler):
    """Messages as lines on stderr, above a progress bar if there is one."""

    def emit(self, record: logging.LogRecord) -> None:
        if sys.stderr is not None:  # it may be closed
            print(record.getMessage(), file=sys.stderr, flush=True)


@contextlib.contextmanager
def _redirect_stdout_to_stderr() -> Iterator[None]:
    """What libraries print while they work, some past Python, goes to stderr: stdout is for the answer alone."""
    try:
        answers, errors = sys.stdout.fileno(), sys.stderr.fileno()
    except (AttributeError, OSError, ValueError):  # closed, or no files, as in tests
        yield
        return
    sys.stdout.flush()
    kept = os.dup(answers)
    os.dup2(errors, answers)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, answers)
        os.close(kept)


def _open_progress_bars(quiet: bool, titles: Sequence[str]) -> Iterator[Callable[[str, float, str], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    if quiet:
        yield lambda *_: None
        return
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _build_line_reporter()
        return
    title, text = TextColumn("[bold]{task.fields[title]}"), TextColumn("{task.description}")
    columns = (title, BarColumn(), text, TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        tasks = {title: bar.add_task("", total=1.0, title=title) for title in titles}

        def update_progress(title: str, fraction: float, text: str) -> None:
            bar.update(tasks[title], completed=fraction, description=text)

        yield update_progress


def _build_line_reporter() -> Callable[[str, float, str], None]:
    """Progress as lines, at most one in LINE_EVERY seconds, so that quick work has none."""
    started = last = time.perf_counter()

    def print_progress_line(title: str, fraction: float, text: str) -> None:
        nonlocal last
        now = time.perf_counter()
        if now - last >= PROGRESS_LINE_INTERVAL:
            last = now
            print(f"{title}: {fraction:.0%}, {text}, after {now - started:.0f} s", file=sys.stderr, flush=True)

    return print_progress_line


@contextlib.contextmanager
def show_progress(title: str) -> Iterator[ProgressCallback]:
    """One progress bar on stderr, and the callback that moves it."""
    with show_progress_bars([title]) as told:
        yield lambda fraction, text: told(title, fraction, text)
