"""Reroute: a pilot runs, vertices of it are dragged to where they should have been, and it runs again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import BodySprings
from cajole.direct.rerouting.spread import usual_reach
from cajole.errors import InputError
from cajole.progress import Progress, report
from cajole.studio import take
from cajole.studio.content import Content
from cajole.studio.modes.base import Desk, Handler, Message, Saved
from cajole.studio.modes.history import History, ModeUndo
from cajole.studio.modes.reroute_dials import FPS, OF_NET, Dials, dialled, first_dials, net_of
from cajole.studio.modes.reroute_goals import GoalHandlers, Goals, goal_at
from cajole.studio.modes.reroute_running import Asked, Run, again, compare, fly
from cajole.studio.modes.reroute_saving import restore, saved
from cajole.studio.modes.reroute_telling import told


@dataclass(frozen=True, eq=False)
class Moment:
    """All that undo brings back."""

    net: BodySprings
    dials: Dials
    goals: Goals
    pilot: Animation | None
    run: Run | None


class RerouteMode(ModeUndo[Moment]):
    """A net, its pilot, goals, and the second run that meets them."""

    name = "reroute"

    def __init__(self, desk: Desk, content: Content, kept: Saved | None = None):
        self.desk, self.content = desk, content
        self.history: History[Moment] = History()
        self.net = net_of(content)
        self.usual_reach = usual_reach(self.net)
        self.dials = first_dials(content, self.usual_reach)
        self.pilot = content.animation
        self.goals: Goals = ()
        self.selected: list[int] = []
        self.at = 0
        self.run: Run | None = None
        self.other: Run | None = None
        self.sight = self.dials.method
        self.running: str | None = None
        self.making: str | None = None
        self.coming: list[Array] = []
        self._hand = GoalHandlers(self)
        if kept is not None:
            restore(self, kept)

    # --- what the project asks

    @property
    def commands(self) -> Mapping[str, Handler]:
        return {
            **self.common,
            **self._hand.commands,
            "pilot": partial(fly, self),
            "reroute": partial(again, self),
            "compare": partial(compare, self),
            "route": self._dial,
            "pose.pin": lambda message: self._hold(message, True),
            "pose.unpin": lambda message: self._hold(message, False),
        }

    @property
    def frames(self) -> int:
        return self.dials.frames if self.pilot is None else self.pilot.frames

    @property
    def fps(self) -> float:
        return FPS if self.pilot is None else self.pilot.fps

    @property
    def drawn(self) -> Content:
        """What is open, with the room that its pilot takes."""
        return self.content if self.pilot is None else replace(self.content, animation=self.pilot)

    def state(self) -> dict[str, Any]:
        return told(self)

    def now(self, frame: int) -> Array:
        self.at = frame
        found = self.frame("result", frame)
        return self.content.draw(self.net.vertices) if found is None else found

    def frame(self, stream: str, frame: int) -> Array | None:
        if self.making == "pilot":
            return self.content.draw(self.coming[frame]) if frame < len(self.coming) else None
        shown = self.shown
        motion = shown.motion if stream == "result" and shown is not None else self.pilot
        if stream == "other":
            return None
        if motion is None:
            return self.content.draw(self.net.vertices) if frame == 0 else None
        return self.content.draw(np.asarray(motion.frame(frame), dtype=np.float64))

    def result(self) -> Content:
        """The second run, or the pilot, for another mode. Raises InputError when there is neither yet."""
        return replace(self.content, animation=self.animation(), shot=None, steer=None)

    def animation(self, progress: Progress | None = None) -> Animation:
        """What the second view shows."""
        report(progress, 1.0, "the second run")
        return self.required_pilot() if self.shown is None else self.shown.motion

    def saved(self) -> Saved:
        return saved(self)

    def close(self) -> None:
        self._hand.drop()

    # --- what parts of the mode need to know

    @property
    def shown(self) -> Run | None:
        """The second run that is looked at."""
        return self.other if self.other is not None and self.other.method == self.sight else self.run

    @property
    def is_own(self) -> bool:
        """Whether the springs and the pilot are the author's, and no scene's or file's."""
        return self.content.reroute is None and self.content.animation is None

    def asked(self) -> Asked:
        """All that a second run depends on."""
        return Asked(self.goals, self.dials)

    def is_stale(self) -> bool:
        """Whether something has changed since the second run."""
        return self.run is not None and self.run.asked != self.asked()

    def required_pilot(self) -> Animation:
        """The pilot. Raises InputError while there is none."""
        if self.pilot is None:
            raise InputError("there is no pilot yet; run it first")
        return self.pilot

    def where(self, node: int, frame: int) -> Array:
        """(3,) [m] where a vertex shall be at a frame, else where it is seen."""
        goal = goal_at(self.goals, node, frame)
        if goal is not None:
            return np.array(goal.position)
        motion = self.pilot if self.shown is None else self.shown.motion
        there = self.net.vertices if motion is None else motion.positions[frame]
        return np.asarray(there[node], dtype=np.float64)

    def called(self, nodes: list[int]) -> str:
        return self.content.named(nodes[0]) if len(nodes) == 1 else f"{len(nodes)} points"

    # --- dials

    def _dial(self, message: Message) -> None:
        new = dialled(self.dials, message, float(self.content.mesh.size))
        self._require_own(message.keys() & set(OF_NET))
        last = self.goals[-1] if self.goals else None
        if last is not None and last.frame >= new.frames and self.is_own:
            raise InputError(
                f"{last.title} stands at frame {last.frame}, beyond {new.frames} frames; move or delete it first"
            )
        names = sorted(message.keys() - {"v", "do", "id"})
        if new != self.dials:
            self.do(f"set {', '.join(names)}", lambda: self._adjust(new), join=True)

    def _hold(self, message: Message, hold: bool) -> None:
        """Vertices of a mesh that are held while it falls."""
        nodes = set(take.nodes(message, "nodes", self.net.count))
        self._require_own({"held"})
        wanted = {goal.node for goal in self.goals}
        if hold and nodes & wanted:
            raise InputError(f"{self.content.named(min(nodes & wanted))} has a goal; delete that, then hold it")
        held = set(self.dials.held) | nodes if hold else set(self.dials.held) - nodes
        new = replace(self.dials, held=tuple(sorted(held)))
        self.do("hold points" if hold else "let go of points", lambda: self._adjust(new))

    def _require_own(self, names: set[str]) -> None:
        if names and not self.is_own:
            raise InputError(f"{min(names)} is as the pilot had it; open the mesh by itself to choose it")

    def _adjust(self, dials: Dials) -> None:
        """Other dials; those of the net make another, whose pilot has not been run."""
        other = dials.of_net() != self.dials.of_net()
        self.dials = dials
        if other:
            self.net = net_of(self.content, dials)
            self.pilot = self.run = None

    # --- history

    def settle(self) -> None:
        if self._hand.busy:
            raise InputError("a drag is under way; let go first, or press Esc")

    def moment(self) -> Moment:
        return Moment(self.net, self.dials, self.goals, self.pilot, self.run)

    def do(self, label: str, work: Callable[[], None], *, join: bool = False) -> None:
        """One step of undo, or more of the last one; as it was before when it fails on the way."""
        self.settle()
        self._changed(self.attempt(label, work, self.become, join=join), label)

    def become(self, moment: Moment) -> None:
        self.net, self.dials, self.goals = moment.net, moment.dials, moment.goals
        self.pilot, self.run = moment.pilot, moment.run
        self.at = min(self.at, self.frames - 1)

    def return_to(self, moment: Moment) -> None:
        before = self.moment()
        self.become(moment)
        self._changed(before, None)

    def _changed(self, before: Moment, label: str | None) -> None:
        """Tabs are told as much as differs: other bounds, other frames."""
        if self.run is not before.run:
            self.other, self.sight = None, self.dials.method if self.run is None else self.run.method
        if self.pilot is not before.pilot:
            self.desk.redraw()
        if self.run is not before.run or self.pilot is not before.pilot:
            self.refresh(label)
        else:
            self.desk.changed(label, motion=False)

    def refresh(self, label: str | None) -> None:
        """Frames differ: tabs are told, and see the present one."""
        self.desk.changed(label)
        self.desk.show(self.now(self.at), frame=self.at)
