"""Steer: a motion that the body keeps to by the least force, live, while it is pushed."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.animation import Animation
from cajole.body import EARTH_GRAVITY, Body
from cajole.direct import Wind, steer
from cajole.direct.steering.live import Live
from cajole.errors import InputError, NotConverged
from cajole.progress import Progress, report
from cajole.studio import take
from cajole.studio.content import Content
from cajole.studio.modes.arrows import Arrows
from cajole.studio.modes.base import Desk, Handler, Message, Saved
from cajole.studio.modes.drawing import Drawing
from cajole.studio.modes.driving import Drive
from cajole.studio.modes.history import History, ModeUndo
from cajole.studio.modes.pushing import PushHandlers, packed
from cajole.studio.modes.steer_settings import DIALS, GHOSTS, Settings, blown, dialled, reference_of, restored
from cajole.studio.modes.steer_telling import pulse, told

Array = NDArray[np.float64]

SPEEDS = (0.25, 0.5, 1.0, 2.0)
# [s] that the meter looks back; and after a push until the tabs are told how it went
REMEMBERED, RECOVERED = 7.0, 2.0
# [s] between two looks at the background while nothing moves
LOOK = 0.1


class SteerMode(ModeUndo[Settings]):
    """A `Live` in the studio."""

    name = "steer"

    def __init__(self, desk: Desk, content: Content, kept: Saved | None = None):
        self.desk, self.content, self.clock = desk, content, time.monotonic
        progress = desk.working("Preparing the motion")
        reference = reference_of(content, progress)
        self.body: Body = reference.model.body
        own = dict({} if content.steer is None else content.steer.dials)
        self.settings = dialled(Settings(), {name: own.pop(name) for name in DIALS if name in own})
        self.history: History[Settings] = History()
        self.selected: list[int] = []
        self.at, self.ghost = 0, "reference"
        self._pushing = PushHandlers(self)
        if kept is not None:
            self.settings, self.ghost, self.selected, self._pushing.made = restored(kept, self.body.count)
        report(progress, 0.9, "making the controller")
        self.drive = Drive(steer(reference, **own, **self.settings.dials))
        rest = self.body.vertices + reference.model.lift(np.zeros(reference.model.size))
        self.drawing, self.arrows = Drawing(content, rest, reference.model.basis), Arrows(content, reference.model)
        self.efforts: deque[tuple[float, float]] = deque()
        self.good: bool | None = None
        self.ms = 0.0
        self._failures, self._was_retuning, self._was_slow = 0, False, False
        self._tell_at: float | None = None
        self._begin_lap()
        self._apply(replace(self.settings, control=True, wind=0.0), self.settings)
        self.drive.with_twin(self.ghost == "uncontrolled")
        desk.worked()

    # --- what the project asks

    @property
    def commands(self) -> Mapping[str, Handler]:
        return {
            **self.common,
            "dials": self._dial,
            "control": self._control,
            "wind": self._wind,
            "run": self._run,
            "restart": lambda _: self._restart(),
            "ghost": self._ghost,
            **self._pushing.commands,
        }

    @property
    def pushes(self) -> PushHandlers:
        """The push in the hand, and those that were made."""
        return self._pushing

    @property
    def frames(self) -> int:
        return self.drive.frames

    @property
    def fps(self) -> float:
        return 1.0 / (self.drive.reference.dt * self.drive.reference.substeps)

    def state(self) -> dict[str, Any]:
        return told(self)

    def now(self, frame: int) -> Array:
        self.at = frame
        return self.drawing.at(self.drive.seen()[0])

    def frame(self, stream: str, frame: int) -> Array | None:
        drive, k = self.drive, self.drive.reference.substeps
        if stream == "given":
            return self.drawing.at(drive.reference.states[k * frame])
        return self.drawing.at(drive.path[frame] if stream == "result" else drive.other[frame])

    def result(self) -> Content:
        """The last whole lap as a motion, for another mode."""
        return replace(self.content, animation=self.animation(), shot=None, steer=None)

    def animation(self, progress: Progress | None = None) -> Animation:
        """The last whole lap on the body's mesh, dressed; before there is one, a lap without any push."""
        model, drive = self.drive.reference.model, self.drive
        states = drive.whole
        if states is None:
            run = drive.live.controller.run(controlled=self.settings.control, progress=progress)
            states = run.states[:: drive.reference.substeps][: drive.frames]
        positions = model.body.vertices + model.lift(states)
        report(progress, 1.0, "the last lap")
        return Animation(model.body.drawn_mesh(), positions, fps=self.fps, skin=self.content.skin)

    def saved(self) -> Saved:
        document = {"settings": vars(self.settings), "pushes": packed(self._pushing.made), "ghost": self.ghost}
        return Saved({**document, "selected": list(self.selected)})

    def close(self) -> None:
        self.drive.live.close()

    def bodies(self) -> list[Live]:
        """The body and, where it has one, its twin."""
        return [live for live in (self.drive.live, self.drive.twin) if live is not None]

    # --- time

    def due(self) -> float | None:
        if self.drive.running:
            return self.drive.due(self.clock())
        return LOOK if self.drive.live.retuning or self._was_retuning else None

    def tick(self) -> None:
        """Go on to where the clock is, and show it."""
        begin = time.perf_counter()
        self._advance(self.drive.owed(self.clock()))
        self._pushing.grow_old()
        body, twin = self.drive.seen()
        if self.drive.running:
            self._show(body, twin)
            self.ms = 1e3 * (time.perf_counter() - begin)
            self.desk.say(pulse(self, body))
        self._tell_news()

    def _advance(self, steps: int) -> None:
        drive = self.drive
        while steps > 0:
            try:
                done = drive.advance(steps, self._stepped)
            except NotConverged as error:
                self._fail(error)
                return
            self._failures = 0 if done else self._failures
            if not drive.ended:
                return
            drive.end_lap()
            self._begin_lap()
            self.desk.changed(motion=True)
            steps = steps - done if drive.reference.loop else 0

    def _stepped(self) -> None:
        """After every step: what it took is remembered, and whether what must happen did."""
        live, plan = self.drive.live, self.content.steer
        self.efforts.append((live.time, live.gentleness))
        while self.efforts[0][0] < live.time - REMEMBERED:
            self.efforts.popleft()
        if plan is not None and plan.judge is not None:
            positions = self.body.vertices + self.drive.reference.model.lift(live.state[0])
            good = plan.judge(self.drive.step, positions)
            if good != self.good:
                self.good = good
                self.desk.changed(motion=False)

    def _begin_lap(self) -> None:
        if self.content.steer is not None and self.content.steer.reset is not None:
            self.content.steer.reset()

    def _fail(self, error: NotConverged) -> None:
        """The body stands where it was; when it cannot go on from there either, it begins anew."""
        self._pushing.forget()
        self._failures += 1
        text, _, remedy = str(error).partition("; ")
        if self._failures == 1:
            said = f"{text}. It goes on from where it was; {remedy or 'push less'}."
        else:
            self._restart()
            said = f"{text}. It begins anew; {remedy or 'push less, or switch control on'}."
        self.desk.say({"is": "notice", "tone": "warn", "title": "Pushed too hard", "text": said})
        self.desk.changed(motion=False)

    def _show(self, body: Array, twin: Array | None) -> None:
        beside = twin
        if beside is None:
            beside = self.drive.reference.states[min(self.drive.step, self.drive.reference.steps)]
        self.desk.show(self.drawing.at(body), frame=self.at, ghost=self.drawing.at(beside))

    def _tell_news(self) -> None:
        """What tabs do not see by themselves: that gains are ready, how a push ended, that the machine is slow."""
        retuning, slow = self.drive.live.retuning, self.drive.slow is not None
        due = self._tell_at is not None and self.drive.live.time >= self._tell_at
        if retuning != self._was_retuning or slow != self._was_slow or due:
            self._tell_at = None if due else self._tell_at
            self._was_retuning, self._was_slow = retuning, slow
            self.desk.changed(motion=False)

    # --- what messages do

    def pushed(self) -> None:
        """A push was made: tabs are told at once, and again when its end is known."""
        self._tell_at = self.drive.live.time + RECOVERED
        self.desk.changed(motion=False)

    def _dial(self, message: Message) -> None:
        names = " and ".join(name for name in DIALS if name in message)
        self._become(dialled(self.settings, message), f"set {names}", join=True)

    def _control(self, message: Message) -> None:
        on = take.flag(message, "on")
        self._become(replace(self.settings, control=on), f"control {'on' if on else 'off'}")

    def _wind(self, message: Message) -> None:
        self._become(blown(self.settings, message), "set wind", join=True)

    def _run(self, message: Message) -> None:
        speed = take.number(message, "speed", SPEEDS[0], SPEEDS[-1])
        if speed not in SPEEDS:
            raise InputError(f"speed of run is {speed:g}, but must be one of {', '.join(f'{s:g}' for s in SPEEDS)}")
        play = take.flag(message, "play")
        self.drive.speed = speed
        if play:
            self.drive.running = True
        else:
            self.drive.pause()
        self.desk.changed(motion=False)

    def _restart(self) -> None:
        self._pushing.let_go()
        self.drive.restart()
        self._begin_lap()
        self.good = None
        self._show(*self.drive.seen())
        self.desk.changed()

    def _ghost(self, message: Message) -> None:
        self.ghost = take.one_of(message, "of", GHOSTS)
        self.drive.with_twin(self.ghost == "uncontrolled")
        self._show(*self.drive.seen())
        self.desk.changed()

    # --- settings

    def _become(self, new: Settings, label: str, *, join: bool = False) -> None:
        """One step of undo; join: it goes on what was just done under the same name, as a slider in the hand does."""
        before = self.settings
        if new == before:
            return
        self._apply(before, new)
        self.history.add(label, before, join=join)
        self.settings = new
        self.desk.changed(label, motion=False)

    def moment(self) -> Settings:
        return self.settings

    def return_to(self, moment: Settings) -> None:
        self._apply(self.settings, moment)
        self.settings = moment
        self.desk.changed(motion=False)

    def _apply(self, before: Settings, new: Settings) -> None:
        """Have the body follow other settings. Raises InputError for dials that `steer` refuses, before any change."""
        if new.dials != before.dials:
            self.drive.live.retune(**new.dials)
            self._was_retuning = True
        self.drive.live.controlled = new.control
        if (new.wind, new.pace) != (before.wind, before.pace):
            winds = [Wind(strength=EARTH_GRAVITY * new.wind, pace=new.pace)] if new.wind > 0 else []
            for live in self.bodies():
                live.blow(*winds)
