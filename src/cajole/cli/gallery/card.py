"""What a card of the demo is: a film, and what is told of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cajole.arrays import Array
from cajole.cli.gallery.films import Film
from cajole.progress import Progress


@dataclass(frozen=True, eq=False)
class DemoItem:
    """One card of the demo: what happens, its film, and the numbers of it.

    command: one that makes or opens the same; numbers: for programs, and facts, the same for people, by what they are
    called. curves: (frames,) each, the last is what came out; told: what they show. seconds: of computing, not of
    pictures.
    """

    title: str
    story: str
    verb: str
    command: str
    film: Film
    numbers: Mapping[str, Any]
    facts: Mapping[str, str]
    curves: tuple[Array, ...]
    told: str
    seconds: float


Maker = Callable[[Progress | None], DemoItem]
