"""Goals in Reroute: vertices that are dragged where they shall be, and what the time line does with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from cajole.arrays import Array
from cajole.direct.rerouting import Goal
from cajole.errors import InputError
from cajole.studio import message_values
from cajole.studio.modes.base import Handler, Message
from cajole.studio.modes.payloads import to_list
from cajole.studio.modes.timeline_markers import (
    MarkerHandlers,
    TimelineMarker,
    find_item,
    get_next_number,
    replace_item,
    sort_items,
)

if TYPE_CHECKING:
    from cajole.studio.modes.reroute.mode import RerouteMode, RerouteUndoState

Point3 = tuple[float, float, float]
# whole poses are asked for, but not by hand
MAX_DRAGGED_VERTICES = 200


@dataclass(frozen=True)
class GoalMarker(TimelineMarker):
    """`node` shall be at `position` [m] at its frame; window: frames in which it is led there, None as far as it is.

    name: None where nobody gave one.
    """

    noun: ClassVar[str] = "goal"

    node: int
    position: Point3
    window: int | None = None
    name: str | None = None

    @property
    def title(self) -> str:
        return self.name or f"goal {self.number}"

    def to_goal(self) -> Goal:
        """As `reroute` takes it."""
        return Goal(self.node, self.frame, self.position, self.window)


Goals = tuple[GoalMarker, ...]


def find_goal(goals: Goals, node: int, frame: int) -> GoalMarker | None:
    """The goal of a vertex at a frame."""
    return next((goal for goal in goals if (goal.node, goal.frame) == (node, frame)), None)


def set_goal_positions(goals: Goals, frame: int, nodes: Sequence[int], positions: Array) -> Goals:
    """With vertices wanted at `places` (k, 3) [m] at a frame; a goal that stands there keeps all else."""
    for node, where in zip(nodes, positions):
        there, at = find_goal(goals, node, frame), (float(where[0]), float(where[1]), float(where[2]))
        if there is None:
            goals = sort_items([*goals, GoalMarker(get_next_number(goals), frame, node, at)])
        else:
            goals = replace_item(goals, replace(there, position=at))
    return goals


@dataclass(eq=False)
class GoalDrag:
    """A hand at work: vertices, where they were [m] (k, 3), where they shall be, and what was before."""

    number: int
    frame: int
    nodes: list[int]
    start_positions: Array
    positions: Array
    undo_state: RerouteUndoState


class GoalHandlers(MarkerHandlers[GoalMarker]):
    """What messages do to goals."""

    lane, noun = "goals", "goal"

    def __init__(self, mode: RerouteMode):
        super().__init__(mode)
        self.mode = mode
        self._active_drag: GoalDrag | None = None

    @property
    def commands(self) -> dict[str, Handler]:
        return {
            "drag.begin": self._begin_drag,
            "drag.move": self._move_drag,
            "drag.commit": self._commit_drag,
            "drag.cancel": self._handle_cancel,
            "place": self._place_vertex,
            "goal.set": self._set_window,
            "moves": self._add_scene_goals,
            **self.marker_commands,
        }

    @property
    def is_dragging(self) -> bool:
        """Whether a vertex is in the hand."""
        return self._active_drag is not None

    # --- markers

    @property
    def items(self) -> Goals:
        return self.mode.goals

    def set_items(self, items: Goals) -> None:
        self.mode.goals = items

    def require_distinct(self, items: Goals) -> Goals:
        seen: dict[tuple[int, int], GoalMarker] = {}
        for goal in items:
            other = seen.setdefault((goal.node, goal.frame), goal)
            if other is not goal:
                name = self.mode.content.describe_vertex(goal.node)
                raise InputError(f"{name} would have two goals at frame {goal.frame}; move one of them, or delete it")
            if goal.frame == 0:
                raise InputError(f"{goal.title} would be at frame 0, where nothing can have led it; choose a later one")
        return items

    def commit_items(self, items: Goals, label: str, *, join: bool = False) -> None:
        self.mode.apply_undoable(label, lambda: self.set_items(items), join=join)

    # --- drags

    def _begin_drag(self, message: Message) -> Mapping[str, Any]:
        self._active_drag = None  # that of a tab that went away in the middle of it
        number, frame = message_values.read_integer(message, "gesture"), self._read_frame(message)
        nodes = self._require_free(message_values.read_vertices(message, "nodes", self.mode.net.vertex_count))
        if message.get("directions") not in (None, "xyz"):
            raise InputError("a goal is a whole place; leave directions out, or say xyz")
        starts = np.array([self.mode.compute_target(node, frame) for node in nodes])
        self._active_drag = GoalDrag(number, frame, nodes, starts, starts, self.mode.capture_state())
        self.mode.selected, self.mode.current_frame = nodes, frame
        return {"position": to_list(starts[0])}

    def _move_drag(self, message: Message) -> None:
        gesture = message_values.require_active_gesture(message, self._active_drag)
        gesture.positions = gesture.start_positions + message_values.read_vector(message, "delta")
        self.mode.host.broadcast({
            "is": "moved", "gesture": gesture.number, "seq": message_values.read_integer(message, "seq"),
            "position": to_list(gesture.positions[0]), "miss": 0.0, "ms": 0.0, "meter": None,
        })  # fmt: skip

    def _commit_drag(self, message: Message) -> Mapping[str, Any]:
        gesture = message_values.require_active_gesture(message, self._active_drag)
        self._active_drag = None
        goals = set_goal_positions(self.items, gesture.frame, gesture.nodes, gesture.positions)
        self.commit_items(goals, f"move {self.mode.describe_vertices(gesture.nodes)}")
        return {"moved": float(np.linalg.norm(gesture.positions[0] - gesture.start_positions[0]))}

    def _handle_cancel(self, message: Message) -> None:
        message_values.require_active_gesture(message, self._active_drag)
        self.cancel_drag()
        self.mode.host.record_change(frames_changed=False)

    def cancel_drag(self) -> None:
        """What is in the hand goes back."""
        self._active_drag = None

    def _place_vertex(self, message: Message) -> None:
        frame = self._read_frame(message)
        nodes = self._require_free([message_values.read_integer(message, "node", 0, self.mode.net.vertex_count - 1)])
        places = message_values.read_vector(message, "position")[None]
        self.commit_items(
            set_goal_positions(self.items, frame, nodes, places),
            f"move {self.mode.describe_vertices(nodes)}",
            join=True,
        )
        self.mode.selected = nodes

    # --- by name

    def _set_window(self, message: Message) -> None:
        """Another window for a goal; null: as far as it is."""
        goal = find_item(self.items, message_values.read_text(message, "goal"))
        window = (
            None
            if message["window"] is None
            else message_values.read_integer(message, "window", 1, self.mode.frames - 1)
        )
        self.commit_items(
            replace_item(self.items, replace(goal, window=window)), f"set window of {goal.title}", join=True
        )

    def _add_scene_goals(self, message: Message) -> None:
        """The goals that the scene was made for, beside those that there are."""
        plan, pilot = self.mode.content.reroute_setup, self.mode.require_pilot()
        if plan is None:
            raise InputError("what is open has no goals of its own; click a vertex and drag it")
        goals = self.items
        for goal in plan.build_goals(pilot):
            goals = set_goal_positions(goals, goal.frame, [goal.vertex], np.array([goal.position], dtype=np.float64))
            there = find_goal(goals, goal.vertex, goal.frame)
            if there is not None and goal.window is not None:
                goals = replace_item(goals, replace(there, window=goal.window))
        self.commit_items(goals, "take the scene's goals")

    # --- checks

    def _read_frame(self, message: Message) -> int:
        frame = message_values.read_integer(message, "frame", 0, self.mode.frames - 1)
        self.mode.require_pilot()
        if frame == 0:
            raise InputError("nothing can have led a vertex at frame 0, where the motion starts; go to a later frame")
        return frame

    def _require_free(self, nodes: list[int]) -> list[int]:
        fixed = set(self.mode.net.fixed.tolist())
        for node in nodes:
            if node in fixed:
                name = self.mode.content.describe_vertex(node)
                raise InputError(f"{name} is held, and nothing leads it; drag one of its neighbours")
        if len(nodes) > MAX_DRAGGED_VERTICES:
            raise InputError(
                f"{len(nodes)} vertices are too many to be dragged at once; select {MAX_DRAGGED_VERTICES} at most"
            )
        return nodes
