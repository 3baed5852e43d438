"""Output of commands: answers on stdout, as tables or JSON documents; progress and errors on stderr; exit codes."""

from __future__ import annotations

import contextlib
import enum
import json
import logging
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from cajole.progress import ProgressCallback

JSON_FLAG = "--json"
# [s] between lines of progress where stderr is not a terminal
PROGRESS_LINE_INTERVAL = 5.0
# base class of errors in command lines; typer versions keep it in different modules
UsageError: type[Exception] = typer.BadParameter.__bases__[0]


class ExitCode(enum.IntEnum):
    """Exit codes beside 0."""

    FAILED = 1
    USAGE = 2
    CANCELLED = 130


@dataclass
class CommandInvocation:
    """The running command and the destination of its answer.

    captured_documents: documents of a command that a recipe runs, in place of printing them; is_quiet: show no progress
    and no tables; is_dry_run: raise DryRunComplete where the work would start.
    """

    command: str = ""
    as_json: bool = False
    has_printed: bool = False
    captured_documents: list[dict[str, Any]] | None = None
    is_quiet: bool = False
    is_dry_run: bool = False


class DryRunComplete(Exception):
    """Raised in a dry run where work would start: all checks of the command have passed."""


_current_invocation: ContextVar[CommandInvocation | None] = ContextVar("call", default=None)


def get_current_invocation() -> CommandInvocation:
    """The running command; a nameless one outside of any command."""
    return _current_invocation.get() or CommandInvocation()


def begin_invocation(command: str, arguments: list[str]) -> None:
    """Make a command with these arguments the running one."""
    _current_invocation.set(CommandInvocation(command, JSON_FLAG in arguments))


@contextlib.contextmanager
def enter_invocation(invocation: CommandInvocation) -> Iterator[CommandInvocation]:
    """Make a command the running one inside the block."""
    token = _current_invocation.set(invocation)
    try:
        yield invocation
    finally:
        _current_invocation.reset(token)


