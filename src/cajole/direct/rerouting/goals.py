"""What `reroute` is asked for: nodes that shall be somewhere at a frame, and from when on they are led there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole import checks
from cajole.arrays import Array, IndexArray
from cajole.body import BodySprings
from cajole.errors import InputError
from cajole.mesh.base import MAX_COORDINATE

# α of eq. (11) counts in body sizes here: frames of a window for a goal that lies one size away
DEFAULT_ALPHA = 150.0
# shorter windows jerk
MIN_WINDOW = 16
# a window begins at frame 0 at the earliest, so that longer ones are all the same
MAX_WINDOW = 2**31


@dataclass(frozen=True)
class Goal:
    """`vertex` shall be at `position` (3,) [m] at `frame` of the pilot.

    window: over how many frames before that it is led; by default as many as the goal is far, eq. (11).
    """

    vertex: int
    frame: int
    position: ArrayLike
    window: int | None = None


def build_pose_goals(
    positions: ArrayLike, frame: int, vertices: ArrayLike | None = None, *, window: int | None = None
) -> list[Goal]:
    """A goal for each of `vertices`, or for all: a whole pose `positions` (n, 3) [m] at `frame`."""
    pose = checks.require_real_array(positions, "positions", (None, 3))
    chosen = (
        np.arange(len(pose)) if vertices is None else checks.require_indices_or_mask(vertices, "vertices", len(pose))
    )
    return [Goal(int(vertex), frame, pose[vertex], window) for vertex in chosen]


@dataclass(frozen=True, eq=False)
class GoalSet:
    """Goals as arrays: vertices, starts, ends (G,) and targets (G, 3) [m]; each is led in the steps after its start.

    numbers (G,): which of the goals given each is. asked (G,): frames that each window would have if the
    motion began early enough.
    """

    vertices: IndexArray
    start_frames: IndexArray
    end_frames: IndexArray
    targets: Array
    goal_indices: IndexArray
    requested_window_lengths: IndexArray

    def __len__(self) -> int:
        return len(self.vertices)

    @property
    def first_frame(self) -> int:
        """The frame after which the first of them is led."""
        return int(self.start_frames.min())

    @property
    def last_frame(self) -> int:
        """The frame of the last goal."""
        return int(self.end_frames.max())

    def select_goals(self, indices: IndexArray | NDArray[np.bool_]) -> GoalSet:
        """Some of them."""
        return replace(self, **{name: values[indices] for name, values in vars(self).items()})

    def find_active(self, frame: int) -> IndexArray:
        """Those that are led in the step into `frame`."""
        return np.flatnonzero((self.start_frames < frame) & (frame <= self.end_frames))

    def split_by_overlap(self) -> list[GoalSet]:
        """Goals whose windows overlap, together, in the order of time."""
        order = np.lexsort((self.end_frames, self.start_frames))
        parts: list[list[int]] = []
        reached = -1
        for each in order:
            if not parts or self.start_frames[each] >= reached:
                parts.append([])
            parts[-1].append(int(each))
            reached = max(reached, int(self.end_frames[each]))
        return [self.select_goals(np.array(part)) for part in parts]


def build_goal_set(goals: Goal | Sequence[Goal], body: BodySprings, pilot: Array, alpha: float) -> GoalSet:
    """`goals` checked against the body and the pilot's positions (frames, n, 3), each with its window, eq. (11)."""
    listed = _normalise_goals(goals)
    fixed = set(body.fixed.tolist())
    rows = [_check_goal(goal, number, fixed, pilot) for number, goal in enumerate(listed)]
    _require_unique(rows)
    vertices, ends = (np.array([row[i] for row in rows], dtype=np.int64) for i in (0, 1))
    targets = np.array([row[2] for row in rows])
    far = np.linalg.norm(targets - pilot[ends, vertices], axis=1)
    usual = np.clip(np.ceil(alpha * far / body.size), MIN_WINDOW, MAX_WINDOW).astype(np.int64)
    asked = np.array([min(goal.window or 0, MAX_WINDOW) for goal in listed], dtype=np.int64)
    lengths = np.where(asked > 0, asked, usual)
    # a window cannot begin before the motion does, nor before the node has been where it was asked for last
    starts = np.maximum(ends - lengths, [_find_previous_goal_frame(vertices, ends, g) for g in range(len(rows))])
    return GoalSet(vertices, starts, ends, targets, np.arange(len(rows)), lengths)


def _find_previous_goal_frame(vertices: IndexArray, ends: IndexArray, g: int) -> int:
    """The frame of the goal before g on the same vertex, or 0."""
    return int(ends[(vertices == vertices[g]) & (ends < ends[g])].max(initial=0))


def _normalise_goals(goals: Any) -> list[Goal]:
    listed = (
        [goals]
        if isinstance(goals, Goal)
        else list(checks.require_sequence(goals, "goals", "a Goal, or a list of them"))
    )
    if not listed:
        raise InputError("goals is empty: say which vertex shall be where, cj.Goal(vertex=7, frame=60, position=...)")
    for number, goal in enumerate(listed):
        checks.require_instance(goal, Goal, f"goals[{number}]")
    return listed


def _check_goal(goal: Goal, index: int, fixed: set[int], pilot: Array) -> tuple[int, int, Array]:
    frames, n = pilot.shape[:2]
    name = f"goals[{index}]"
    vertex = checks.require_integer(goal.vertex, f"the vertex of {name}", minimum=0, maximum=n - 1)
    frame = checks.require_integer(goal.frame, f"the frame of {name}", minimum=0, maximum=frames - 1)
    target = checks.require_real_array(goal.position, f"the position of {name}", (3,))
    if np.abs(target).max() >= MAX_COORDINATE:
        raise InputError(f"the position of {name} is {target.tolist()}; give metres below {MAX_COORDINATE:g}")
    if goal.window is not None:
        checks.require_integer(goal.window, f"the window of {name}")
    if frame == 0:
        raise InputError(
            f"{name} is at frame 0, where the motion starts and nothing can have led it; ask for a later frame, or "
            "start the pilot elsewhere"
        )
    if vertex in fixed:
        raise InputError(
            f"{name} asks for vertex {vertex}, which is fixed; free it in the body, or lead one of its neighbours"
        )
    return vertex, frame, target


def _require_unique(rows: list[tuple[int, int, Array]]) -> None:
    seen: dict[tuple[int, int], int] = {}
    for number, (vertex, frame, target) in enumerate(rows):
        if (vertex, frame) in seen:
            first = seen[vertex, frame]
            apart = float(np.linalg.norm(target - rows[first][2]))
            raise InputError(
                f"goals[{first}] and goals[{number}] both ask for vertex {vertex} at frame {frame}, {apart:.4g} m "
                "apart; keep one of them"
            )
        seen[vertex, frame] = number
