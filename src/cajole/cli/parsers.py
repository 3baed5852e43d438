"""Numbers, vectors, times and vertices in option texts, and library messages in terms of options."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array, IndexArray
from cajole.errors import InputError, SolveError
from cajole.mesh import MeshLine, MeshTet, MeshTri
from cajole.scenes import select_vertices


def parse_number(text: str, name: str) -> float:
    """Parse a finite number; name: the source of the text in messages."""
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise InputError(f"{name}: {text.strip()!r} is not a finite number")
    return value


def parse_pair(text: str, name: str) -> tuple[float, float]:
    """Parse two numbers, "a,b"."""
    words = text.split(",")
    if len(words) != 2:
        raise InputError(f"{name} is {text!r}, but must be two numbers, as in 0.1,0.002")
    return parse_number(words[0], name), parse_number(words[1], name)


def parse_vector(text: str, name: str) -> Array:
    """Parse three numbers, "x,y,z"."""
    words = text.split(",")
    if len(words) != 3:
        raise InputError(f"{name} is {text!r}, but must be three numbers separated by commas, as in 0,0,-9.81")
    return np.array([parse_number(word, name) for word in words])


def parse_named_numbers(text: str, option: str, names: tuple[str, ...], required_count: int) -> dict[str, float]:
    """Parse numbers separated by commas, by name; those after the first `required_count` may be missing."""
    words = text.split(",")
    if not required_count <= len(words) <= len(names):
        form = ",".join(names[:required_count]) + "".join(f"[,{name}]" for name in names[required_count:])
        raise InputError(f"{option} is {text.strip()!r}, but must be {form.upper()}: numbers separated by commas")
    return {name: parse_number(word, f"{option}, its {name}") for name, word in zip(names, words)}


def parse_seconds(text: str, name: str) -> float:
    """Parse a time [s], "0.5" or "1/60", positive or zero."""
    top, slash, bottom = text.partition("/")
    value = parse_number(top, name)
    if slash:
        below = parse_number(bottom, name)
        if below == 0:
            raise InputError(f"{name} is {text!r}, a division by zero")
        value /= below
    if value < 0:
        raise InputError(f"{name} is {text!r}, but a time cannot be negative")
    return value


def parse_gravity(text: str | None) -> Array | None:
    """Parse an acceleration (3,) [m/s²]: "9.81" is (0, 0, -9.81), "x,y,z" itself, "none" None."""
    if text is None or text.strip().lower() == "none":
        return None
    return parse_vector(text, "--gravity") if "," in text else np.array([0.0, 0.0, -parse_number(text, "--gravity")])


def select_vertex_union(
    selections: Sequence[str], mesh: MeshTet | MeshTri | MeshLine, parts: Mapping[str, IndexArray]
) -> IndexArray:
    """Vertices (k,) in any of the selections, sorted; parts: vertices by name."""
    found = (select_vertices(text, mesh, parts) for text in selections)
    return np.unique(np.concatenate([np.empty(0, np.int64), *found]))


def select_animation_vertices(selection: str, animation: Animation, parts: Mapping[str, IndexArray]) -> IndexArray:
    """Vertices (k,), k >= 1: a selection, "@NAME" its middle vertex, or "@x,y,z" the vertex nearest to a rest point."""
    word = selection.strip()
    mesh = animation.mesh
    if word.startswith("@") and len(word.split(",")) == 3:
        return np.array([mesh.nearest(parse_vector(word[1:], f"the point {word}"))])
    found = select_vertices(word.removeprefix("@"), mesh, parts)
    if len(found) == 0:
        raise InputError(f"{word.removeprefix('@')!r} selects no vertex")
    if not word.startswith("@"):
        return found
    points = mesh.vertices[found]
    return found[[np.argmin(np.linalg.norm(points - points.mean(axis=0), axis=1))]]


@contextmanager
def translate_errors() -> Iterator[None]:
    """Rephrase InputError and SolveError of the block in terms of options."""
    try:
        yield
    except (InputError, SolveError) as reason:
        raise type(reason)(translate_message(str(reason))) from None


def translate_message(message: str) -> str:
    """A message of the library with options in place of Python arguments."""
    translations = {
        "leave them out (regions.without, joined(..., dependent='drop'))": "ask for fewer (--clusters, labels)",
        "leave it out: regions.without": "choose a smaller --fixed",
        "more of them may do (newton=), and newton=1 takes what one gives": "a larger --newton may do, and --newton 1 "
        "takes what one gives",
        "collisions='fast' goes on": "--collisions fast goes on",
        "(a smaller distance=)": "(a smaller --distance)",
        "give a smaller distance=": "give a smaller --distance",
        "frames= asks for more": "--frames asks for more",
        "use a smaller dt, fewer or larger regions, a stiffer or more damped shell, or a slower guide": "use a smaller "
        "--dt, fewer --clusters or labels, a larger --young or --damping, or a slower guide",
        "over several pieces (regions_painted)": "over several pieces: --paint-guide",
        ", lower the ground, or give a start that is above it: "
        "start=": ", or lower the ground: --collider ground:HEIGHT",
        ", or give another one: start=": "",
        "ask for fewer levels": "ask for fewer with --subdivide",
        "guide_labels": "--paint-guide",
        "fine_labels": "--paint-fine",
        "-1 or None": "-1",
        "yield_curvature (1/m)": "--plastic, its curvature (1/m),",
    }
    for python_text, option_text in translations.items():
        message = message.replace(python_text, option_text)
    # a message may start with the name of the argument that is wrong
    argument = re.match(
        r"(count|mu|young|poisson|thickness|density|damping|friction|distance|dt|method|within|limit|reach|frames|mass|"
        r"stiffness|clamp|every|align|level)\b(?!\[)",
        message,
    )
    if argument is None:
        return message
    name = "clusters" if argument[1] == "count" else argument[1]
    return f"--{name}{message[argument.end() :]}"
