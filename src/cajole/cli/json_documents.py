"""What `--json` prints: one document on stdout, of the same frame for every command, whatever happens."""

from __future__ import annotations

import contextlib
import json
import math
import sys
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

JSON_FLAG = "--json"


@dataclass
class CommandInvocation:
    """The command that runs, and where its answer goes.

    kept: documents of a command that another one runs, in place of printing them; quiet: without its progress;
    rehearsal: it is to end, by Rehearsed, where its work would begin.
    """

    command: str = ""
    as_json: bool = False
    has_printed: bool = False
    captured_documents: list[dict[str, Any]] | None = None
    is_quiet: bool = False
    is_dry_run: bool = False


class DryRunComplete(Exception):
    """Raised where work would begin: what a command checks before it has passed."""


_current_invocation: ContextVar[CommandInvocation | None] = ContextVar("call", default=None)


def get_current_invocation() -> CommandInvocation:
    """The command that runs; outside of any, one without a name."""
    return _current_invocation.get() or CommandInvocation()


def begin_invocation(command: str, arguments: list[str]) -> None:
    """From now on this command runs, with these words behind its name."""
    _current_invocation.set(CommandInvocation(command, JSON_FLAG in arguments))


@contextlib.contextmanager
def enter_invocation(invocation: CommandInvocation) -> Iterator[CommandInvocation]:
    """Inside the block this command runs, called by the one outside."""
    token = _current_invocation.set(invocation)
    try:
        yield invocation
    finally:
        _current_invocation.reset(token)


def build_document(command: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """A document: the command, what it says, and in any case the files it wrote and what is unusual."""
    whole: dict[str, Any] = convert_to_json_value({"command": command, "outputs": [], "notes": [], **values})
    return whole


def add_units(values: Mapping[str, Any], units: Mapping[str, str]) -> dict[str, Any]:
    """`values` with their units behind their names, as all documents have them."""
    return {f"{name}_{units[name]}" if name in units else name: value for name, value in values.items()}


def build_error_document(kind: str, message: str, code: int) -> dict[str, Any]:
    """What a document says when a command fails: `code` is the exit code."""
    return {"error": {"code": code, "kind": kind, "message": message}}


def print_document_once(values: Mapping[str, Any]) -> None:
    """Print the document of the command that runs, if it answers in JSON and has not yet."""
    call = get_current_invocation()
    if call.as_json and not call.has_printed:
        print_document(build_document(call.command, values))


def print_document(document: Mapping[str, Any]) -> None:
    """Print a document to stdout; the command that runs has answered."""
    get_current_invocation().has_printed = True
    if sys.stdout is not None:  # it may be closed
        sys.stdout.write(json.dumps(document, indent=2, allow_nan=False) + "\n")
        sys.stdout.flush()  # a disk that is full is noticed here, where it can be answered


def convert_to_json_value(value: Any) -> Any:
    """Mappings, sequences, arrays, numbers and paths as what JSON knows; what is no finite number is null."""
    if isinstance(value, Mapping):
        return {str(name): convert_to_json_value(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [convert_to_json_value(each) for each in value]
    if hasattr(value, "tolist"):
        return convert_to_json_value(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)
