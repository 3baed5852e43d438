"""Rename and merge modules: move the files, concatenate their code, and rewrite all imports.

Usage: python scripts/codemod/merge_modules.py TABLE..., with libcst installed.

    cajole.studio.view_model -> cajole.studio.view_model               a module is renamed or moved
    cajole.linalg.eigen, cajole.linalg.eigen => cajole.linalg.eigen   modules become one

Merged code is ordered so that a module comes after those it imports. Imports between merged modules go, and
`alias.name` of an imported module becomes `name`. Names that two merged modules bind to different things are an
error, and nothing is written.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import move_modules

ROOT = Path(__file__).resolve().parents[2]
PROBLEMS: dict[str, None] = {}


def read_lines(paths: list[str]) -> list[tuple[list[str], str]]:
    found = []
    for path in paths:
        for line in Path(path).read_text("utf-8").splitlines():
            text = line.partition("#")[0].strip()
            if not text:
                continue
            old, _, new = text.partition("=>" if "=>" in text else "->")
            found.append(([part.strip() for part in old.split(",")], new.strip()))
    return found


def file_of(module: str) -> Path:
    path = ROOT / "src" / Path(*module.split("."))
    return path.with_suffix(".py") if path.with_suffix(".py").exists() or not path.is_dir() else path / "__init__.py"


class Source:
    """The top-level pieces of one module."""

    def __init__(self, module: str):
        self.module, self.file = module, file_of(module)
        self.text = self.file.read_text("utf-8")
        self.lines = self.text.splitlines(keepends=True)
        self.tree = ast.parse(self.text)
        self.docstring = ""
        body = list(self.tree.body)
        start = 0
        if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            self.docstring = "".join(self.lines[: body[0].end_lineno])
            start = body[0].end_lineno or 0
            body = body[1:]
        self.imports: list[ast.stmt] = []
        self.typing: list[ast.stmt] = []
        last = start
        rest: list[ast.stmt] = []
        for node in body:
            if isinstance(node, ast.Import | ast.ImportFrom) and not rest:
                self.imports.append(node)
                last = node.end_lineno or last
            elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and not rest:
                self.typing += node.body
                last = node.end_lineno or last
            else:
                rest.append(node)
        self.code = "".join(self.lines[last:]).strip("\n") + "\n"
        self.bound = {name for node in rest for name in _bound(node)}

    def imported_modules(self) -> set[str]:
        found = set()
        for node in self.imports:
            if isinstance(node, ast.ImportFrom):
                found |= {node.module or ""} | {f"{node.module}.{alias.name}" for alias in node.names}
            elif isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
        return found


def _bound(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    return {leaf.id for leaf in ast.walk(node) if isinstance(leaf, ast.Name) and isinstance(leaf.ctx, ast.Store)}


def merge(modules: list[str], target: str) -> str:
    """The text of the merged module."""
    sources = {module: Source(module) for module in modules}
    ordered: list[Source] = []

    def visit(module: str, path: tuple[str, ...] = ()) -> None:
        if sources[module] in ordered or module in path:
            return
        for other in modules:
            if other in sources[module].imported_modules():
                visit(other, (*path, module))
        ordered.append(sources[module])

    for module in modules:
        visit(module)
    problems = []
    for i, one in enumerate(ordered):
        for two in ordered[i + 1 :]:
            for name in one.bound & two.bound:
                if _definition(one, name) != _definition(two, name):
                    problems.append(f"{target}: {one.module} and {two.module} both define {name}")
    imports, typing = dict[str, None](), dict[str, None]()
    kinds: dict[str, str] = {}
    bodies, seen = [], set[str]()
    for source in ordered:
        aliases: dict[str, None] = {}
        renamed: dict[str, str] = {}
        spelled: dict[str, str] = {}
        for node, store in [(n, imports) for n in source.imports] + [(n, typing) for n in source.typing]:
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    whole = f"{node.module}.{alias.name}"
                    name = alias.asname or alias.name
                    if node.module in sources:
                        if alias.asname and alias.asname != alias.name:
                            renamed[alias.asname] = alias.name
                        continue
                    if whole in sources:
                        aliases[name] = None
                        continue
                    text = f"from {node.module} import {alias.name}" + (f" as {alias.asname}" if alias.asname else "")
                    if alias.asname and alias.asname != alias.name and kinds.get(name, text) != text:
                        name, text = alias.name, f"from {node.module} import {alias.name}"
                        spelled[alias.asname] = alias.name
                    if kinds.setdefault(name, text) != text:
                        problems.append(f"{target}: {name} means {kinds[name]!r} and {text!r}")
                    store[text] = None
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    text = f"import {alias.name}" + (f" as {alias.asname}" if alias.asname else "")
                    store[text] = None
            else:
                typing[ast.unparse(node)] = None
        code = _drop_repeated(source, seen)
        if aliases or renamed or spelled:
            code = _unqualify(code, aliases, renamed | spelled)
        for name in source.bound:
            if name in kinds:
                problems.append(f"{target}: {name} is defined in {source.module} and imported: {kinds[name]}")
        seen |= source.bound
        bodies.append(code)
    for name, text in kinds.items():
        if any(name in source.bound for source in ordered):
            problems.append(f"{target}: {name} is imported ({text}) and defined")
    PROBLEMS.update(dict.fromkeys(problems))
    future = "from __future__ import annotations"
    head = [text for text in imports if text != future]
    tail = [text for text in typing if text not in imports]
    result = sources[modules[0]].docstring + "\n"
    if future in imports:
        result += future + "\n\n"
    result += "\n".join(head) + "\n\n"
    if tail:
        result += "if TYPE_CHECKING:\n" + "".join(f"    {text}\n" for text in tail) + "\n"
    return result + "\n\n".join(bodies)


def _definition(source: Source, name: str) -> str:
    for node in source.tree.body:
        if name in _bound(node):
            return ast.unparse(node)
    return ""


def _drop_repeated(source: Source, seen: set[str]) -> str:
    """The code without definitions that an earlier module has alike."""
    offset = len(source.lines) - len(source.code.splitlines())
    text = source.text.rstrip("\n").splitlines(keepends=True)
    offset = len(text) - len(source.code.splitlines())
    drop = set()
    for node in source.tree.body:
        if _bound(node) and _bound(node) <= seen and isinstance(node, ast.Assign | ast.AnnAssign | ast.FunctionDef):
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
            drop |= set(range(first - 1, node.end_lineno or first))
    return "".join(line for i, line in enumerate(text) if i >= offset and i not in drop).strip("\n") + "\n"


def _unqualify(code: str, aliases: dict[str, None], renamed: dict[str, str]) -> str:
    edits = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in aliases:
            edits.append((node.lineno, node.col_offset, node.end_lineno, node.end_col_offset, node.attr))
        elif isinstance(node, ast.Name) and node.id in renamed:
            edits.append((node.lineno, node.col_offset, node.end_lineno, node.end_col_offset, renamed[node.id]))
    lines = [line.encode() for line in code.splitlines(keepends=True)]
    for line, start, end_line, end, new in sorted(edits, reverse=True):
        if line != end_line:
            raise SystemExit(f"cannot rewrite {new}")
        lines[line - 1] = lines[line - 1][:start] + new.encode() + lines[line - 1][end:]
    return b"".join(lines).decode()


def main() -> None:
    entries = read_lines(sys.argv[1:])
    texts = [(olds, new, merge(olds, new) if len(olds) > 1 else None) for olds, new in entries]
    if PROBLEMS:
        raise SystemExit("\n".join(PROBLEMS))
    moves: dict[str, str] = {}
    for olds, new, text in texts:
        first = file_of(olds[0])
        path = ROOT / "src" / Path(*new.split("."))
        target = path / "__init__.py" if first.name == "__init__.py" and text is None else path.with_suffix(".py")
        written = first.read_text("utf-8") if text is None else text
        for old in olds:
            git("rm", "--quiet", "--cached", str(file_of(old)))
            file_of(old).unlink()
            if old != new:
                moves[old] = new
        target.parent.mkdir(parents=True, exist_ok=True)
        folder = target.parent
        while folder != ROOT / "src" and not (folder / "__init__.py").exists():
            (folder / "__init__.py").write_text("", "utf-8")
            folder = folder.parent
        target.write_text(written, "utf-8")
    table = Path("/tmp/moves.txt")
    table.write_text("".join(f"{old} -> {new}\n" for old, new in moves.items()), "utf-8")
    sys.argv = ["move_modules", str(table)]
    move_modules.main()


def git(*words: str) -> None:
    subprocess.run(["git", *words], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
