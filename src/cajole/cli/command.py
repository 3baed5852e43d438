"""Commands never overwrite what they read: the files that their words name are protected before any work begins."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

from typer.core import TyperCommand

# what stands around the names of files in texts such as "60=left.npz#3 on head" and "ground:0.1"
_FILE_SEPARATORS = re.compile(r"[=#\s:;]+")
# what belongs to a file of such a suffix and is read with it, under the same stem
_COMPANION_SUFFIXES = {
    ".node": (".ele",),
    ".ele": (".node",),
    **dict.fromkeys((".pc2", ".mdd"), (".veg", ".obj", ".ply", ".stl", ".msh", ".vtk", ".vtu", ".mesh")),
}


class CajoleCommand(TyperCommand):
    """A command that refuses to write to a file that it reads, by whatever name or link.

    The files that its parameters name are known at once, so that the refusal comes before the work. Files that are
    found only while it works (frames of a sequence, included files) are protected when they are opened.
    """

    def invoke(self, ctx: Any) -> Any:
        from cajole.storage import protect_inputs, register_input

        with protect_inputs():
            written = _find_output_parameters(self.callback)
            for name, value in ctx.params.items():
                if name not in written:
                    for file in find_named_files(value):
                        register_input(file)
            return super().invoke(ctx)


def _find_output_parameters(function: Any) -> set[str]:
    """The parameters of a command that name what is written: those that are declared as not readable."""
    found = set()
    for name, parameter in inspect.signature(function, eval_str=True).parameters.items():
        infos = get_args(parameter.annotation)[1:] if get_origin(parameter.annotation) is Annotated else ()
        if any(not getattr(info, "readable", True) for info in infos):
            found.add(name)
    return found


def find_named_files(value: Any) -> Iterator[Path]:
    """Every file that the value of a parameter may name: a path, a text with names of files, or a list of such."""
    if isinstance(value, list | tuple):
        for each in value:
            yield from find_named_files(each)
    elif isinstance(value, str | Path) and str(value):
        for text in {str(value), *_FILE_SEPARATORS.split(str(value))} - {""}:
            yield from find_input_files(Path(text))


def find_input_files(path: Path) -> Iterator[Path]:
    """A path, and the files that are read with it: the other half of a pair, or the frames of a sequence."""
    yield path
    suffix = path.suffix.lower()
    for other in _COMPANION_SUFFIXES.get(suffix, ()):
        yield path.with_suffix(other)
    if suffix == ".obj" or (not suffix and path.is_dir()):
        from cajole.animation.obj_sequence import find_obj_sequence
        from cajole.errors import FileError

        try:
            yield from find_obj_sequence(path).find_files().values()
        except (FileError, OSError):  # no sequence; whoever reads it says so
            return
