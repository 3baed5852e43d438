"""The start page: scenes for each verb, with pictures that are drawn in the background, and projects to go on with."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cajole
from cajole.errors import FileError, InputError
from cajole.storage import atomic_path, cache_folder
from cajole.studio.opening import MESHES, MOTIONS
from cajole.studio.shelf import Record, Shelf

# Raised when pictures are drawn in another way, so that older ones are drawn again.
PICTURES = 2


@dataclass(frozen=True)
class Card:
    """A scene for one verb, as the start page shows it. quick: nothing of it takes long to make."""

    mode: str
    name: str
    title: str
    text: str
    group: str
    facts: tuple[str, ...]
    quick: bool = False

    @property
    def key(self) -> str:
        return f"{self.mode}-{self.name}"


CARDS = (
    Card(
        "edit",
        "stairs",
        "Elephant on the stairs",
        "Lift the trunk, and the contacts hold",
        "creatures",
        ("600 frames", "contacts"),
    ),
    Card("edit", "bird", "Seagull", "Bend a wing, twist the tail", "creatures", ("255 frames", "shell")),
    Card(
        "edit",
        "bridge",
        "Bridge in a storm",
        "Keep it out of the sea, and off the gulls",
        "structures",
        ("240 frames", "solid"),
    ),
    Card("edit", "curtain", "Curtain in the wind", "Make it swing higher", "structures", ("240 frames", "cloth")),
    Card("edit", "twist", "Twisted beam", "Turn its end by two full turns", "structures", ("360 frames",), True),
    Card(
        "edit",
        "bridge-pulled",
        "Bridge, one mast pulled",
        "Pull a mast, and the rest swings",
        "structures",
        ("240 frames",),
    ),
    Card("keyframe", "flower", "Potted flower", "Its blooms draw an eight", "plants", ("8 keys", "301 frames")),
    Card("keyframe", "fish", "Clownfish", "One stroke, nothing holds it", "creatures", ("5 keys", "211 frames")),
    Card("keyframe", "dinosaur", "Long-neck", "One step on soft feet", "creatures", ("2 keys", "121 frames")),
    Card("keyframe", "elephant", "Elephant", "It greets, and bows", "creatures", ("8 keys", "241 frames")),
    Card("keyframe", "bridge", "Suspension bridge", "Pose its deck and towers", "structures", ("no keys yet",)),
    Card("keyframe", "tee", "T with two balls", "They hang on chains, and swing", "structures", ("no keys yet",)),
    Card("keyframe", "beam", "Beam", "Held in a wall at one end", "structures", ("no keys yet",), True),
    Card("steer", "strike", "T that strikes", "Both ends must hit their ball in time", "structures", ("5 s",)),
    Card("steer", "bee", "Flower and bee", "The bloom must be there when the bee lands", "plants", ("13 s", "a loop")),
    Card("steer", "fish", "Clownfish", "Swims on and on, whatever pushes it", "creatures", ("a loop",)),
    Card("steer", "dinosaur", "Long-neck", "Takes its step in spite of you", "creatures", ("0.7 s",)),
    Card("steer", "rooted", "Long-neck looks round", "Its head must end in its place", "creatures", ("3 s",)),
    Card("steer", "swirl", "Smoke after a blow", "Three particles must keep to their paths", "flows", ("64 modes",)),
    Card("steer", "leaves", "Leaves on the wind", "The red one must write an S", "flows", ("64 modes", "a wind")),
    Card("enrich", "box", "Box", "Eight points turn its lid; the walls crease", "structures", ("8 regions",), True),
    Card("enrich", "bag", "Backflip", "A bag of vinyl, silk or cellophane", "characters", ("88 regions",), True),
    Card("enrich", "flag", "Flag on a branch", "Four painted quarters are caught", "structures", ("4 regions",), True),
    Card("enrich", "walker", "Walker", "Into a headwind, onto a live wire", "characters", ("280 regions", "wind")),
    Card(
        "reroute", "cloth", "Falling cloth", "Lead a corner elsewhere", "structures", ("400 nodes", "120 frames"), True
    ),
    Card("reroute", "skirt", "Skirt on walking hips", "Its hem curls up", "characters", ("1,980 nodes", "legs"), True),
    Card("reroute", "heart", "Beating heart", "Guided by a patient's images", "creatures", ("3,372 nodes",), True),
    Card("reroute", "heart_dragged", "Heart, dragged", "Its wall is pulled out", "creatures", ("3,372 nodes",), True),
)

PICTURING = """
import os, sys
hasattr(os, "nice") and os.nice(19)
from cajole.studio.picturing import main
main(sys.argv[1:])
"""


class Catalogue:
    """What can be opened. Pictures and what was opened before are kept in the cache."""

    def __init__(self, shelf: Shelf):
        self._shelf = shelf
        # whether pictures that are missing are drawn once someone asks for the list
        self.draws = False
        self._drawing: subprocess.Popen[bytes] | None = None
        self._tried: set[str] = set()

    def told(self, *, alone: bool = True) -> dict[str, Any]:
        """`Catalogue` of the page; alone: nobody works on a project, whom drawing would slow down."""
        if self.draws and alone:
            self.draw()
        return {
            "scenes": [self._scene(card) for card in CARDS],
            "recent": [recent(record, self._shelf.was_cut_off(record.id)) for record in self._shelf.recent()],
            "formats": {"read": _plain([*MOTIONS, *MESHES, ".cajole"]), "write": _plain(MOTIONS)},
            "version": cajole.__version__,
        }

    def title(self, name: str, mode: str) -> str:
        """What a scene is called. Raises InputError for one that the verb does not have."""
        for card in CARDS:
            if (card.name, card.mode) == (name, mode):
                return card.title
        known = ", ".join(card.name for card in CARDS if card.mode == mode)
        raise InputError(f"there is no scene {name!r} for {mode}; choose one of {known or 'those of another verb'}")

    def was_opened(self, name: str, mode: str) -> None:
        """All slow parts of a scene are in the cache now, and a portrait that stood for it can make way."""
        key = f"{mode}-{name}"
        if not is_ready(key):
            # a cache that cannot be written is no reason to fail
            with contextlib.suppress(FileError), atomic_path(_mark(key)) as path:
                path.write_text("opened\n", encoding="utf-8")
            if not any(card.quick for card in CARDS if card.key == key):
                # shown until the other one is drawn: a page may be about to ask for it
                with contextlib.suppress(OSError):
                    _picture(key).replace(_portrait(key))
                self._tried.discard(key)

    def picture(self, key: str) -> Path | None:
        """The picture of a scene, None while there is none."""
        if key not in {card.key for card in CARDS}:
            return None
        return next((path for path in (_picture(key), _portrait(key)) if path.is_file()), None)

    def draw(self) -> None:
        """Have pictures that are missing drawn by another process, behind everything else; none without Pillow."""
        keys = [card.key for card in CARDS if card.key not in self._tried]
        missing = [key for key in keys if not _picture(key).is_file()]
        at_work = self._drawing is not None and self._drawing.poll() is None
        if not missing or at_work or importlib.util.find_spec("PIL") is None:
            return
        self._tried.update(missing)
        # behind everything else from its imports on
        command = [sys.executable, "-c", PICTURING, *missing]
        # one thread: whoever works in the studio shall not notice
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        self._drawing = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def close(self) -> None:
        """Draw no more."""
        if self._drawing is not None and self._drawing.poll() is None:
            self._drawing.terminate()
            self._drawing.wait()
        self._drawing = None

    def _scene(self, card: Card) -> dict[str, Any]:
        return {
            "name": card.name,
            "title": card.title,
            "text": card.text,
            "group": card.group,
            "modes": [card.mode],
            "picture": f"/pictures/{card.key}.webp",
            "facts": list(card.facts),
            "ready": card.quick or is_ready(card.key),
        }


def recent(record: Record, recovered: bool) -> dict[str, Any]:
    """`RecentProject` of the page; its picture is that of the scene it came from."""
    scene, mode = record.source.get("scene"), record.source.get("mode")
    return {
        "id": record.id,
        "name": record.name,
        "mode": record.mode,
        "text": record.text,
        "when": record.when,
        "picture": None if scene is None else f"/pictures/{mode}-{scene}.webp",
        "recovered": recovered,
    }


def _picture(key: str) -> Path:
    return picture_folder() / f"{key}.webp"


def _portrait(key: str) -> Path:
    """What stood for a scene before it was made."""
    return picture_folder() / f"{key}.portrait.webp"


def picture_folder() -> Path:
    """Where pictures of scenes are kept."""
    return cache_folder() / "studio" / f"pictures-{PICTURES}"


def is_ready(key: str) -> bool:
    """Whether a scene was opened before, so that its slow parts are in the cache."""
    return _mark(key).is_file()


def _mark(key: str) -> Path:
    return cache_folder() / "studio" / f"opened-{cajole.__version__}" / key


def _plain(suffixes: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(suffix.removeprefix(".") for suffix in suffixes))
