"""Goals of `reroute`: positions of nodes at frames, and the windows of frames in which the nodes are controlled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole import checks
from cajole.arrays import Array, IndexArray
from cajole.body import BodySprings
from cajole.errors import InputError
from cajole.mesh.base import MAX_COORDINATE

# α of eq. (11), here per body size: frames of the window of a goal that is one body size away from the pilot.
DEFAULT_ALPHA = 150.0
# Frames of a window: shorter ones jerk; all that are longer begin at frame 0.
MIN_WINDOW, MAX_WINDOW = 16, 2**31


@dataclass(frozen=True)
class Goal:
    """The position (3,) [m] of a vertex at a frame of the pilot.

    window: number of frames before it in which the vertex is controlled; eq. (11) when None.
    """

    vertex: int
    frame: int
    position: ArrayLike
    window: int | None = None


def build_pose_goals(
    positions: ArrayLike, frame: int, vertices: ArrayLike | None = None, *, window: int | None = None
) -> list[Goal]:
    """One goal for each of `vertices`, or for all: a whole pose `positions` (n, 3) [m] at `frame`."""
    pose = checks.require_real_array(positions, "positions", (None, 3))
    chosen = (
        np.arange(len(pose)) if vertices is None else checks.require_indices_or_mask(vertices, "vertices", len(pose))
    )
    return [Goal(int(vertex), frame, pose[vertex], window) for vertex in chosen]


@dataclass(frozen=True, eq=False)
class GoalSet:
    """Goals as arrays: vertices, start and end frames (G,), targets (G, 3) [m].

    A goal is controlled in the steps after its start frame, up to its end frame. goal_indices: (G,) positions in the
    given list of goals. requested_window_lengths: (G,) frames of the window, before it is cut at frame 0.
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
        """The first start frame."""
        return int(self.start_frames.min())

    @property
    def last_frame(self) -> int:
        """The last end frame."""
        return int(self.end_frames.max())

    def select_goals(self, indices: IndexArray | NDArray[np.bool_]) -> GoalSet:
        """A subset of the goals."""
        return replace(self, **{name: values[indices] for name, values in vars(self).items()})

    def find_active(self, frame: int) -> IndexArray:
        """Indices of the goals that are controlled in the step into `frame`."""
        return np.flatnonzero((self.start_frames < frame) & (frame <= self.end_frames))

    def split_by_overlap(self) -> list[GoalSet]:
        """Groups of goals whose windows overlap, in order of time."""
        order = np.lexsort((self.end_frames, self.start_frames))
        groups: list[list[int]] = []
        last = -1
        for index in order:
            if not groups or self.start_frames[index] >= last:
                groups.append([])
            groups[-1].append(int(index))
            last = max(last, int(self.end_frames[index]))
        return [self.select_goals(np.array(group)) for group in groups]


def build_goal_set(goals: Goal | Sequence[Goal], body: BodySprings, pilot: Array, alpha: float) -> GoalSet:
    """Check goals against the body and the pilot positions (frames, n, 3), and compute their windows, eq. (11)."""
    listed: list[Goal] = (
        [goals]
        if isinstance(goals, Goal)
        else list(checks.require_sequence(goals, "goals", "a Goal, or a list of them"))
    )
    if not listed:
        raise InputError("goals is empty: say which vertex shall be where, cj.Goal(vertex=7, frame=60, position=...)")
    fixed, rows = set(body.fixed.tolist()), list[tuple[int, int, Array]]()
    indices: dict[tuple[int, int], int] = {}
    for index, goal in enumerate(listed):
        checks.require_instance(goal, Goal, f"goals[{index}]")
        vertex, frame, target = _check_goal(goal, f"goals[{index}]", fixed, pilot)
        first = indices.setdefault((vertex, frame), index)
        if first != index:
            apart = float(np.linalg.norm(target - rows[first][2]))
            raise InputError(
                f"goals[{first}] and goals[{index}] both ask for vertex {vertex} at frame {frame}, {apart:.4g} m "
                "apart; keep one of them"
            )
        rows.append((vertex, frame, target))
    vertices, ends = (np.array([row[i] for row in rows], dtype=np.int64) for i in (0, 1))
    targets = np.array([row[2] for row in rows])
    distances = np.linalg.norm(targets - pilot[ends, vertices], axis=1)
    usual = np.clip(np.ceil(alpha * distances / body.size), MIN_WINDOW, MAX_WINDOW).astype(np.int64)
    requested = np.array([min(goal.window or 0, MAX_WINDOW) for goal in listed], dtype=np.int64)
    lengths = np.where(requested > 0, requested, usual)
    # a window begins no earlier than the motion, or than the previous goal of its vertex
    previous = [int(ends[(vertices == v) & (ends < end)].max(initial=0)) for v, end in zip(vertices, ends)]
    return GoalSet(vertices, np.maximum(ends - lengths, previous), ends, targets, np.arange(len(rows)), lengths)


def _check_goal(goal: Goal, name: str, fixed: set[int], pilot: Array) -> tuple[int, int, Array]:
    """Vertex, frame and target (3,) of a valid goal."""
    frames, n = pilot.shape[:2]
    vertex = checks.require_integer(goal.vertex, f"the vertex of {name}", minimum=0, maximum=n - 1)
    frame = checks.require_integer(goal.frame, f"the frame of {name}", minimum=0, maximum=frames - 1)
    target = checks.require_real_array(goal.position, f"the position of {name}", (3,))
    if np.abs(target).max() >= MAX_COORDINATE:
        raise InputError(f"the position of {name} is {target.tolist()}; give metres below {MAX_COORDINATE:g}")
    if goal.window is not None:
        checks.require_integer(goal.window, f"the window of {name}")
    if frame == 0:
        raise InputError(
            f"{name} is at frame 0, where the motion starts and no step before it can be controlled; ask for a later "
            "frame, or start the pilot elsewhere"
        )
    if vertex in fixed:
        raise InputError(
            f"{name} asks for vertex {vertex}, which is fixed; free it in the body, or lead one of its neighbours"
        )
    return vertex, frame, target
