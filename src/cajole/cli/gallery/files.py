"""A demo item into files: what moves, a still, a loop; and its numbers for the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cajole.cli.gallery.card import DemoItem
from cajole.cli.gallery.items import ITEMS
from cajole.progress import Progress, portion, report


def produce(name: str, folder: Path, progress: Progress) -> dict[str, Any]:
    """Make the item `name`, write its files into `folder`, and return what the report and the page say of it."""
    item = ITEMS[name](portion(progress, 0.0, 0.5))
    film = item.film
    report(progress, 0.5, f"writing {film.suffix}")
    film.write(folder / f"{name}{film.suffix}")
    report(progress, 0.55, "still")
    film.still(folder / f"{name}.jpg")
    film.loop(folder / f"{name}.webp", portion(progress, 0.7, 1.0))
    return _entry(name, item, folder)


def _entry(name: str, item: DemoItem, folder: Path) -> dict[str, Any]:
    film = item.film
    file = f"{name}{film.suffix}"
    return {
        "name": name,
        "title": item.title,
        "verb": item.verb,
        "story": item.story,
        "command": item.command,
        "frames": film.frames,
        "fps": film.fps,
        "seconds": item.seconds,
        "numbers": dict(item.numbers),
        "facts": dict(item.facts),
        "curves": [curve.tolist() for curve in item.curves],
        "told": item.told,
        "background": list(film.background),
        "file": file,
        "still": f"{name}.jpg",
        "loop": f"{name}.webp",
        "file_bytes": (folder / file).stat().st_size,
    }
