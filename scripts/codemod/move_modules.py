"""Rewrite imports after modules were moved or merged; the code itself is moved by hand.

Usage: python scripts/codemod/move_modules.py TABLE..., with libcst installed.

    cajole.studio.view_model -> cajole.studio.view_model       all names of a module
    cajole.body.base:Body -> cajole.body.body               one name

`from old import a`, `from package import old [as x]`, `import package.old [as x]`, and dotted names in strings and in
Markdown are changed. Run `ruff check --fix --select I` afterwards: imports are not sorted here.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import libcst as cst

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("src", "tests", "benchmarks", "examples", "scripts", "integrations", "docs")

Modules = dict[str, str]
Names = dict[tuple[str, str], str]


def read_tables(paths: list[str]) -> tuple[Modules, Names]:
    """New modules of whole modules, and of single names (module, name)."""
    modules: Modules = {}
    names: Names = {}
    for path in paths:
        for line in Path(path).read_text("utf-8").splitlines():
            old, arrow, new = (part.strip() for part in line.partition("#")[0].partition("->"))
            module, colon, name = old.partition(":")
            if colon:
                names[module, name] = new
            elif arrow:
                modules[old] = new
    return modules, names


class ImportRewriter(cst.CSTTransformer):
    """Changes the imports and the strings of one file; `renamed`: modules that are called otherwise in its code."""

    def __init__(self, modules: Modules, names: Names):
        self._modules, self._names = modules, names
        self.renamed: dict[str, str] = {}

    def leave_ImportFrom(self, original_node, updated_node):  # type: ignore[no-untyped-def]
        if updated_node.relative or updated_node.module is None or isinstance(updated_node.names, cst.ImportStar):
            return updated_node
        module = _dotted(updated_node.module)
        targets: dict[str, list[cst.ImportAlias]] = {}
        before = [(module, alias.name.value) for alias in updated_node.names]
        for alias in updated_node.names:
            name = alias.name.value
            whole = self._modules.get(f"{module}.{name}")
            if whole is None:
                target = self._names.get((module, name)) or self._modules.get(module) or module
            else:
                target, _, leaf = whole.rpartition(".")
                if alias.asname is None and leaf != name:
                    self.renamed[name] = leaf
                alias = alias.with_changes(name=cst.Name(leaf))
            targets.setdefault(target, []).append(alias.with_changes(comma=cst.MaybeSentinel.DEFAULT))
        if before == [(target, alias.name.value) for target, aliases in targets.items() for alias in aliases]:
            return updated_node
        brackets = {"lpar": cst.LeftParen(), "rpar": cst.RightParen()}
        return cst.FlattenSentinel([
            updated_node.with_changes(module=cst.parse_expression(target), names=aliases, **brackets)
            for target, aliases in targets.items()
        ])  # fmt: skip

    def leave_Import(self, original_node, updated_node):  # type: ignore[no-untyped-def]
        moved = [
            alias.with_changes(name=cst.parse_expression(self._modules.get(_dotted(alias.name), _dotted(alias.name))))
            for alias in updated_node.names
        ]
        return updated_node.with_changes(names=moved)

    def leave_SimpleString(self, original_node, updated_node):  # type: ignore[no-untyped-def]
        return updated_node.with_changes(value=rewrite_text(updated_node.value, self._modules, self._names))


def rename_modules(code: str, renamed: dict[str, str]) -> str:
    """`code` with the names of imported modules replaced, except in functions that bind such a name themselves."""
    lines, edits = [line.encode() for line in code.splitlines(keepends=True)], set[tuple[int, int, str, str]]()

    def visit(node: ast.AST, shadowed: frozenset[str]) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            inner = {leaf.arg for leaf in ast.walk(node.args) if isinstance(leaf, ast.arg)}
            for leaf in ast.walk(node):
                if isinstance(leaf, ast.Name) and isinstance(leaf.ctx, ast.Store):
                    inner.add(leaf.id)
            shadowed = shadowed | frozenset(inner)
        if isinstance(node, ast.Name) and node.id in renamed and node.id not in shadowed:
            edits.add((node.lineno, node.col_offset, node.id, renamed[node.id]))
        for child in ast.iter_child_nodes(node):
            visit(child, shadowed)

    visit(ast.parse(code), frozenset())
    for line, start, old, new in sorted(edits, reverse=True):
        text = lines[line - 1]
        assert text[start : start + len(old)].decode() == old
        lines[line - 1] = text[:start] + new.encode() + text[start + len(old) :]
    return b"".join(lines).decode()


def rewrite_text(text: str, modules: Modules, names: Names) -> str:
    """`text` with the dotted names of moved modules and names replaced."""
    for (module, name), new in names.items():
        text = re.sub(rf"(?<![\w.]){re.escape(module)}\.{name}(?!\w)", f"{new}.{name}", text)
    for module, new in modules.items():
        text = re.sub(rf"(?<![\w.]){re.escape(module)}(?!\w)", new, text)
    return text


def rewrite_code(text: str, modules: Modules, names: Names) -> str:
    """Python source with its imports rewritten."""
    rewriter = ImportRewriter(modules, names)
    code = cst.parse_module(text).visit(rewriter).code
    return rename_modules(code, rewriter.renamed) if rewriter.renamed else code


def _dotted(node: cst.CSTNode) -> str:
    if isinstance(node, cst.Attribute):
        return f"{_dotted(node.value)}.{node.attr.value}"
    return node.value if isinstance(node, cst.Name) else ""


def main() -> None:
    modules, names = read_tables(sys.argv[1:])
    changed = 0
    words = {module.rpartition(".")[2] for module in [*modules, *(module for module, _ in names)]}
    for file in (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.*")):
        if file.suffix not in (".py", ".md") or "node_modules" in file.parts:
            continue
        old = file.read_text("utf-8")
        if not any(word in old for word in words):
            continue
        new = (rewrite_code if file.suffix == ".py" else rewrite_text)(old, modules, names)
        if new != old:
            file.write_text(new, "utf-8")
            changed += 1
    print(f"{changed} files changed")


if __name__ == "__main__":
    main()
