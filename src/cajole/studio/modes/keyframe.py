"""Keyframe: pull the body into poses, put them at frames, and have the gentlest motion through them found."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body.inversion import find_inversion
from cajole.direct import PoseSession
from cajole.direct.keyframing.comparators import spline_shares
from cajole.direct.keyframing.pulling import Moment as Posed
from cajole.errors import InputError
from cajole.progress import Progress, report
from cajole.studio.content import Content
from cajole.studio.modes.base import Desk, Handler, Message, Saved
from cajole.studio.modes.drawing import Drawing, body_of
from cajole.studio.modes.history import History, ModeUndo
from cajole.studio.modes.keyframe_keys import KeyHandlers
from cajole.studio.modes.keyframe_posing import PoseHandlers
from cajole.studio.modes.keyframe_saving import preload, restore, saved
from cajole.studio.modes.keyframe_shooting import optimise
from cajole.studio.modes.keyframe_telling import told
from cajole.studio.modes.keys import Keys, PoseKey
from cajole.studio.modes.posing import Hands
from cajole.studio.modes.shooting import Dials, Shooter, Take, asked
from cajole.studio.modes.thumbs import Thumbs

# [frames/s] as long as no motion has a pace of its own
USUAL_FPS = 60.0
# [s] without a message before a picture of a key is drawn: the hand comes first
CALM = 0.4


@dataclass(frozen=True, eq=False)
class Moment:
    """All that undo brings back."""

    posed: Posed
    keys: Keys
    dials: Dials
    take: Take | None


class KeyframeMode(ModeUndo[Moment]):
    """A `PoseSession`, keys, and the shots through them."""

    name = "keyframe"

    def __init__(self, desk: Desk, content: Content, kept: Saved | None = None):
        self.desk, self.content, self.body = desk, content, body_of(content, "pose")
        self.session, self.hands = PoseSession(self.body), Hands()
        self.shooter = Shooter(self.body)
        self.history: History[Moment] = History()
        self.selected: list[int] = []
        self.at, self.ghost = 0, "rest"
        self.keys: Keys = ()
        self.take: Take | None = None
        self.pictures: dict[int, tuple[Array, str | None]] = {}
        self.optimising: str | None = None
        self._thumbs = Thumbs(content)
        self.shown: tuple[Drawing, Array] | None = None
        self._posing, self._keying = PoseHandlers(self), KeyHandlers(self)
        self._touched = time.monotonic()
        plan = content.keys
        self.dials = Dials(detail=plan.modes, frames=plan.frames, dt=plan.dt)
        if kept is None:
            preload(self, plan.keys)
        else:
            restore(self, kept)

    # --- what the project asks

    @property
    def commands(self) -> Mapping[str, Handler]:
        handlers: dict[str, Handler] = {
            **self.common,
            "optimise": lambda message: optimise(self, message),
            **self._posing.commands,
            **self._keying.commands,
        }
        return {name: self._noticed(handler) for name, handler in handlers.items()}

    @property
    def frames(self) -> int:
        return self.dials.frames

    @property
    def fps(self) -> float:
        dt = self.dials.dt or (None if self.take is None else self.take.dt)
        return USUAL_FPS if dt is None else 1.0 / dt

    def state(self) -> dict[str, Any]:
        return told(self)

    def now(self, frame: int) -> Array:
        self.at = frame
        return self.content.draw(self.body.vertices + self.session.displacement)

    def frame(self, stream: str, frame: int) -> Array | None:
        if stream == "given":
            return self.content.draw(self.body.vertices + self.compared(frame))
        if stream == "other" or self.shown is None:
            return None
        drawing, states = self.shown
        return drawing.at(states[min(frame, len(states) - 1)])

    def result(self) -> Content:
        """The motion through the keys, and the body as pins held it, for another mode.

        Raises InputError when there is none yet.
        """
        shot = self._taken().shot(self.body)
        return replace(self.content, body=shot.model.body, shot=shot, animation=self.animation(), steer=None)

    def animation(self, progress: Progress | None = None) -> Animation:
        """The motion through the keys on the body's mesh, dressed."""
        made = self._taken().shot(self.body).animation
        report(progress, 1.0, "the motion through the keys")
        return replace(made, skin=self.content.skin) if self.content.skin is not None else made

    def due(self) -> float | None:
        if not self._posing.settled:
            return 0.0
        if self._posing.busy or self._unpictured() is None:
            return None
        return max(0.0, self._touched + CALM - time.monotonic())

    def tick(self) -> None:
        """Let the body follow the hand; where that is calm, draw the picture of one key."""
        if not self._posing.settled:
            self._posing.settle()
            return
        key = self._unpictured()
        if key is not None:
            pose = key.moment.displacement
            self.pictures[id(pose)] = (pose, self._thumbs.url(self.body.vertices + pose))
            self.desk.changed(motion=False)

    def saved(self) -> Saved:
        return saved(self)

    def close(self) -> None:
        self._posing.close()

    # --- the motion

    def look(self) -> None:
        """Have the second view play the take."""
        if self.take is None:
            self.shown = None
        else:
            self.shown = Drawing(self.content, self.body.vertices, self.take.basis), self.take.states

    def is_stale(self) -> bool:
        """Whether keys or dials have changed since the motion was made."""
        return self.take is not None and self.take.asked != asked(self.keys, self.dials)

    def compared(self, frame: int) -> Array:
        """The displacement (n, 3) [m] of what the ghost shows: rest, or a spline through the keys."""
        poses = {0: np.zeros((self.body.count, 3))}
        if self.ghost == "spline":
            poses |= {key.frame: key.moment.displacement for key in self.keys}
        share = spline_shares(list(poses), self.frames)[frame]
        return np.tensordot(share, np.stack(list(poses.values())), axes=1)

    def _taken(self) -> Take:
        if self.take is None:
            raise InputError("there is no motion yet; set keys and optimise first")
        return self.take

    # --- history

    def moment(self) -> Moment:
        return Moment(self.session.moment, self.keys, self.dials, self.take)

    def do(self, label: str, work: Callable[[], object], *, motion: bool = False, join: bool = False) -> None:
        """One step of undo; join: it goes on what was just done under the same name, as a slider in the hand does."""
        self.settle()
        before = self.moment()
        work()
        self.history.add(label, before, join=join)
        if self.session.moment is not before.posed:
            self.show()
            self.warn_if_inverted(before.posed)
        self.desk.changed(label, motion=motion)

    def warn_if_inverted(self, before: Posed) -> None:
        """Send a notice of tets that the pose turns inside out, when it has others than the one before."""
        found = find_inversion(self.body, self.session.displacement)
        if found is None or np.array_equal(np.sort(found.tets), self.body.inverted(before.displacement)):
            return
        self.desk.say({"is": "notice", "tone": "warn", "title": "Elements are inside out", "text": f"{found}."})

    def settle(self) -> None:
        self._posing.close()

    def return_to(self, moment: Moment) -> None:
        before = self.take
        self.session.return_to(moment.posed)
        self.keys, self.dials, self.take = moment.keys, moment.dials, moment.take
        if self.take is not before:
            self.look()
        self.at = min(self.at, self.frames - 1)
        self.show()
        self.desk.changed()

    def _noticed(self, handler: Handler) -> Handler:
        def handle(message: Message) -> Mapping[str, Any] | None:
            try:
                return handler(message)
            finally:
                self._touched = time.monotonic()

        return handle

    # --- small things

    def show(self) -> None:
        """The present pose to the first view."""
        self.desk.show(self.now(self.at), frame=self.at)

    def where(self, node: int) -> Array:
        return np.asarray(self.body.vertices[node] + self.session.displacement[node])

    def called(self, nodes: Sequence[int]) -> str:
        name = self.content.named(nodes[0])
        return name if len(nodes) == 1 else f"{name} and {len(nodes) - 1} more"

    def _unpictured(self) -> PoseKey | None:
        if not self._thumbs.works:
            return None
        return next((key for key in self.keys if id(key.moment.displacement) not in self.pictures), None)
