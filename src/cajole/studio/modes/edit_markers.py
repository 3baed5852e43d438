"""Drags on the time line: moved to other frames, copied, released and named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from cajole.direct.editing.holds import Hold
from cajole.errors import InputError
from cajole.studio import take
from cajole.studio.modes.base import Handler, Message
from cajole.studio.modes.edit_telling import marker_id

if TYPE_CHECKING:
    from cajole.studio.modes.edit import EditMode, Moment


class Markers:
    """What the hand does with markers of an `EditMode`."""

    def __init__(self, mode: EditMode):
        self.mode = mode
        self._sliding: tuple[tuple[str, ...], Moment] | None = None

    @property
    def commands(self) -> Mapping[str, Handler]:
        return {
            "marker.move": self._slide,
            "marker.copy": self._copy,
            "marker.delete": self._release,
            "marker.rename": self._rename,
        }

    def _slide(self, message: Message) -> None:
        """Drags move in time: each goes as far from the input's new frame as it was from that of its old one."""
        mode, ids = self.mode, tuple(take.texts(message, "ids"))
        frames, final = take.integers(message, "frames", mode.frames), take.flag(message, "final")
        if self._sliding is None or self._sliding[0] != ids:
            self._sliding = (ids, mode.moment())
        before = self._sliding[1]
        mode.become(before)
        try:
            moved = self._shifted(self._found(ids), frames, keep=False)
        except BaseException:
            self._sliding = None
            mode.become(before)
            raise
        for old, new in zip(ids, moved):
            if old in before.names:
                mode.names[new] = mode.names.pop(old)
        if not final:
            mode.desk.touched()
            mode.desk.show(mode.now(mode.at), frame=mode.at)
            return
        self._sliding = None
        label = f"move {many(len(ids))} in time" if moved != list(ids) else None
        if label is not None:
            mode.history.add(label, before)
        mode.changed(label)

    def _copy(self, message: Message) -> None:
        ids, frames = take.texts(message, "ids"), take.integers(message, "frames", self.mode.frames)
        found = self._found(ids)
        self.mode.do(f"copy {many(len(ids))}", lambda: self._shifted(found, frames, keep=True))

    def _release(self, message: Message) -> None:
        found = self._found(take.texts(message, "ids"))
        self.mode.do(f"release {many(len(found))}", lambda: self._let_go(found))

    def _rename(self, message: Message) -> None:
        (name,) = take.texts(message, "ids", most=1)
        self._found([name])
        self.mode.names[name] = take.text(message, "name")
        self.mode.desk.changed("rename", motion=False)

    def _shifted(self, holds: list[Hold], frames: list[int], *, keep: bool) -> list[str]:
        editor = self.mode.editor
        if len(frames) != len(holds):
            raise InputError(f"frames has {len(frames)} entries, but {len(holds)} drags are to go there")
        if not keep:
            self._let_go(holds)
        for hold, frame in zip(holds, frames):
            if (hold.vertex, frame) in editor.state.held:
                name = self.mode.called([hold.vertex])
                raise InputError(f"{name} is dragged at frame {frame} already; move that one")
            offset = hold.target - editor.subject.place(hold.frame, hold.vertex)
            goal = editor.subject.place(frame, hold.vertex) + offset
            editor.drag(hold.vertex, frame, goal, directions=hold.directions)
        return [marker_id((hold.vertex, frame)) for hold, frame in zip(holds, frames)]

    def _let_go(self, holds: list[Hold]) -> None:
        for hold in holds:
            self.mode.editor.release(*hold.key)

    def _found(self, ids: Sequence[str]) -> list[Hold]:
        held = {marker_id(key): one.hold for key, one in self.mode.editor.state.held.items()}
        for name in ids:
            if name not in held:
                raise InputError(f"there is no drag {name!r}; it may have been released")
        return [held[name] for name in ids]


def many(count: int) -> str:
    return "a drag" if count == 1 else f"{count} drags"
