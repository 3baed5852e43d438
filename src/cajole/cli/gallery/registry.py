"""What `cajole demo` shows, in the order of its page; a new card needs a function that makes it, and a line here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cajole.cli.gallery import guided_cards, solid_cards
from cajole.cli.gallery.card import CardBuilder, DemoCard
from cajole.progress import ProgressCallback, build_subprogress, report_progress

# the name that `cajole demo --scene` takes -> what makes the card
CARD_BUILDERS: dict[str, CardBuilder] = {
    "flower-eight": solid_cards.build_flower_eight_card,
    "strike": solid_cards.build_strike_card,
    "twist": solid_cards.build_twist_card,
    "box": guided_cards.build_box_card,
    "cloth": guided_cards.build_cloth_card,
    "swirl": guided_cards.build_swirl_card,
    "fish": solid_cards.build_fish_card,
    "bridge": solid_cards.build_bridge_card,
}


def write_card_files(name: str, folder: Path, progress: ProgressCallback) -> dict[str, Any]:
    """Make the item `name`, write its files into `folder`, and return what the report and the page say of it."""
    item = CARD_BUILDERS[name](build_subprogress(progress, 0.0, 0.5))
    film = item.media
    report_progress(progress, 0.5, f"writing {film.suffix}")
    film.write(folder / f"{name}{film.suffix}")
    report_progress(progress, 0.55, "still")
    film.write_still(folder / f"{name}.jpg")
    film.write_loop(folder / f"{name}.webp", build_subprogress(progress, 0.7, 1.0))
    return _describe_card(name, item, folder)


def _describe_card(name: str, card: DemoCard, folder: Path) -> dict[str, Any]:
    film = card.media
    file = f"{name}{film.suffix}"
    return {
        "name": name,
        "title": card.title,
        "verb": card.verb,
        "story": card.description,
        "command": card.command,
        "frames": film.frames,
        "fps": film.fps,
        "seconds": card.seconds,
        "numbers": dict(card.numbers),
        "facts": dict(card.facts),
        "curves": [curve.tolist() for curve in card.curves],
        "told": card.caption,
        "background": list(film.background),
        "file": file,
        "still": f"{name}.jpg",
        "loop": f"{name}.webp",
        "file_bytes": (folder / file).stat().st_size,
    }