def build_document(command: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """JSON document: the command and `values`, always with the fields outputs and notes."""
    whole: dict[str, Any] = convert_to_json_value({"command": command, "outputs": [], "notes": [], **values})
    return whole


def build_error_document(kind: str, message: str, code: int) -> dict[str, Any]:
    """The field `error` of a document."""
    return {"error": {"code": int(code), "kind": kind, "message": message}}


def describe_usage_error(error: Exception) -> dict[str, Any]:
    """The field `error` of a UsageError."""
    message = getattr(error, "format_message", lambda: str(error))()
    return build_error_document("UsageError", message, ExitCode.USAGE)


def add_units(values: Mapping[str, Any], units: Mapping[str, str]) -> dict[str, Any]:
    """`values` with their units appended to their names, as in all documents."""
    return {f"{name}_{units[name]}" if name in units else name: value for name, value in values.items()}


def convert_to_json_value(value: Any) -> Any:
    """Mappings, sequences, arrays, numbers and paths as JSON values; numbers that are not finite become null."""
    if isinstance(value, Mapping):
        return {str(name): convert_to_json_value(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [convert_to_json_value(each) for each in value]
    if hasattr(value, "tolist"):
        return convert_to_json_value(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)


def print_document_once(values: Mapping[str, Any]) -> None:
    """Print the document of the running command, if it answers in JSON and has not answered yet."""
    call = get_current_invocation()
    if call.as_json and not call.has_printed:
        print_document(build_document(call.command, values))


def print_document(document: Mapping[str, Any]) -> None:
    """Print a document to stdout."""
    get_current_invocation().has_printed = True
    if sys.stdout is not None:  # it may be closed
        sys.stdout.write(json.dumps(document, indent=2, allow_nan=False) + "\n")
        sys.stdout.flush()  # reports a full disk here, where the error is handled


def print_error(message: str) -> None:
    """Print an error to stderr."""
    from rich.console import Console
    from rich.text import Text

    Console(stderr=True, soft_wrap=True).print(Text(message, style="red"))


def print_result(document: Mapping[str, Any], renderable: RenderableType) -> None:
    """Print the result of the running command: `document` if it answers in JSON, `renderable` otherwise."""
    call = get_current_invocation()
    if call.captured_documents is not None:
        call.captured_documents.append(build_document(call.command, document))
    elif call.as_json:
        print_document(build_document(call.command, document))
    if call.as_json or call.is_quiet:
        return
    from rich.console import Console

    Console().print(renderable)
    if sys.stdout is not None:  # it may be closed
        sys.stdout.flush()


def print_summary(title: str, document: Mapping[str, Any], rows: Mapping[str, str]) -> None:
    """Print the result of the running command, with `rows` of names and values as its table."""
    print_result(document, build_summary_table(title, rows))


def build_table(*columns: str) -> Table:
    """An empty table; columns whose names start with # are right-aligned."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        table.add_column(name.lstrip("#"), justify="right" if name.startswith("#") else "left")
    return table


def add_title(title: str, renderable: RenderableType) -> RenderableType:
    """Put a bold line above a table."""
    from rich.console import Group
    from rich.text import Text

    return Group(Text(title, style="bold"), renderable)


def build_summary_table(title: str, rows: Mapping[str, str]) -> RenderableType:
    """A table of names and values below a title."""
    table = build_table("", "")
    table.show_header = False
    table.columns[1].overflow = "fold"  # wraps long paths; truncated ones name no file
    for name, value in rows.items():
        table.add_row(f"[cyan]{name}[/]", value)
    return add_title(title, table)


def format_note_rows(notes: list[str]) -> dict[str, str]:
    """The table row of a document's notes, one per line; empty without notes."""
    return {"note": "\n".join(notes)} if notes else {}


def format_written_files(outputs: Sequence[str]) -> str:
    """Written files as text: of sequences the first and the last file, of point caches also their mesh."""
    from cajole.animation.obj_sequence import parse_output_sequence
    from cajole.animation.point_cache import find_companion_meshes

    texts = []
    for path in map(Path, outputs):
        suffix, text = path.suffix.lower(), str(path)
        if suffix in (".pc2", ".mdd") and (meshes := find_companion_meshes(path)):
            text = f"{path} (its mesh is {meshes[0].name})"
        elif suffix == ".obj" and (files := list(parse_output_sequence(path).find_files().values())):
            text = f"{files[0]} … {files[-1].name} ({len(files)} files)" if len(files) > 1 else f"{files[0]} (1 file)"
        texts.append(text)
    return ", ".join(texts) or "nothing (select a file with --output)"


@contextlib.contextmanager
def show_progress(title: str) -> Iterator[ProgressCallback]:
    """One progress bar on stderr, and the callback that moves it."""
    with show_progress_bars([title]) as report:
        yield lambda fraction, text: report(title, fraction, text)


@contextlib.contextmanager
def show_progress_bars(titles: Sequence[str]) -> Iterator[Callable[[str, float, str], None]]:
    """A progress bar on stderr for each title, and `report(title, fraction, text)`, which moves it.

    Where stderr is not a terminal, it prints a line every few seconds. The work of a command starts here, so a dry run
    ends here by DryRunComplete.
    """
    call = get_current_invocation()
    if call.is_dry_run:
        raise DryRunComplete
    with _redirect_stdout_to_stderr(), contextlib.nullcontext() if call.is_quiet else show_compilation():
        yield from _open_progress_bars(call.is_quiet, titles)


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
    columns = (
        TextColumn("[bold]{task.fields[title]}"),
        BarColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        tasks = {title: bar.add_task("", total=1.0, title=title) for title in titles}
        yield lambda title, fraction, text: bar.update(tasks[title], completed=fraction, description=text)


def _build_line_reporter() -> Callable[[str, float, str], None]:
    """Progress as lines, at most one per PROGRESS_LINE_INTERVAL, so that short work prints none."""
    started = last = time.perf_counter()

    def print_progress_line(title: str, fraction: float, text: str) -> None:
        nonlocal last
        now = time.perf_counter()
        if now - last >= PROGRESS_LINE_INTERVAL:
            last = now
            print(f"{title}: {fraction:.0%}, {text}, after {now - started:.0f} s", file=sys.stderr, flush=True)

    return print_progress_line


@contextlib.contextmanager
def show_compilation() -> Iterator[None]:
    """Print a line on stderr if kernels have to be compiled, which can take longer than the work itself.

    It listens to the logger of the package, so that only commands that use kernels import numba.
    """
    log, handler = logging.getLogger("cajole.jit"), _StderrLogHandler()
    level = log.level
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


class _StderrLogHandler(logging.Handler):
    """Prints messages on stderr, above a progress bar if there is one."""

    def emit(self, record: logging.LogRecord) -> None:
        if sys.stderr is not None:  # it may be closed
            print(record.getMessage(), file=sys.stderr, flush=True)


@contextlib.contextmanager
def _redirect_stdout_to_stderr() -> Iterator[None]:
    """Send to stderr what libraries print on file descriptor 1 during the work: stdout holds the answer alone."""
    try:
        answers, errors = sys.stdout.fileno(), sys.stderr.fileno()
    except (AttributeError, OSError, ValueError):  # closed, or no files, as in tests
        yield
        return
    sys.stdout.flush()
    saved = os.dup(answers)
    os.dup2(errors, answers)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(saved, answers)
        os.close(saved)
