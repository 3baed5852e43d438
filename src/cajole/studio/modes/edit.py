"""Edit: drag any vertex of any frame of a finished motion, live; the whole motion follows."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.animation import Animation
from cajole.direct import Editor, edit
from cajole.direct.editing import stored
from cajole.direct.editing.files import edit_document, edit_of
from cajole.direct.editing.hand import Hand
from cajole.direct.editing.holds import Hold, Key
from cajole.direct.editing.ledger import State
from cajole.direct.editing.report import WARPS
from cajole.errors import InputError
from cajole.progress import Progress, report
from cajole.studio import take
from cajole.studio.content import Content
from cajole.studio.modes.base import Desk, Handler, Message, Mode, Saved
from cajole.studio.modes.edit_telling import letters, marker_id, told
from cajole.studio.modes.history import History
from cajole.studio.modes.telling import meter, place

Array = NDArray[np.float64]

# While a hand moves, the meter is measured again after so many times what that takes.
METER_SHARE = 10.0
# what messages call a document that was saved by the studio
KEPT = Path("the saved project")


@dataclass(frozen=True, eq=False)
class Moment:
    """All that undo brings back: an editor (another after it was reopened), what it held, names that were given."""

    editor: Editor
    state: State
    names: Mapping[str, str]


@dataclass(eq=False)
class Gesture:
    """A hand at work: where its vertices were [m] (k, 3), and what was before."""

    number: int
    hand: Hand
    starts: Array
    before: Moment


class EditMode(Mode):
    """An `Editor` in the studio."""

    name = "edit"
    lasting = ("given",)

    def __init__(self, desk: Desk, content: Content, saved: Saved | None = None):
        if content.animation is None:
            raise InputError("there is no motion to edit; open an animation, or make one with keys first")
        self.desk, self.content, self.given = desk, content, content.animation
        self.history: History[Moment] = History()
        self.names: dict[str, str] = {}
        self.selected: list[int] = []
        self.at = 0
        self.keeps_contacts = content.animation.contacts is not None
        self.seen: dict[tuple[int, int], Array] = {}
        self._gesture: Gesture | None = None
        self._sliding: tuple[tuple[str, ...], Moment] | None = None
        self._meter_due = 0.0
        progress = desk.working("Preparing the motion")
        self.editor = self._opened(progress) if saved is None else self._reopened(saved, progress)
        desk.worked()

    # --- what the project asks

    @property
    def commands(self) -> Mapping[str, Handler]:
        return {
            "select": self._select,
            "undo": lambda _: self._travel(self.history.back),
            "redo": lambda _: self._travel(self.history.forth),
            "drag.begin": self._begin,
            "drag.move": self._move,
            "drag.commit": self._commit,
            "drag.cancel": self._cancel,
            "place": self._place,
            "pin": self._pin,
            "tune": self._tune,
            "reopen": self._reopen,
            "moves": self._moves,
            "marker.move": self._slide,
            "marker.copy": self._copy,
            "marker.delete": self._release,
            "marker.rename": self._rename,
        }

    @property
    def frames(self) -> int:
        return self.given.frames

    @property
    def fps(self) -> float:
        return self.given.fps

    def state(self) -> dict[str, Any]:
        return told(self)

    def now(self, frame: int) -> Array:
        self.at = frame
        return self.content.draw(self._looked(frame))

    def frame(self, stream: str, frame: int) -> Array | None:
        if stream == "result":
            return self.content.draw(self._looked(frame))
        return self.content.draw(np.asarray(self.given.positions[frame], dtype=np.float64))

    def result(self) -> Content:
        """The edited motion, for another mode."""
        moved = self.editor.animation(progress=self.desk.working("Making the edited motion"))
        self.desk.worked()
        return replace(self.content, animation=moved, shot=None, steer=None)

    def animation(self, progress: Progress | None = None) -> Animation:
        """The edited motion."""
        return self.editor.animation(progress=progress)

    def saved(self) -> Saved:
        return Saved({"edit": edit_document(self.editor), "names": self.names, "contacts": self.keeps_contacts})

    def close(self) -> None:
        if self._gesture is not None:
            self._gesture.hand.cancel()

    # --- drags

    def _begin(self, message: Message) -> Mapping[str, Any]:
        if self._gesture is not None:  # a tab that went away in the middle of it
            self._gesture.hand.cancel()
            self._gesture = None
        number, frame = take.integer(message, "gesture"), take.integer(message, "frame", 0, self.frames - 1)
        nodes = take.nodes(message, "nodes", self.given.n)
        before, starts = self._moment(), self._looked(frame)[nodes]
        directions = None if message.get("directions") in (None, "xyz") else take.text(message, "directions", 3)
        hand = self.editor.grab(nodes, frame, directions=directions)
        self._gesture = Gesture(number, hand, starts, before)
        self.selected, self.at = nodes, frame
        return {"position": place(starts[0])}

    def _move(self, message: Message) -> None:
        gesture = self._holding(message)
        begin = time.perf_counter()
        goal = gesture.starts + take.vector(message, "delta")
        landing = gesture.hand.move(goal if len(goal) > 1 else goal[0])
        positions = gesture.hand.positions()
        self.seen.clear()
        took = time.perf_counter() - begin
        self.desk.touched()
        seq = take.integer(message, "seq")
        self.desk.show(self.content.draw(positions), frame=gesture.hand.frame, seq=seq)
        self.desk.say({
            "is": "moved", "gesture": gesture.number, "seq": seq,
            "position": place(positions[self.selected[0]]), "miss": float(landing.missed), "ms": 1e3 * took,
            "meter": self._measured(),
        })  # fmt: skip

    def _commit(self, message: Message) -> Mapping[str, Any]:
        gesture = self._holding(message)
        self._gesture = None
        landing = gesture.hand.drop()
        label = f"move {self._called(self.selected)}"
        self.history.add(label, gesture.before)
        self._changed(label)
        if not landing.reached:
            self._warn(f"{landing}")
        return {"missed": float(landing.missed), "moved": float(self._way(self.selected[0], gesture.hand.frame))}

    def _cancel(self, message: Message) -> None:
        gesture = self._holding(message)
        self._gesture = None
        gesture.hand.cancel()
        self._changed(None)

    def _place(self, message: Message) -> None:
        node, frame = take.integer(message, "node", 0, self.given.n - 1), take.integer(message, "frame")
        position = take.vector(message, "position")
        self._do(f"move {self._called([node])}", lambda: self.editor.drag(node, frame, position))
        self.selected = [node]

    def _pin(self, message: Message) -> None:
        nodes = take.nodes(message, "nodes", self.given.n)
        frame = take.integer(message, "frame", 0, self.frames - 1)
        self._do(f"pin {self._called(nodes)}", lambda: self.editor.pin(nodes, frame))

    # --- markers

    def _slide(self, message: Message) -> None:
        """Drags move in time: each goes as far from the input's new frame as it was from that of its old one."""
        ids = tuple(take.texts(message, "ids"))
        frames = take.integers(message, "frames", self.frames)
        if self._sliding is None or self._sliding[0] != ids:
            self._sliding = (ids, self._moment())
        before = self._sliding[1]
        self.editor.restore(before.state)
        try:
            moved = self._shifted(self._found(ids), frames, keep=False)
        except BaseException:
            self._sliding = None
            self._become(before)
            raise
        self._names_follow(ids, moved)
        if not take.flag(message, "final"):
            self.desk.touched()
            self.desk.show(self.now(self.at), frame=self.at)
            return
        self._sliding = None
        if list(moved) != list(ids):
            self.history.add(f"move {self._many(len(ids))} in time", before)
        self._changed("move in time")

    def _copy(self, message: Message) -> None:
        ids, frames = take.texts(message, "ids"), take.integers(message, "frames", self.frames)
        found = self._found(ids)
        self._do(f"copy {self._many(len(ids))}", lambda: self._shifted(found, frames, keep=True))

    def _release(self, message: Message) -> None:
        found = self._found(take.texts(message, "ids"))
        self._do(f"release {self._many(len(found))}", lambda: self._let_go(found))

    def _rename(self, message: Message) -> None:
        (name,) = take.texts(message, "ids", most=1)
        self._found([name])
        self.names[name] = take.text(message, "name")
        self.desk.changed("rename", motion=False)

    def _shifted(self, holds: list[Hold], frames: list[int], *, keep: bool) -> list[str]:
        if len(frames) != len(holds):
            raise InputError(f"frames has {len(frames)} entries, but {len(holds)} drags are to go there")
        if not keep:
            self._let_go(holds)
        for hold, frame in zip(holds, frames):
            if (hold.vertex, frame) in self.editor.state.held:
                raise InputError(f"{self._called([hold.vertex])} is dragged at frame {frame} already; move that one")
            offset = hold.target - self._given_at(hold, hold.frame)
            self.editor.drag(hold.vertex, frame, self._given_at(hold, frame) + offset, directions=hold.directions)
        return [marker_id((hold.vertex, frame)) for hold, frame in zip(holds, frames)]

    def _let_go(self, holds: list[Hold]) -> None:
        for hold in holds:
            self.editor.release(*hold.key)

    def _given_at(self, hold: Hold, frame: int) -> Array:
        return self.editor.subject.place(frame, hold.vertex)

    # --- settings

    def _tune(self, message: Message) -> None:
        settings, wanted = self.editor.settings, dict[str, Any]()
        for name in ("h", "smoothness"):
            if name in message:
                wanted[name] = take.number(message, name)
        alpha, beta = settings.damping
        if "alpha" in message or "beta" in message:
            wanted["damping"] = (
                take.number(message, "alpha", 0.0) if "alpha" in message else alpha,
                take.number(message, "beta", 0.0) if "beta" in message else beta,
            )
        for name in ("ends", "energy"):
            if name in message:
                wanted[name] = take.text(message, name)
        if "window" in message:
            asked = message["window"]
            wanted["window"] = None if asked is None else tuple(take.integers(message, "window", self.frames, most=2))
        label = f"set {', '.join(sorted(wanted)) or 'nothing'}"
        self._do(label, lambda: self.editor.tune(**wanted), join=True)

    def _reopen(self, message: Message) -> None:
        options = self.editor.options
        modes = take.integer(message, "modes", 1) if "modes" in message else options.modes
        warp = take.one_of(message, "warp", WARPS) if "warp" in message else options.warp
        contacts = take.flag(message, "contacts", self.keeps_contacts)
        before = self._moment()
        progress = self.desk.working("Preparing the motion")
        was, self.keeps_contacts = self.keeps_contacts, contacts
        try:
            fresh = self._opened(progress, modes=modes, warp=warp, **_settings(self.editor))
            self._laid_over(fresh, [held.hold for held in self.editor.state.held.values()], progress)
        except BaseException:
            self.keeps_contacts = was
            raise
        self.editor = fresh
        self.history.add("set detail, warp or contacts", before)
        self.desk.worked()
        self._changed("settings")

    def _moves(self, message: Message) -> None:
        """The drags that the scene suggests."""
        progress, before = self.desk.working("Making the suggested drags"), self._moment()
        wanted = [move for move in self.content.edit.moves if not self._made(move.vertices, move.frame)]
        try:
            for k, move in enumerate(wanted):
                report(progress, k / len(wanted), f"drag {k + 1} of {len(wanted)}")
                move.make(self.editor)
        except BaseException:
            self._become(before)
            raise
        self.desk.worked()
        self.history.add("make the suggested drags", before)
        self._changed("suggested drags")

    def suggested(self) -> int:
        """How many of the scene's drags were not made."""
        return sum(not self._made(move.vertices, move.frame) for move in self.content.edit.moves)

    def _made(self, vertices: NDArray[np.int64], frame: int) -> bool:
        return all((int(vertex), frame) in self.editor.state.held for vertex in vertices)

    # --- inner workings

    def _opened(self, progress: Progress, **options: Any) -> Editor:
        plan = self.content.edit
        wanted = {"modes": plan.modes, **plan.settings, **options}
        animation = self.given if self.keeps_contacts else replace(self.given, contacts=None)
        return edit(animation, self.content.body, progress=progress, **wanted)

    def _reopened(self, saved: Saved, progress: Progress) -> Editor:
        self.names = {str(key): str(name) for key, name in dict(saved.document.get("names", {})).items()}
        self.keeps_contacts = bool(saved.document.get("contacts", self.keeps_contacts))
        animation = self.given if self.keeps_contacts else replace(self.given, contacts=None)
        found = stored.looked_at(saved.document.get("edit"), KEPT)
        return edit_of(found, KEPT, animation, self.content.body, progress=progress)

    def _laid_over(self, fresh: Editor, holds: list[Hold], progress: Progress) -> None:
        for k, hold in enumerate(holds):
            report(progress, 1.0, f"drag {k + 1} of {len(holds)}")
            if hold.other >= 0:
                fresh.tie(hold.vertex, hold.other, hold.frame, hold.target, directions=hold.directions)
            else:
                fresh.drag(hold.vertex, hold.frame, hold.target, directions=hold.directions)

    def _do(self, label: str, act: Callable[[], Any], *, join: bool = False) -> None:
        """One step of undo, or more of the last one; as it was before when it fails on the way."""
        self._quiet_hand()
        before = self._moment()
        try:
            act()
        except BaseException:
            self._become(before)
            raise
        self.history.add(label, before, join=join)
        self._changed(label)

    def _moment(self) -> Moment:
        return Moment(self.editor, self.editor.state, dict(self.names))

    def _become(self, moment: Moment) -> None:
        self.editor, self.names = moment.editor, dict(moment.names)
        self.keeps_contacts = moment.editor.input.contacts is not None
        self.editor.restore(moment.state)

    def _travel(self, step: Callable[[Moment], Moment | None]) -> Mapping[str, Any]:
        self._quiet_hand()
        moment = step(self._moment())
        if moment is not None:
            self._become(moment)
            self._changed(None)
        return {"changed": moment is not None}

    def _changed(self, label: str | None) -> None:
        self.seen.clear()
        self.desk.changed(label)
        self.desk.show(self.now(self.at), frame=self.at)

    def _select(self, message: Message) -> None:
        self.selected = take.nodes(message, "nodes", self.given.n, least=0)
        self.desk.changed(None, motion=False)

    def _holding(self, message: Message) -> Gesture:
        number = take.integer(message, "gesture")
        if self._gesture is None or self._gesture.number != number:
            raise InputError(f"gesture {number} of {message.get('do')} has ended or never began; begin it again")
        return self._gesture

    def _quiet_hand(self) -> None:
        if self._gesture is not None:
            raise InputError("a drag is under way; let go first, or press Esc")

    def _measured(self) -> dict[str, Any] | None:
        """The meter, as often as it is cheap."""
        begin = time.perf_counter()
        if begin < self._meter_due:
            return None
        found = meter(self.editor.gentleness())
        took = time.perf_counter() - begin
        self._meter_due = begin + METER_SHARE * took
        return found

    def _looked(self, frame: int) -> Array:
        """Positions (n, 3) of a frame as edited; what is selected leaves its trail."""
        positions = self.editor.positions(frame)
        for node in self.selected:
            self.seen[node, frame] = positions[node]
        return positions

    def _found(self, ids: list[str] | tuple[str, ...]) -> list[Hold]:
        held: dict[str, Hold] = {marker_id(key): one.hold for key, one in self.editor.state.held.items()}
        for name in ids:
            if name not in held:
                raise InputError(f"there is no drag {name!r}; it may have been released")
        return [held[name] for name in ids]

    def _names_follow(self, ids: tuple[str, ...], moved: list[str]) -> None:
        for old, new in zip(ids, moved):
            if old in self.names and old != new:
                self.names[new] = self.names.pop(old)

    def _called(self, nodes: list[int]) -> str:
        return self.content.named(nodes[0]) if len(nodes) == 1 else f"{len(nodes)} points"

    def _many(self, count: int) -> str:
        return "a drag" if count == 1 else f"{count} drags"

    def _way(self, node: int, frame: int) -> float:
        return float(np.linalg.norm(self.editor.positions(frame)[node] - self.given.positions[frame, node]))

    def _warn(self, text: str) -> None:
        self.desk.say({"is": "notice", "tone": "warn", "title": "Not quite there", "text": text})


def _settings(editor: Editor) -> dict[str, Any]:
    return {
        "h": editor.settings.h,
        "damping": editor.settings.damping,
        "ends": editor.settings.ends,
        "energy": editor.settings.energy,
        "smoothness": editor.settings.smoothness,
        "window": editor.settings.window,
    }


__all__ = ["EditMode", "Key", "letters"]
