"""The search for a motion in Keyframe, as a job that is watched, stopped and cancelled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from cajole.direct.keyframing.newton import Iterate
from cajole.direct.keyframing.setup import Setting
from cajole.errors import Cancelled, InputError
from cajole.progress import Progress, report
from cajole.studio.modes import keys as keyed
from cajole.studio.modes.base import Message
from cajole.studio.modes.drawing import Drawing
from cajole.studio.modes.shooting import Pace, Take

if TYPE_CHECKING:
    from cajole.studio.modes.keyframe import KeyframeMode

# [s] between two motions that are shown of a search
GLIMPSE = 0.25
# who stops the search before its first step asks for what there is not yet
TOO_EARLY = {
    "is": "notice",
    "tone": "warn",
    "title": "Stopped before there was a motion",
    "text": "The search had not made its first step, and nothing has changed. Optimise again, and stop it later.",
}


class Search:
    """One search under way: tells of every iterate, and shows the motion now and then."""

    def __init__(self, mode: KeyframeMode, progress: Progress, setting: Setting):
        self._mode, self._progress, self._setting = mode, progress, setting
        self._pace = Pace(any(key.hard for key in mode.keys))
        self._drawing = Drawing(mode.content, mode.body.vertices, setting.model.basis)
        self._first = setting.model.project(setting.first)
        self._seen = 0.0
        self.ended = False

    def watch(self, iterate: Iterate) -> bool:
        """Whether to go on."""
        mode, pace = self._mode, self._pace
        fraction = pace.fraction(iterate)
        mode.desk.say({
            "is": "iterate", "job": mode.optimising or "", "iteration": pace.steps, "cost": float(iterate.cost),
            "gradient": float(iterate.gradient), "seconds": pace.seconds,
        })  # fmt: skip
        if pace.seconds - self._seen >= GLIMPSE:
            self._seen = pace.seconds
            states = iterate.path.Q
            mode.shown = self._drawing, np.vstack([self._first, states] if self._setting.ending == "open" else [states])
            mode.desk.changed()
        self.ended = self._progress(fraction, f"step {pace.steps} · {pace.seconds:.1f} s") is False
        return not self.ended


def optimise(mode: KeyframeMode, message: Message) -> Mapping[str, Any]:
    """Find the gentlest motion through the keys. Raises InputError for keys that cannot be, Cancelled."""
    if not mode.keys:
        raise InputError("there are no keys to go through; pull the body into a pose, then capture it")
    keyed.require_apart(mode.keys)
    before, shown = mode.moment(), mode.shown
    progress = mode.desk.working("Optimising", stoppable=True)
    mode.optimising = mode.desk.job
    mode.desk.changed(motion=False)
    try:
        made = _made(mode, progress)
    except BaseException as reason:
        mode.shown = shown
        mode.desk.changed()
        if isinstance(reason, Cancelled) and mode.desk.stopped:
            mode.desk.say(TOO_EARLY)
        raise
    finally:
        mode.optimising = None
    mode.take = made
    mode.look()
    mode.desk.worked()
    mode.history.add("optimise", before)
    mode.desk.changed("optimise")
    tone = "ok" if made.about["converged"] else "warn"
    mode.desk.say({"is": "notice", "tone": tone, "title": "The motion is ready", "text": made.about["text"]})
    return {"cost": made.about["cost"], "worst": made.about["worst"]}


def _made(mode: KeyframeMode, progress: Progress) -> Take:
    report(progress, 0.0, "finding how the body may move")
    setting = mode.shooter.setting(mode.keys, mode.dials)
    report(progress, 0.0, "looking for the gentlest motion")
    search = Search(mode, progress, setting)
    made = mode.shooter.shoot(setting, mode.keys, mode.dials, search.watch)
    if search.ended and not mode.desk.stopped:
        raise Cancelled("the optimisation was cancelled; what was there before is kept")
    return made
