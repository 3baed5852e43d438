"""Goals in Reroute: vertices that are dragged where they shall be, and what the time line does with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from cajole.arrays import Array
from cajole.direct.rerouting import Goal
from cajole.errors import InputError
from cajole.studio import take
from cajole.studio.modes.base import Handler, Message
from cajole.studio.modes.marked import Marked, MarkerHandlers, changed, found, next_number, ordered
from cajole.studio.modes.telling import place

if TYPE_CHECKING:
    from cajole.studio.modes.reroute import Moment, RerouteMode

Place = tuple[float, float, float]
# whole poses are asked for, but not by hand
MOST_DRAGGED = 200


@dataclass(frozen=True)
class RouteGoal(Marked):
    """`node` shall be at `position` [m] at its frame; window: frames in which it is led there, None as far as it is.

    name: None where nobody gave one.
    """

    noun: ClassVar[str] = "goal"

    node: int
    position: Place
    window: int | None = None
    name: str | None = None

    @property
    def title(self) -> str:
        return self.name or f"goal {self.number}"

    def wanted(self) -> Goal:
        """As `reroute` takes it."""
        return Goal(self.node, self.frame, self.position, self.window)


Goals = tuple[RouteGoal, ...]


def goal_at(goals: Goals, node: int, frame: int) -> RouteGoal | None:
    """The goal of a vertex at a frame."""
    return next((goal for goal in goals if (goal.node, goal.frame) == (node, frame)), None)


def with_places(goals: Goals, frame: int, nodes: Sequence[int], places: Array) -> Goals:
    """With vertices wanted at `places` (k, 3) [m] at a frame; a goal that stands there keeps all else."""
    for node, where in zip(nodes, places):
        there, at = goal_at(goals, node, frame), (float(where[0]), float(where[1]), float(where[2]))
        if there is None:
            goals = ordered([*goals, RouteGoal(next_number(goals), frame, node, at)])
        else:
            goals = changed(goals, replace(there, position=at))
    return goals


@dataclass(eq=False)
class Gesture:
    """A hand at work: vertices, where they were [m] (k, 3), where they shall be, and what was before."""

    number: int
    frame: int
    nodes: list[int]
    starts: Array
    places: Array
    before: Moment


class GoalHandlers(MarkerHandlers[RouteGoal]):
    """What messages do to goals."""

    lane, noun = "goals", "goal"

    def __init__(self, mode: RerouteMode):
        super().__init__(mode)
        self.mode = mode
        self._gesture: Gesture | None = None

    @property
    def commands(self) -> dict[str, Handler]:
        return {
            "drag.begin": self._begin,
            "drag.move": self._move,
            "drag.commit": self._commit,
            "drag.cancel": self._cancel,
            "place": self._place,
            "goal.set": self._set,
            "moves": self._moves,
            **self.marking,
        }

    @property
    def busy(self) -> bool:
        """Whether a vertex is in the hand."""
        return self._gesture is not None

    # --- markers

    @property
    def items(self) -> Goals:
        return self.mode.goals

    def put(self, items: Goals) -> None:
        self.mode.goals = items

    def apart(self, items: Goals) -> Goals:
        seen: dict[tuple[int, int], RouteGoal] = {}
        for goal in items:
            other = seen.setdefault((goal.node, goal.frame), goal)
            if other is not goal:
                name = self.mode.content.named(goal.node)
                raise InputError(f"{name} would have two goals at frame {goal.frame}; move one of them, or delete it")
            if goal.frame == 0:
                raise InputError(f"{goal.title} would be at frame 0, where nothing can have led it; choose a later one")
        return items

    def become(self, items: Goals, label: str, *, join: bool = False) -> None:
        self.mode.do(label, lambda: self.put(items), join=join)

    # --- drags

    def _begin(self, message: Message) -> Mapping[str, Any]:
        self._gesture = None  # that of a tab that went away in the middle of it
        number, frame = take.integer(message, "gesture"), self._frame(message)
        nodes = self._free(take.nodes(message, "nodes", self.mode.net.count))
        if message.get("directions") not in (None, "xyz"):
            raise InputError("a goal is a whole place; leave directions out, or say xyz")
        starts = np.array([self.mode.where(node, frame) for node in nodes])
        self._gesture = Gesture(number, frame, nodes, starts, starts, self.mode.moment())
        self.mode.selected, self.mode.at = nodes, frame
        return {"position": place(starts[0])}

    def _move(self, message: Message) -> None:
        gesture = take.gesture(message, self._gesture)
        gesture.places = gesture.starts + take.vector(message, "delta")
        self.mode.desk.say({
            "is": "moved", "gesture": gesture.number, "seq": take.integer(message, "seq"),
            "position": place(gesture.places[0]), "miss": 0.0, "ms": 0.0, "meter": None,
        })  # fmt: skip

    def _commit(self, message: Message) -> Mapping[str, Any]:
        gesture = take.gesture(message, self._gesture)
        self._gesture = None
        goals = with_places(self.items, gesture.frame, gesture.nodes, gesture.places)
        self.become(goals, f"move {self.mode.called(gesture.nodes)}")
        return {"moved": float(np.linalg.norm(gesture.places[0] - gesture.starts[0]))}

    def _cancel(self, message: Message) -> None:
        take.gesture(message, self._gesture)
        self.drop()
        self.mode.desk.changed(motion=False)

    def drop(self) -> None:
        """What is in the hand goes back."""
        self._gesture = None

    def _place(self, message: Message) -> None:
        frame = self._frame(message)
        nodes = self._free([take.integer(message, "node", 0, self.mode.net.count - 1)])
        places = take.vector(message, "position")[None]
        self.become(with_places(self.items, frame, nodes, places), f"move {self.mode.called(nodes)}", join=True)
        self.mode.selected = nodes

    # --- by name

    def _set(self, message: Message) -> None:
        """Another window for a goal; null: as far as it is."""
        goal = found(self.items, take.text(message, "goal"))
        window = None if message["window"] is None else take.integer(message, "window", 1, self.mode.frames - 1)
        self.become(changed(self.items, replace(goal, window=window)), f"set window of {goal.title}", join=True)

    def _moves(self, message: Message) -> None:
        """The goals that the scene was made for, beside those that there are."""
        plan, pilot = self.mode.content.reroute, self.mode.required_pilot()
        if plan is None:
            raise InputError("what is open has no goals of its own; click a vertex and drag it")
        goals = self.items
        for goal in plan.aims(pilot):
            goals = with_places(goals, goal.frame, [goal.vertex], np.array([goal.position], dtype=np.float64))
            there = goal_at(goals, goal.vertex, goal.frame)
            if there is not None and goal.window is not None:
                goals = changed(goals, replace(there, window=goal.window))
        self.become(goals, "take the scene's goals")

    # --- checks

    def _frame(self, message: Message) -> int:
        frame = take.integer(message, "frame", 0, self.mode.frames - 1)
        self.mode.required_pilot()
        if frame == 0:
            raise InputError("nothing can have led a vertex at frame 0, where the motion starts; go to a later frame")
        return frame

    def _free(self, nodes: list[int]) -> list[int]:
        fixed = set(self.mode.net.fixed.tolist())
        for node in nodes:
            if node in fixed:
                name = self.mode.content.named(node)
                raise InputError(f"{name} is held, and nothing leads it; drag one of its neighbours")
        if len(nodes) > MOST_DRAGGED:
            raise InputError(f"{len(nodes)} vertices are too many to be dragged at once; select {MOST_DRAGGED} at most")
        return nodes
