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
from cajole.arrays import Array
from cajole.direct import Editor, edit
from cajole.direct.editing import stored
from cajole.direct.editing.files import edit_document, edit_of
from cajole.direct.editing.hand import Hand
from cajole.direct.editing.ledger import State
from cajole.errors import InputError
from cajole.progress import Progress, report
from cajole.studio import take
from cajole.studio.content import Content
from cajole.studio.modes import edit_settings
from cajole.studio.modes.base import Desk, Handler, Message, Saved
from cajole.studio.modes.edit_markers import Markers
from cajole.studio.modes.edit_telling import told
from cajole.studio.modes.history import History, ModeUndo
from cajole.studio.modes.telling import meter, place

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
    """A drag in progress: its vertices, where they were [m] (k, 3), and the state before it.

    The vertices are the drag's own: other messages may change the selection meanwhile.
    """

    number: int
    nodes: list[int]
    hand: Hand
    starts: Array
    before: Moment


class EditMode(ModeUndo[Moment]):
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
        self._markers = Markers(self)
        self._meter_due = 0.0
        progress = desk.working("Preparing the motion")
        self.editor = self.opened(progress) if saved is None else self._reopened(saved, progress)
        desk.worked()

    # --- what the project asks

    @property
    def commands(self) -> Mapping[str, Handler]:
        return {
            **self.common,
            "drag.begin": self._begin,
            "drag.move": self._move,
            "drag.commit": self._commit,
            "drag.cancel": self._cancel,
            "place": self._place,
            "pin": self._pin,
            "moves": self._moves,
            "tune": lambda message: edit_settings.tune(self, message),
            "reopen": lambda message: edit_settings.reopen(self, message),
            **self._markers.commands,
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
        document = {"edit": edit_document(self.editor), "names": self.names, "contacts": self.keeps_contacts}
        return Saved({**document, "selected": self.selected})

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
        before, starts = self.moment(), self._looked(frame)[nodes]
        directions = None if message.get("directions") in (None, "xyz") else take.text(message, "directions", 3)
        hand = self.editor.grab(nodes, frame, directions=directions)
        self._gesture = Gesture(number, nodes, hand, starts, before)
        self.selected, self.at = nodes, frame
        return {"position": place(starts[0])}

    def _move(self, message: Message) -> None:
        gesture = take.gesture(message, self._gesture)
        begin = time.perf_counter()
        goal = gesture.starts + take.vector(message, "delta")
        landing = gesture.hand.move(goal, rough=True)
        positions = gesture.hand.positions()
        self.seen.clear()
        took = time.perf_counter() - begin
        self.desk.touched()
        seq = take.integer(message, "seq")
        self.desk.show(self.content.draw(positions), frame=gesture.hand.frame, seq=seq)
        self.desk.say({
            "is": "moved", "gesture": gesture.number, "seq": seq,
            "position": place(positions[gesture.nodes[0]]), "miss": float(landing.missed), "ms": 1e3 * took,
            "meter": self._measured(),
        })  # fmt: skip

    def _commit(self, message: Message) -> Mapping[str, Any]:
        gesture = take.gesture(message, self._gesture)
        self._gesture = None
        landing = gesture.hand.drop()
        label = f"move {self.called(gesture.nodes)}"
        self.history.add(label, gesture.before)
        self.changed(label)
        if not landing.reached:
            self._warn(f"{landing}")
        return {"missed": float(landing.missed), "moved": float(self._way(gesture.nodes[0], gesture.hand.frame))}

    def _cancel(self, message: Message) -> None:
        gesture = take.gesture(message, self._gesture)
        self._gesture = None
        gesture.hand.cancel()
        self.changed(None)

    def _place(self, message: Message) -> None:
        node, frame = take.integer(message, "node", 0, self.given.n - 1), take.integer(message, "frame")
        position = take.vector(message, "position")
        self.do(f"move {self.called([node])}", lambda: self.editor.drag(node, frame, position))
        self.selected = [node]

    def _pin(self, message: Message) -> None:
        nodes = take.nodes(message, "nodes", self.given.n)
        frame = take.integer(message, "frame", 0, self.frames - 1)
        self.do(f"pin {self.called(nodes)}", lambda: self.editor.pin(nodes, frame))

    # --- what the scene suggests

    def _moves(self, message: Message) -> None:
        """The drags that the scene suggests."""
        progress, before = self.desk.working("Making the suggested drags"), self.moment()
        wanted = [move for move in self.content.edit.moves if not self._made(move.vertices, move.frame)]
        try:
            for k, move in enumerate(wanted):
                report(progress, k / len(wanted), f"drag {k + 1} of {len(wanted)}")
                move.make(self.editor)
        except BaseException:
            self.become(before)
            raise
        self.desk.worked()
        self.history.add("make the suggested drags", before)
        self.changed("suggested drags")

    def suggested(self) -> int:
        """How many of the scene's drags were not made."""
        return sum(not self._made(move.vertices, move.frame) for move in self.content.edit.moves)

    def _made(self, vertices: NDArray[np.int64], frame: int) -> bool:
        return all((int(vertex), frame) in self.editor.state.held for vertex in vertices)

    # --- inner workings

    def opened(self, progress: Progress, **options: Any) -> Editor:
        plan = self.content.edit
        wanted = {"modes": plan.modes, **plan.settings, **options}
        animation = self.given if self.keeps_contacts else replace(self.given, contacts=None)
        return edit(animation, self.content.body, progress=progress, **wanted)

    def _reopened(self, saved: Saved, progress: Progress) -> Editor:
        self.names = {str(key): str(name) for key, name in dict(saved.document.get("names", {})).items()}
        self.keeps_contacts = bool(saved.document.get("contacts", self.keeps_contacts))
        # absent in projects of earlier versions
        self.selected = take.nodes({"selected": [], **saved.document}, "selected", self.given.n, least=0)
        animation = self.given if self.keeps_contacts else replace(self.given, contacts=None)
        found = stored.looked_at(saved.document.get("edit"), KEPT)
        return edit_of(found, KEPT, animation, self.content.body, progress=progress)

    def do(self, label: str, act: Callable[[], Any], *, join: bool = False) -> None:
        """One step of undo, or more of the last one; as it was before when it fails on the way."""
        self.settle()
        self.attempt(label, act, self.become, join=join)
        self.changed(label)

    def moment(self) -> Moment:
        return Moment(self.editor, self.editor.state, dict(self.names))

    def become(self, moment: Moment) -> None:
        self.editor, self.names = moment.editor, dict(moment.names)
        self.keeps_contacts = moment.editor.input.contacts is not None
        self.editor.restore(moment.state)

    def return_to(self, moment: Moment) -> None:
        self.become(moment)
        self.changed(None)

    def changed(self, label: str | None) -> None:
        self.seen.clear()
        self.desk.changed(label)
        self.desk.show(self.now(self.at), frame=self.at)

    def settle(self) -> None:
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

    def called(self, nodes: list[int]) -> str:
        return self.content.named(nodes[0]) if len(nodes) == 1 else f"{len(nodes)} points"

    def _way(self, node: int, frame: int) -> float:
        return float(np.linalg.norm(self.editor.positions(frame)[node] - self.given.positions[frame, node]))

    def _warn(self, text: str) -> None:
        self.desk.say({"is": "notice", "tone": "warn", "title": "Not quite there", "text": text})
