"""Registry of the animation formats by suffix. `cajole.animation.files` registers the formats of the package."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cajole.checks import OptionalPackage
from cajole.errors import FileError, InputError


@dataclass(frozen=True)
class AnimationFormat:
    """A display name, a reader and a writer; their keyword arguments are the options of the format.

    package: the optional package that they need; render_notebook: an animation as HTML for a notebook cell.
    """

    name: str
    read: Callable[..., Any]
    write: Callable[..., None]
    package: OptionalPackage | None = None
    render_notebook: Callable[[Any], str] | None = None


# suffix, with its dot -> format
FORMATS: dict[str, AnimationFormat] = {}


def find_output_format(path: Path) -> AnimationFormat:
    """The format to write. Raises FileError if the suffix of the path names none, as that of a folder."""
    suffix = path.suffix.lower()
    if suffix not in FORMATS and (not suffix or path.is_dir()):
        raise FileError(
            f"{path} has no suffix that names a format: write {path.name}.npz, or another of {' '.join(FORMATS)}; "
            f"or {path.name}/name_####.obj for a sequence in a folder"
        )
    return find_input_format(path)


def find_input_format(path: Path) -> AnimationFormat:
    """The format to read, by suffix; a folder is a sequence of .obj files."""
    suffix = path.suffix.lower()
    if suffix in FORMATS:
        return FORMATS[suffix]
    if not suffix or path.is_dir():
        return FORMATS[".obj"]
    raise FileError(f"{path}: {suffix} is not an animation format; known are {' '.join(FORMATS)}")


def require_known_options(function: Callable[..., Any], options: dict[str, Any], action: str) -> None:
    """Raise InputError for an option that a reader or writer does not have. action: such as "writing GLB"."""
    known = [name for name, p in inspect.signature(function).parameters.items() if p.kind is p.KEYWORD_ONLY]
    own = [name for name in known if name not in ("mesh", "fps", "progress")]
    for name in options:
        if name not in own:
            raise InputError(f"{action} has no option {name!r}; it takes {', '.join(own) or 'none'}")
