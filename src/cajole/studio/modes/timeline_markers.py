"""Markers on the time line that are moved, copied, renamed and deleted: keys and goals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, TypeVar

from cajole.checks import require_choice
from cajole.errors import InputError
from cajole.studio.content import ProjectContent
from cajole.studio.messages import CopyMarkers, DeleteMarkers, MoveMarkers, RenameMarker
from cajole.studio.modes.base import Handlers, ModeHost
from cajole.studio.modes.settings import require_frames
from cajole.studio.modes.undo import AnyUndoState, UndoableMode


@dataclass(frozen=True, eq=False)
class TimelineMarker(ABC):
    """A marker at a frame. Its number never changes and makes its id on the time line."""

    noun: ClassVar[str]

    number: int
    frame: int

    @property
    def id(self) -> str:
        return f"{self.noun}-{self.number}"

    @property
    @abstractmethod
    def title(self) -> str:
        """Name shown to the user."""


AnyMarker = TypeVar("AnyMarker", bound=TimelineMarker)


def get_next_number(markers: Iterable[TimelineMarker]) -> int:
    return 1 + max((marker.number for marker in markers), default=0)


def replace_marker(markers: tuple[AnyMarker, ...], new: AnyMarker) -> tuple[AnyMarker, ...]:
    """The markers with `new` in place of the one of the same number, sorted."""
    return sort_markers(new if marker.number == new.number else marker for marker in markers)


def sort_markers(markers: Iterable[AnyMarker]) -> tuple[AnyMarker, ...]:
    """Sort by frame."""
    return tuple(sorted(markers, key=lambda marker: (marker.frame, marker.number)))


def find_marker(markers: Sequence[AnyMarker], marker_id: str) -> AnyMarker:
    """The marker with an id. Raises InputError if there is none."""
    for marker in markers:
        if marker.id == marker_id:
            return marker
    noun = markers[0].noun if markers else marker_id.partition("-")[0]
    known = ", ".join(marker.id for marker in markers) or "none"
    raise InputError(f"there is no {noun} {marker_id!r}; the {noun}s are {known}")


class MarkerMode(UndoableMode[AnyUndoState], Generic[AnyUndoState, AnyMarker]):
    """A mode with one lane of markers, sorted by frame; lane: its id, noun: the word for one marker."""

    lane: ClassVar[str]
    noun: ClassVar[str]

    def __init__(self, host: ModeHost, content: ProjectContent):
        super().__init__(host, content)
        self.markers: tuple[AnyMarker, ...] = ()
        self._active_move: tuple[tuple[str, ...], AnyUndoState, tuple[AnyMarker, ...]] | None = None

    @abstractmethod
    def require_distinct(self, markers: tuple[AnyMarker, ...]) -> tuple[AnyMarker, ...]:
        """Return `markers`, or raise InputError if two of them exclude each other."""

    @property
    def marker_commands(self) -> Handlers:
        return {
            MoveMarkers: self._move_markers,
            CopyMarkers: self._copy_markers,
            DeleteMarkers: self._delete_markers,
            RenameMarker: self._rename_marker,
        }

    def set_markers(self, markers: tuple[AnyMarker, ...], label: str, *, join: bool = False) -> None:
        """Replace all markers as one undo step."""
        with self.undo_step(label, join=join):
            self.markers = markers

    def _move_markers(self, command: MoveMarkers) -> None:
        """Move markers while the user drags them; two may share a frame until the message that is final."""
        ids, frames, shown = self._require_ids(command), require_frames(command, self.frames), self.capture_state()
        if self._active_move is None or self._active_move[0] != ids:
            self._active_move = (ids, shown, self.markers)
        _, before, start = self._active_move
        label = None
        try:
            targets = _map_target_frames(start, ids, frames)
            moved = sort_markers(replace(marker, frame=targets.get(marker.id, marker.frame)) for marker in start)
            self.markers = self.require_distinct(moved) if command.final else moved
        except InputError:
            self.markers, self._active_move = start, None
            self.send_changes(shown, None)
            raise
        if command.final:
            self._active_move = None
            if {marker.number: marker.frame for marker in moved} != {marker.number: marker.frame for marker in start}:
                label = f"move {self._describe_count(ids)}"
                self.history.record(label, before)
        self.send_changes(shown, label)

    def _copy_markers(self, command: CopyMarkers) -> None:
        ids, frames = self._require_ids(command), require_frames(command, self.frames)
        targets, first = _map_target_frames(self.markers, ids, frames), get_next_number(self.markers)
        copies = [
            replace(find_marker(self.markers, name), number=first + k, frame=targets[name])
            for k, name in enumerate(ids)
        ]
        both = self.require_distinct(sort_markers([*self.markers, *copies]))
        self.set_markers(both, f"copy {self._describe_count(ids)}")

    def _delete_markers(self, command: DeleteMarkers) -> None:
        ids = self._require_ids(command)
        rest = tuple(marker for marker in self.markers if marker.id not in ids)
        self.set_markers(rest, f"delete {self._describe_count(ids)}")

    def _rename_marker(self, command: RenameMarker) -> None:
        (marker_id,) = self._require_ids(command)
        marker: Any = replace(find_marker(self.markers, marker_id), name=command.name_.strip())  # type: ignore[call-arg]
        self.set_markers(replace_marker(self.markers, marker), f"rename {marker.title}")

    def _require_ids(self, command: MoveMarkers | CopyMarkers | DeleteMarkers | RenameMarker) -> tuple[str, ...]:
        require_choice(command.lane, f"lane of {command.name}", (self.lane,))
        for marker_id in command.ids:
            find_marker(self.markers, marker_id)
        return command.ids

    def _describe_count(self, ids: Sequence[str]) -> str:
        return f"a {self.noun}" if len(ids) == 1 else f"{len(ids)} {self.noun}s"


def _map_target_frames(markers: Sequence[AnyMarker], ids: Sequence[str], frames: Sequence[int]) -> Mapping[str, int]:
    if len(ids) != len(frames) or len(set(ids)) < len(ids):
        raise InputError(
            f"{len(ids)} markers are to move to {len(frames)} frames; name each marker once, with one frame for each"
        )
    return {find_marker(markers, name).id: frame for name, frame in zip(ids, frames)}
