"""Searches for motions of large nets of springs with a few of them: a draft, from which all the springs go on."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import numpy as np

from cajole.arrays import Array
from cajole.direct.keyframing.newton import Iterate, Outcome, Stop, feedback
from cajole.direct.keyframing.optimisers import minimised
from cajole.direct.keyframing.problem import Problem
from cajole.direct.keyframing.setup import Setting, Start, first_guesses
from cajole.errors import SolveError
from cajole.reduction import ReducedSprings
from cajole.reduction.springs import reduced_springs
from cajole.reduction.trajectory import Trajectory, follow, rollout

# How far the gradient of a draft falls, and in how many iterations at most; its last digits belong to its few springs.
DRAFT_TOLERANCE, DRAFT_ITERATIONS = 1e-6, 60
# Nets of so many springs are drafted with so few: one iteration with all of them then costs more than to choose these.
DRAFTED_NET, DRAFT_SPRINGS = 10_000, 600


def drafted(setting: Setting, problem: Problem, watch: Callable[[Iterate], None]) -> Start | None:
    """Controls that keep the model on the best motion its draft finds; None without a draft, or when it finds none.

    watch: called with every iterate of the draft. Its Stop is passed on with a motion of the whole model.
    """
    draft = _draft(setting) if setting.ending == "open" else None
    if draft is None:
        return None
    rough = replace(problem, system=draft.system)
    try:
        found = _searched(replace(setting, model=draft), rough, watch)
    except Stop as stop:
        raise Stop(_carried_over(stop.iterate, rough, problem)) from None
    if not found:
        return None
    name, best = min(found, key=lambda each: each[1].cost)
    path = _on_course(problem, best.path, best.gains)
    return None if path is None else (f"a draft with {len(draft.springs)} springs, {name}", path.W, problem.start)


def _searched(setting: Setting, rough: Problem, watch: Callable[[Iterate], None]) -> list[tuple[str, Outcome]]:
    """What the starts of a draft lead to; a draft may have one of its own."""
    led, found = None, list[tuple[str, Outcome]]()
    with suppress(SolveError):
        led = drafted(setting, rough, watch)
    for name, W, start in [led] if led else first_guesses(setting, rough, "best"):
        with suppress(SolveError):  # another start may do
            outcome = minimised(
                rough, W, start, "newton", tolerance=DRAFT_TOLERANCE, most=DRAFT_ITERATIONS, watch=watch
            )
            found.append((name, outcome))
    return found


def _carried_over(seen: Iterate, rough: Problem, problem: Problem) -> Iterate:
    """An iterate of the draft as one of the model; the uncontrolled motion where the model cannot follow."""
    path = _on_course(problem, seen.path, feedback(rough, seen.path))
    if path is None:
        path = rollout(problem.system, problem.plan, problem.start, np.zeros_like(seen.path.W) - problem.bias)
    return Iterate(seen.iteration, path, problem.cost(path), problem.norm(problem.gradient(path)))


def _on_course(problem: Problem, path: Trajectory, gains: Array) -> Trajectory | None:
    """The model led along a motion of its draft by the draft's feedback; None where it cannot be simulated."""
    return follow(problem.system, problem.plan, problem.start, path, gains, np.zeros_like(path.W), 1.0)


def _draft(setting: Setting) -> ReducedSprings | None:
    """Fewer springs to search with; of a large net in full, a cubature made for this."""
    model = setting.model
    if not isinstance(model, ReducedSprings):
        return None
    if model.report is None and len(model.springs) >= DRAFTED_NET:
        poses = np.stack([setting.first, *(np.asarray(key.displacement) for key in setting.keys.values())])
        return reduced_springs(model.body, model.basis, cubature=DRAFT_SPRINGS, poses=poses)
    return model.draft
