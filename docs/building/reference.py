"""Public names as Markdown: what `::: cajole.name` in a page becomes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from html import escape
from typing import Any

import cajole

# signatures up to so many characters stay on one line
WIDE = 88
# a line of a docstring that begins to speak of another argument: "dt [s]: ...", "a, b: ..."
ARGUMENT = re.compile(r"^[\w.*]+(?:, [\w.*]+)*(?: ?[\[(][^\])]*[\])])*(?: \[[^\]]*\])?: ")


def reference(name: str) -> str:
    """Heading, signature, words and members of an exported name. Raises AttributeError where there is none."""
    value = getattr(cajole, name)
    parts = [f"### {name} {{ #cajole.{name} }}", _signature(name, value), _words(value), _shared_options(name, value)]
    if inspect.isclass(value):
        parts += [_member(name, member, raw) for member, raw in members(value)]
    return "\n\n".join(part for part in parts if part)


def _shared_options(name: str, value: Any) -> str:
    """Table of the arguments that the command of the same name has as options, with the text of its --help."""
    from cajole.cli.command_options import COMMANDS, find_shared_parameters

    if name not in COMMANDS or not inspect.isfunction(value):
        return ""
    shared = find_shared_parameters(name, inspect.signature(value).parameters)
    rows = [f"| `{argument}` | {text.replace('|', chr(92) + '|')} |" for argument, text in shared.items()]
    head = [f"Arguments that `cajole {name}` has as options:", "", "| argument | effect |", "|---|---|"]
    return "\n".join([*head, *rows]) if rows else ""


def members(cls: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties of a class and of those of ours that it comes from, in their order."""
    seen: set[str] = set()
    for base in cls.__mro__:
        if not base.__module__.startswith("cajole"):
            continue
        for name, raw in vars(base).items():
            told = inspect.isfunction(raw) or isinstance(raw, property | classmethod | staticmethod)
            if name not in seen and not name.startswith("_") and (told or hasattr(raw, "func")):
                seen.add(name)
                yield name, raw


def _member(owner: str, name: str, raw: Any) -> str:
    inner = getattr(raw, "fget", None) or getattr(raw, "func", None) or getattr(raw, "__func__", raw)
    called = inspect.isfunction(raw) or isinstance(raw, classmethod | staticmethod)
    about = _signature(name, inner) if called else _typed(name, inner)
    words = f'<div class="api">\n{_html(inspect.getdoc(inner) or "")}\n</div>'
    return f"#### {owner}.{name} {{ #cajole.{owner}.{name} }}\n\n{about}\n\n{words}"


def _typed(name: str, getter: Any) -> str:
    said = getattr(getter, "__annotations__", {}).get("return")
    return _fenced(name if said is None else f"{name}: {said}")


def _signature(name: str, value: Any) -> str:
    if inspect.isclass(value) and issubclass(value, Exception):
        return _fenced(f"class {name}({', '.join(base.__name__ for base in value.__bases__)})")
    found = inspect.signature(value)
    own = [p for p in found.parameters.values() if p.name not in ("self", "cls")]
    found = found.replace(parameters=own)
    line = f"{name}{_unquoted(found)}"
    if len(line) > WIDE and own:
        inside = "".join(f"    {text},\n" for text in _arguments(own))
        given = "" if found.return_annotation is inspect.Signature.empty else f" -> {_plain(found.return_annotation)}"
        line = f"{name}(\n{inside}){given}"
    return _fenced(line)


def _arguments(parameters: list[inspect.Parameter]) -> Iterator[str]:
    """Each argument as it is written, with the star before those that have names only."""
    starred = False
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            starred = True
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        yield _unquoted(parameter)


def _unquoted(thing: Any) -> str:
    """Annotations are texts: without their quotes."""
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(thing))


def _plain(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


def _fenced(code: str) -> str:
    return f"```python\n{code}\n```"


def _words(value: Any) -> str:
    return _html(inspect.getdoc(value) or "")


def _html(text: str) -> str:
    """A docstring: paragraphs, arguments on lines of their own, what is indented as it stands."""
    out = []
    for block in re.split(r"\n\s*\n", text):
        lines = block.split("\n")
        if all(line.startswith("    ") for line in lines):
            out.append(f"<pre>{escape(inspect.cleandoc(block))}</pre>")
        else:
            joined = "".join(("<br>" if ARGUMENT.match(line) else " ") + _inline(line.strip()) for line in lines)
            out.append(f"<p>{joined.removeprefix('<br>').strip()}</p>")
    return "\n".join(out)


def _inline(line: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(line, quote=False))
