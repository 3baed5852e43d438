"""What stands at a frame of the time line and is moved, copied, named and deleted there: keys, goals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, TypeVar

from cajole.errors import InputError
from cajole.studio import message_values
from cajole.studio.modes.base import Handler, Message
from cajole.studio.modes.undo import UndoableMode


@dataclass(frozen=True, eq=False)
class TimelineMarker(ABC):
    """Something at a frame. Its number stays while it moves in time, and names it on the time line."""

    noun: ClassVar[str]

    number: int
    frame: int

    @property
    def id(self) -> str:
        return f"{self.noun}-{self.number}"

    @property
    @abstractmethod
    def title(self) -> str:
        """What it is called."""


AnyMarker = TypeVar("AnyMarker", bound=TimelineMarker)


def get_next_number(items: Iterable[TimelineMarker]) -> int:
    return 1 + max((item.number for item in items), default=0)


def replace_item(items: tuple[AnyMarker, ...], new: AnyMarker) -> tuple[AnyMarker, ...]:
    """With `new` in place of the one of its number."""
    return sort_items(new if item.number == new.number else item for item in items)


def move_items(items: tuple[AnyMarker, ...], ids: Sequence[str], frames: Sequence[int]) -> tuple[AnyMarker, ...]:
    """Some of them at other frames, where others may stand for as long as the hand goes on."""
    there = _map_target_frames(items, ids, frames)
    return sort_items(replace(item, frame=there.get(item.id, item.frame)) for item in items)


def copy_items(items: tuple[AnyMarker, ...], ids: Sequence[str], frames: Sequence[int]) -> tuple[AnyMarker, ...]:
    """With copies of some of them at other frames."""
    there, first = _map_target_frames(items, ids, frames), get_next_number(items)
    sources = [find_item(items, name) for name in ids]
    return sort_items(
        [*items, *(replace(item, number=first + k, frame=there[item.id]) for k, item in enumerate(sources))]
    )


def remove_items(items: tuple[AnyMarker, ...], ids: Sequence[str]) -> tuple[AnyMarker, ...]:
    """Without some of them."""
    gone = {find_item(items, name).number for name in ids}
    return tuple(item for item in items if item.number not in gone)


def find_item(items: Sequence[AnyMarker], name: str) -> AnyMarker:
    """The one of that id. Raises InputError when there is none."""
    for item in items:
        if item.id == name:
            return item
    noun = items[0].noun if items else name.partition("-")[0]
    raise InputError(f"there is no {noun} {name!r}; the {noun}s are {', '.join(item.id for item in items) or 'none'}")


def sort_items(items: Iterable[AnyMarker]) -> tuple[AnyMarker, ...]:
    """In order of time."""
    return tuple(sorted(items, key=lambda item: (item.frame, item.number)))


def _map_target_frames(items: Sequence[AnyMarker], ids: Sequence[str], frames: Sequence[int]) -> Mapping[str, int]:
    if len(ids) != len(frames) or len(set(ids)) < len(ids):
        raise InputError(
            f"{len(ids)} markers shall go to {len(frames)} frames; name each marker once, with a frame for each"
        )
    return {find_item(items, name).id: frame for name, frame in zip(ids, frames)}


class MarkerHandlers(ABC, Generic[AnyMarker]):
    """What messages do to the markers of one lane of a mode; lane: its id, noun: what one of them is called."""

    lane: str
    noun: str

    def __init__(self, mode: UndoableMode[Any]):
        self._mode = mode
        self._move_in_progress: tuple[tuple[str, ...], Any, tuple[AnyMarker, ...]] | None = None

    @property
    @abstractmethod
    def items(self) -> tuple[AnyMarker, ...]:
        """All of them, in order of time."""

    @abstractmethod
    def set_items(self, items: tuple[AnyMarker, ...]) -> None:
        """The mode has these from now on; nothing is told of it."""

    @abstractmethod
    def require_distinct(self, items: tuple[AnyMarker, ...]) -> tuple[AnyMarker, ...]:
        """`items` where they can stand beside each other. Raises InputError otherwise."""

    @abstractmethod
    def commit_items(self, items: tuple[AnyMarker, ...], label: str, *, join: bool = False) -> None:
        """One step of undo that leads to these."""

    @property
    def affects_frames(self) -> bool:
        """Whether frames differ where markers were moved."""
        return False

    @property
    def marker_commands(self) -> dict[str, Handler]:
        """The handlers of markers."""
        return {
            "marker.move": self._move_markers,
            "marker.copy": self._copy_markers,
            "marker.delete": self._delete_markers,
            "marker.rename": self._rename_marker,
        }

    def describe_count(self, count: int) -> str:
        """ "a key", "3 keys"."""
        return f"a {self.noun}" if count == 1 else f"{count} {self.noun}s"

    def _move_markers(self, message: Message) -> None:
        mode, ids = self._mode, tuple(self._read_ids(message))
        frames, final = (
            message_values.read_integers(message, "frames", mode.frames),
            message_values.read_flag(message, "final"),
        )
        if self._move_in_progress is None or self._move_in_progress[0] != ids:
            self._move_in_progress = (ids, mode.capture_state(), self.items)
        _, before, items = self._move_in_progress
        try:
            there = move_items(items, ids, frames)
            self.set_items(self.require_distinct(there) if final else there)
        except InputError:
            self.set_items(items)
            self._move_in_progress = None
            mode.host.record_change(frames_changed=False)
            raise
        label = None
        if final:
            self._move_in_progress = None
            label = f"move {self.describe_count(len(ids))}" if _map_frames(there) != _map_frames(items) else None
        if label is not None:
            mode.history.record(label, before)
        mode.host.record_change(label, frames_changed=self.affects_frames)

    def _copy_markers(self, message: Message) -> None:
        ids, frames = self._read_ids(message), message_values.read_integers(message, "frames", self._mode.frames)
        self.commit_items(
            self.require_distinct(copy_items(self.items, ids, frames)), f"copy {self.describe_count(len(ids))}"
        )

    def _delete_markers(self, message: Message) -> None:
        ids = self._read_ids(message)
        self.commit_items(remove_items(self.items, ids), f"delete {self.describe_count(len(ids))}")

    def _rename_marker(self, message: Message) -> None:
        ids = self._read_ids(message)
        if len(ids) != 1:
            raise InputError(f"ids names {len(ids)} {self.noun}s; rename one at a time")
        item: Any = replace(find_item(self.items, ids[0]), name=message_values.read_text(message, "name"))  # type: ignore[call-arg]
        self.commit_items(replace_item(self.items, item), f"rename {item.title}")

    def _read_ids(self, message: Message) -> list[str]:
        message_values.read_choice(message, "lane", (self.lane,))
        ids = message_values.read_texts(message, "ids")
        for name in ids:
            find_item(self.items, name)
        return ids


def _map_frames(items: Iterable[TimelineMarker]) -> dict[int, int]:
    return {item.number: item.frame for item in items}
