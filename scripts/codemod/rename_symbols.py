"""Rename symbols of the package and of all that uses it, by their types, through a language server.

Usage: python scripts/codemod/rename_symbols.py TABLE... in the package's environment, with basedpyright installed.

A line of a table names a definition, and what it is to be called; `#` starts a comment:

    cajole.linalg.cholesky:Plan -> SymbolicFactorization       a class, a function or a name of a module
    cajole.linalg.cholesky:Plan.tallest -> max_front_rows      a method, a property, a field, an attribute set as self.x
    cajole.linalg.factor:Factor.solve(right) -> rhs            an argument

All edits are computed on the tree as it is, and applied together. Names inside strings are not changed, nor are methods
of subclasses that the table does not name: the type checker and the tests find both.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

ROOT = Path(__file__).resolve().parents[2]
SERVER = "basedpyright-langserver"
FOLDERS = ("src", "tests", "benchmarks", "examples", "scripts", "integrations", "docs")
ANSWER_LIMIT = 600.0  # [s]
ENTRY = re.compile(r"(?P<module>[\w.]+):(?P<name>[\w.]+?)(?:\((?P<argument>\w+)\))?\s*->\s*(?P<new>\w+)")
# start line, start column, end line, end column; columns count UTF-16 units
Range = tuple[int, int, int, int]


@dataclass(frozen=True)
class Entry:
    """One line of a table."""

    module: str
    name: str
    argument: str | None
    new: str

    def __str__(self) -> str:
        return f"{self.module}:{self.name}{f'({self.argument})' if self.argument else ''} -> {self.new}"

    @property
    def file(self) -> Path:
        path = ROOT / "src" / Path(*self.module.split("."))
        return path.with_suffix(".py") if path.with_suffix(".py").exists() else path / "__init__.py"


class LanguageServer:
    """Requests and answers of a language server in a process of its own."""

    def __init__(self) -> None:
        command = shutil.which(SERVER, path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
        if command is None:
            sys.exit(f"{SERVER} is not installed; pip install basedpyright")
        self._process = subprocess.Popen(
            [command, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT
        )
        self._number, self._answers, self._arrived = 0, dict[int, dict[str, Any]](), threading.Condition()
        threading.Thread(target=self._receive, daemon=True).start()
        folder = {"uri": ROOT.as_uri(), "name": ROOT.name}
        self.ask("initialize", {
            "processId": os.getpid(), "rootUri": folder["uri"], "workspaceFolders": [folder],
            "capabilities": {"workspace": {"configuration": True, "workspaceFolders": True}},
        })  # fmt: skip
        self.tell("initialized", {})

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request."""
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        with self._arrived:
            if not self._arrived.wait_for(lambda: self._number in self._answers, ANSWER_LIMIT):
                raise TimeoutError(method)
            return self._answers.pop(self._number)

    def tell(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification, which has no answer."""
        self._send({"method": method, "params": params})

    def stop(self) -> None:
        """End the process."""
        self._process.kill()

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self._process.stdin.flush()

    def _receive(self) -> None:
        assert self._process.stdout is not None
        stream = self._process.stdout
        while header := stream.readline():
            size = int(header.split(b":")[1]) if header.lower().startswith(b"content-length") else 0
            while stream.readline().strip():
                pass
            message = json.loads(stream.read(size))
            if "method" in message and "id" in message:
                items = message.get("params", {}).get("items", [])
                self._send({"id": message["id"], "result": [self._settings(item) for item in items] or None})
            elif "id" in message:
                with self._arrived:
                    self._answers[message["id"]] = message
                    self._arrived.notify_all()

    @staticmethod
    def _settings(item: dict[str, Any]) -> dict[str, Any]:
        folders = [ROOT / "src", ROOT / "tests", *(path for path in (ROOT / "tests").iterdir() if path.is_dir())]
        analysis = {"diagnosticMode": "openFilesOnly", "typeCheckingMode": "off", "extraPaths": list(map(str, folders))}
        if str(item.get("section", "")).endswith("analysis"):
            return analysis
        return {"pythonPath": sys.executable, "analysis": analysis} if item.get("section") == "python" else {}


def read_tables(paths: list[str]) -> list[Entry]:
    """The entries of all tables."""
    lines = [line.partition("#")[0].strip() for path in paths for line in Path(path).read_text("utf-8").splitlines()]
    found = [(line, ENTRY.fullmatch(line)) for line in lines if line]
    if wrong := [line for line, match in found if match is None]:
        sys.exit("these lines name no definition:\n" + "\n".join(wrong))
    return [Entry(**match.groupdict()) for _, match in found if match is not None]


def find_definition(entry: Entry) -> tuple[int, int]:
    """Line and column, from 0, of the name in its definition. Raises KeyError."""
    text = entry.file.read_text("utf-8")
    node: ast.AST = ast.parse(text)
    *path, last = entry.name.split(".")
    for part in path:
        node = _find(node, part)
    found = _find(node, last)
    if entry.argument is not None:
        assert isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef)
        arguments = found.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        argument = next((a for a in every if a is not None and a.arg == entry.argument), None)
        if argument is None:
            raise KeyError(str(entry))
        return argument.lineno - 1, argument.col_offset
    if isinstance(found, ast.Name):
        return found.lineno - 1, found.col_offset
    if isinstance(found, ast.Attribute):
        return found.end_lineno - 1, found.end_col_offset - len(last)  # type: ignore[operator]
    line = found.lineno - 1  # type: ignore[attr-defined]
    match = re.search(rf"\b(?:def|class)\s+{re.escape(last)}\b", text.splitlines()[line])
    assert match is not None
    return line, match.end() - len(last)


def _find(scope: ast.AST, name: str) -> ast.AST:
    for node in _statements(scope):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == name:
            return node
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        for target in (part for t in targets for part in (t.elts if isinstance(t, ast.Tuple) else [t])):
            if isinstance(target, ast.Name) and target.id == name:
                return target
    for node in ast.walk(scope) if isinstance(scope, ast.ClassDef) else ():
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node) == f"self.{name}":
            return node
    raise KeyError(name)


def _statements(scope: ast.AST) -> Iterator[ast.AST]:
    """The statements of a module, a class or a function, and those inside its conditions."""
    for node in getattr(scope, "body", []):
        yield node
        if isinstance(node, ast.If | ast.Try | ast.With):
            yield from _statements(node)


def collect_edits(server: LanguageServer, entries: list[Entry]) -> tuple[dict[str, dict[Range, str]], list[str]]:
    """New texts by file and range, and what went wrong."""
    edits, problems, opened = dict[str, dict[Range, str]](), list[str](), set[Path]()
    for number, entry in enumerate(entries, 1):
        try:
            line, column = find_definition(entry)
        except (KeyError, OSError) as reason:
            problems.append(f"{entry}: no such definition ({reason})")
            continue
        document = {"uri": entry.file.as_uri()}
        if entry.file not in opened:
            text = entry.file.read_text("utf-8")
            server.tell(
                "textDocument/didOpen",
                {"textDocument": {**document, "languageId": "python", "version": 1, "text": text}},
            )
            opened.add(entry.file)
        position = {"line": line, "character": column}
        answer = server.ask(
            "textDocument/rename", {"textDocument": document, "position": position, "newName": entry.new}
        )
        found = list(_edits_of(answer.get("result") or {}))
        print(f"{number} of {len(entries)}: {entry}: {len(found)} places", flush=True)
        if not found:
            problems.append(f"{entry}: {answer.get('error') or 'the language server finds nothing'}")
        for uri, where, new in found:
            if edits.setdefault(uri, {}).setdefault(where, new) != new:
                problems.append(f"{entry}: another entry renames the same place in {uri}, line {where[0] + 1}")
    return edits, problems


def _edits_of(result: dict[str, Any]) -> Iterator[tuple[str, Range, str]]:
    changes = dict(result.get("changes") or {})
    changes |= {
        d["textDocument"]["uri"]: d["edits"] for d in result.get("documentChanges") or [] if "textDocument" in d
    }
    for uri, edits in changes.items():
        for edit in edits:
            start, end = edit["range"]["start"], edit["range"]["end"]
            yield uri, (start["line"], start["character"], end["line"], end["character"]), edit["newText"]


def apply_edits(edits: dict[str, dict[Range, str]]) -> int:
    """Write the edits into the files of this repository; return how many files changed."""
    changed = 0
    for uri, by_range in edits.items():
        file = Path(unquote(urlparse(uri).path))
        if not any(file.is_relative_to(ROOT / folder) for folder in FOLDERS):
            continue
        lines = file.read_text("utf-8").splitlines(keepends=True)
        for (line, start, _, end), new in sorted(by_range.items(), reverse=True):
            units = lines[line].encode("utf-16-le")
            lines[line] = (units[: 2 * start] + new.encode("utf-16-le") + units[2 * end :]).decode("utf-16-le")
        file.write_text("".join(lines), "utf-8")
        changed += 1
    return changed


def main() -> None:
    entries = read_tables(sys.argv[1:])
    server = LanguageServer()
    # the first answers can miss files that the server has not read yet
    edits, problems = collect_edits(server, [*entries, *entries[:40]])
    server.stop()
    print(f"{apply_edits(edits)} files changed", *problems, sep="\n")


if __name__ == "__main__":
    main()
