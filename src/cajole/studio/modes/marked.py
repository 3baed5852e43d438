"""What stands at a frame of the time line and is moved, copied, named and deleted there: keys, goals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, TypeVar

from cajole.errors import InputError
from cajole.studio import take
from cajole.studio.modes.base import Handler, Message
from cajole.studio.modes.history import ModeUndo


@dataclass(frozen=True, eq=False)
class Marked(ABC):
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


Item = TypeVar("Item", bound=Marked)


def next_number(items: Iterable[Marked]) -> int:
    return 1 + max((item.number for item in items), default=0)


def changed(items: tuple[Item, ...], new: Item) -> tuple[Item, ...]:
    """With `new` in place of the one of its number."""
    return ordered(new if item.number == new.number else item for item in items)


def moved(items: tuple[Item, ...], ids: Sequence[str], frames: Sequence[int]) -> tuple[Item, ...]:
    """Some of them at other frames, where others may stand for as long as the hand goes on."""
    there = _places(items, ids, frames)
    return ordered(replace(item, frame=there.get(item.id, item.frame)) for item in items)


def copied(items: tuple[Item, ...], ids: Sequence[str], frames: Sequence[int]) -> tuple[Item, ...]:
    """With copies of some of them at other frames."""
    there, first = _places(items, ids, frames), next_number(items)
    sources = [found(items, name) for name in ids]
    return ordered([*items, *(replace(item, number=first + k, frame=there[item.id]) for k, item in enumerate(sources))])


def without(items: tuple[Item, ...], ids: Sequence[str]) -> tuple[Item, ...]:
    """Without some of them."""
    gone = {found(items, name).number for name in ids}
    return tuple(item for item in items if item.number not in gone)


def found(items: Sequence[Item], name: str) -> Item:
    """The one of that id. Raises InputError when there is none."""
    for item in items:
        if item.id == name:
            return item
    noun = items[0].noun if items else name.partition("-")[0]
    raise InputError(f"there is no {noun} {name!r}; the {noun}s are {', '.join(item.id for item in items) or 'none'}")


def ordered(items: Iterable[Item]) -> tuple[Item, ...]:
    """In order of time."""
    return tuple(sorted(items, key=lambda item: (item.frame, item.number)))


def _places(items: Sequence[Item], ids: Sequence[str], frames: Sequence[int]) -> Mapping[str, int]:
    if len(ids) != len(frames) or len(set(ids)) < len(ids):
        raise InputError(
            f"{len(ids)} markers shall go to {len(frames)} frames; name each marker once, with a frame for each"
        )
    return {found(items, name).id: frame for name, frame in zip(ids, frames)}


class MarkerHandlers(ABC, Generic[Item]):
    """What messages do to the markers of one lane of a mode; lane: its id, noun: what one of them is called."""

    lane: str
    noun: str

    def __init__(self, mode: ModeUndo[Any]):
        self._owner = mode
        self._sliding: tuple[tuple[str, ...], Any, tuple[Item, ...]] | None = None

    @property
    @abstractmethod
    def items(self) -> tuple[Item, ...]:
        """All of them, in order of time."""

    @abstractmethod
    def put(self, items: tuple[Item, ...]) -> None:
        """The mode has these from now on; nothing is told of it."""

    @abstractmethod
    def apart(self, items: tuple[Item, ...]) -> tuple[Item, ...]:
        """`items` where they can stand beside each other. Raises InputError otherwise."""

    @abstractmethod
    def become(self, items: tuple[Item, ...], label: str, *, join: bool = False) -> None:
        """One step of undo that leads to these."""

    @property
    def moving(self) -> bool:
        """Whether frames differ where markers were moved."""
        return False

    @property
    def marking(self) -> dict[str, Handler]:
        """The handlers of markers."""
        return {
            "marker.move": self._slide,
            "marker.copy": self._copy,
            "marker.delete": self._delete,
            "marker.rename": self._rename,
        }

    def many(self, count: int) -> str:
        """ "a key", "3 keys"."""
        return f"a {self.noun}" if count == 1 else f"{count} {self.noun}s"

    def _slide(self, message: Message) -> None:
        mode, ids = self._owner, tuple(self._marked(message))
        frames, final = take.integers(message, "frames", mode.frames), take.flag(message, "final")
        if self._sliding is None or self._sliding[0] != ids:
            self._sliding = (ids, mode.moment(), self.items)
        _, before, items = self._sliding
        try:
            there = moved(items, ids, frames)
            self.put(self.apart(there) if final else there)
        except InputError:
            self.put(items)
            self._sliding = None
            mode.desk.changed(motion=False)
            raise
        label = None
        if final:
            self._sliding = None
            label = f"move {self.many(len(ids))}" if _frames(there) != _frames(items) else None
        if label is not None:
            mode.history.add(label, before)
        mode.desk.changed(label, motion=self.moving)

    def _copy(self, message: Message) -> None:
        ids, frames = self._marked(message), take.integers(message, "frames", self._owner.frames)
        self.become(self.apart(copied(self.items, ids, frames)), f"copy {self.many(len(ids))}")

    def _delete(self, message: Message) -> None:
        ids = self._marked(message)
        self.become(without(self.items, ids), f"delete {self.many(len(ids))}")

    def _rename(self, message: Message) -> None:
        ids = self._marked(message)
        if len(ids) != 1:
            raise InputError(f"ids names {len(ids)} {self.noun}s; rename one at a time")
        item: Any = replace(found(self.items, ids[0]), name=take.text(message, "name"))  # type: ignore[call-arg]
        self.become(changed(self.items, item), f"rename {item.title}")

    def _marked(self, message: Message) -> list[str]:
        take.one_of(message, "lane", (self.lane,))
        ids = take.texts(message, "ids")
        for name in ids:
            found(self.items, name)
        return ids


def _frames(items: Iterable[Marked]) -> dict[int, int]:
    return {item.number: item.frame for item in items}
