"""Modes are left and entered again, in every order and through hand-over: each goes on exactly where it was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import pytest
from mode_cases import plain
from studio_cases import answer_of, small_motion

from cajole.errors import InputError
from cajole.studio.content import build_animation_content
from cajole.studio.modes.base import ModeSnapshot
from cajole.studio.project import Project
from cajole.studio.project_saver import ProjectStartup
from cajole.studio.project_store import ProjectRecord, ProjectSource, ProjectStore, generate_id

MODES = ("edit", "keyframe", "steer", "enrich", "reroute")
NODE = 20
# one command that leaves something to return to in each mode
WORK: dict[str, list[dict[str, Any]]] = {
    "edit": [
        {"do": "place", "node": NODE, "frame": 12, "position": [1.0, 0.2, 0.1]},
        {"do": "tune", "window": [2, 20], "beta": 0.01},
        {"do": "select", "nodes": [NODE]},
    ],
    "keyframe": [{"do": "gravity", "on": True}, {"do": "key.capture", "frame": 9, "name": "bent"}],
    "steer": [{"do": "run", "play": False, "speed": 1}, {"do": "wind", "strength": 0.5, "pace": 2.0}],
    "enrich": [{"do": "shell", "levels": 1}, {"do": "cloth", "substeps": 2, "young": 5e4}],
    "reroute": [
        {"do": "drag.begin", "gesture": 1, "nodes": [NODE], "frame": 10},
        {"do": "drag.move", "gesture": 1, "seq": 1, "delta": [0.0, 0.1, 0.0]},
        {"do": "drag.commit", "gesture": 1},
    ],
}
# what a mode does not keep: its undo history, revision numbers, and where a live run is at the moment
UNKEPT = ("rev", "undo", "redo", "unsaved", "unsaved_reason", "frame", "meter")


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    content = build_animation_content(small_motion())
    record = ProjectRecord(generate_id(), "Sway", "edit", ProjectSource(scene="twist", mode="edit"))
    made = Project(ProjectStartup(record, lambda progress: content), ProjectStore(tmp_path))
    made.start()
    yield made
    made.close()


def ask(project: Project, **message: Any) -> None:
    """Have a command done, to its end."""
    said = answer_of(project, **message)
    assert said.get("is") != "error", (message, said)
    # a job is answered when it begins; this is answered after it
    answer_of(project, do="frame", frame=0)


def enter(project: Project, mode: str, **options: Any) -> None:
    ask(project, do="mode", mode=mode, **options)
    assert project._mode is not None
    assert project._mode.name == mode, project._open_error
    if mode == "steer":  # a run that goes on is never twice the same
        ask(project, do="run", play=False, speed=1)


def state_of(project: Project) -> dict[str, Any]:
    """The present mode's part of the state, and all that it would save."""
    mode = project._mode
    assert mode is not None
    told = {name: value for name, value in plain(mode).items() if name not in UNKEPT}
    told.get("steer", {}).pop("retuning", None)  # gains are computed in the background
    saved = mode.create_snapshot()
    arrays = {name: array.tolist() for name, array in saved.arrays.items()}
    text = json.dumps([told, saved.document, arrays], default=lambda array: array.tolist())
    return {"mode": mode.name, "frames": mode.frames, "all": json.loads(text)}


def differences(one: Any, other: Any, where: str = "") -> list[str]:
    """Where two states differ; numbers that are computed anew may differ by rounding."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return [line for key in one for line in differences(one[key], other[key], f"{where}.{key}")]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [line for k, each in enumerate(one) for line in differences(each, other[k], f"{where}[{k}]")]
    if isinstance(one, float) and isinstance(other, float):
        return [] if one == pytest.approx(other, rel=1e-7, abs=1e-9) else [f"{where}: {one} != {other}"]
    return [] if one == other else [f"{where}: {str(one)[:80]} != {str(other)[:80]}"]


def round_trip() -> list[str]:
    """A tour of the modes in which each follows each other one: every mode is entered four times."""
    left = {mode: [other for other in MODES if other != mode] for mode in MODES}
    tour, stack = list[str](), [MODES[0]]
    while stack:  # Hierholzer: an Eulerian circuit of the complete directed graph
        if left[stack[-1]]:
            stack.append(left[stack[-1]].pop())
        else:
            tour.append(stack.pop())
    return tour[::-1]


def test_the_tour_has_every_pair_of_modes_identity() -> None:
    tour = round_trip()
    assert sorted(pairwise(tour)) == sorted(permutations(MODES, 2))


def test_every_mode_is_left_and_entered_in_every_order_with_equal_state_identity(project: Project) -> None:
    known: dict[str, dict[str, Any]] = {}
    for mode in MODES:
        enter(project, mode)
        for command in WORK[mode]:
            ask(project, **command)
        known[mode] = state_of(project)
    enter(project, "edit")
    for mode in round_trip()[1:]:
        present = state_of(project)
        assert differences(present, known[present["mode"]]) == []
        enter(project, mode)
    assert differences(state_of(project), known["edit"]) == []


@pytest.mark.parametrize("taker", MODES[1:])
def test_a_mode_that_was_handed_a_motion_is_returned_to_with_equal_state_identity(project: Project, taker: str) -> None:
    for command in WORK["edit"]:
        ask(project, **command)
    given = state_of(project)
    enter(project, taker, hand=True)
    taken = state_of(project)
    for _ in range(3):
        enter(project, "edit")
        assert differences(state_of(project), given) == []
        enter(project, taker)
        assert differences(state_of(project), taken) == []


DAMAGED: list[tuple[str, dict[str, Any]]] = [
    ("edit", {}),
    ("edit", {"names": 3}),
    ("edit", {"selected": "x"}),
    ("edit", {"selected": [-1]}),
    ("keyframe", {}),
    ("keyframe", {"moments": 3}),
    ("steer", {}),
    ("enrich", {}),
    ("reroute", {}),
    ("reroute", {"dials": [1]}),
]


@pytest.mark.parametrize(("mode", "document"), DAMAGED)
def test_what_cannot_be_restored_is_refused_with_a_reason_bad_input(
    tmp_path: Path, mode: str, document: dict[str, Any]
) -> None:
    content = build_animation_content(small_motion())
    saved = {mode: ModeSnapshot(document)}
    record = ProjectRecord(generate_id(), "Sway", mode, ProjectSource(scene="twist", mode="edit"), saved)
    project = Project(ProjectStartup(record, lambda progress: content), ProjectStore(tmp_path))
    project.start()
    said = answer_of(project, do="frame", frame=0)
    assert "could not be opened" in said["text"]
    assert isinstance(project._open_error, InputError), project._open_error
    project.close()
