"""Steer: a motion that the body keeps to by the least force, live, while it is pushed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import EARTH_GRAVITY, Body
from cajole.direct import Wind, steer
from cajole.direct.steering.live import Live
from cajole.progress import Progress, report
from cajole.studio.content import Content
from cajole.studio.modes.arrows import Arrows
from cajole.studio.modes.base import Desk, Message, Saved
from cajole.studio.modes.drawing import Drawing
from cajole.studio.modes.driving import Course, Drive
from cajole.studio.modes.pushing import BodyPushes, Made
from cajole.studio.modes.steer_settings import DIALS, Settings, blown, dialled, reference_of, restored
from cajole.studio.modes.steer_telling import called, pulse_told, selected_told, trails_told
from cajole.studio.modes.steering import Steering


class SteerMode(Steering[Settings, Live, int]):
    """A `Live` in the studio."""

    def __init__(self, desk: Desk, content: Content, kept: Saved | None = None):
        super().__init__(desk, content)
        progress = desk.working("Preparing the motion")
        self.reference = reference_of(content, progress)
        model = self.reference.model
        self.body: Body = model.body
        own = dict({} if content.steer is None else content.steer.dials)
        self.settings = dialled(Settings(), {name: own.pop(name) for name in DIALS if name in own})
        self.ghost, self.pushes = "reference", BodyPushes(self)
        if kept is not None:
            self.settings, self.ghost, self.selected, self.pushes.made = restored(kept, self.body.count)
        report(progress, 0.9, "making the controller")
        rest = self.body.vertices + model.lift(np.zeros(model.size))
        self.drawing, self.arrows = Drawing(content, rest, model.basis), Arrows(content, model)
        live = steer(self.reference, **own, **self.settings.dials).start()
        self.begin(Drive(live, self._course()))

    def _course(self) -> Course[Live]:
        reference = self.reference
        states = reference.states[:: reference.substeps]
        frames = reference.steps // reference.substeps + (0 if reference.loop else 1)
        return Course(
            reference.steps,
            reference.substeps,
            reference.loop,
            reference.dt,
            states[:frames],
            lambda live: live.state[0],
        )

    # --- what the project asks

    def now(self, frame: int) -> Array:
        self.frame_shown = frame
        return self.drawing.at(self.drive.seen()[0])

    def frame(self, stream: str, frame: int) -> Array | None:
        if stream == "given":
            return self.drawing.at(self.drive.course.states[frame])
        return self.drawing.at(self.drive.path[frame] if stream == "result" else self.drive.other[frame])

    def result(self) -> Content:
        """The last whole lap as a motion, for another mode."""
        return replace(self.content, animation=self.animation(), shot=None, steer=None)

    def animation(self, progress: Progress | None = None) -> Animation:
        """The last whole lap on the body's mesh, dressed; before there is one, a lap without any push."""
        model, drive = self.reference.model, self.drive
        states = drive.whole
        if states is None:
            run = drive.live.controller.run(controlled=self.settings.control, progress=progress)
            states = run.states[:: self.reference.substeps][: drive.frames]
        positions = model.body.vertices + model.lift(states)
        report(progress, 1.0, "the last lap")
        return Animation(model.body.drawn_mesh(), positions, fps=self.fps, skin=self.content.skin)

    # --- what is particular to bodies

    def begin_lap(self) -> None:
        if self.content.steer is not None and self.content.steer.reset is not None:
            self.content.steer.reset()

    def judged(self) -> bool | None:
        plan = self.content.steer
        if plan is None or plan.judge is None:
            return None
        return plan.judge(self.drive.step, self.body.vertices + self.reference.model.lift(self.drive.live.state[0]))

    def show(self, state: Array, twin: Array | None) -> None:
        beside = twin
        if beside is None:
            beside = self.reference.states[min(self.drive.step, self.reference.steps)]
        self.desk.show(self.drawing.at(state), frame=self.frame_shown, ghost=self.drawing.at(beside))

    def pulse(self, state: Array) -> dict[str, Any]:
        return pulse_told(self, state)

    def named(self, push: Made[int]) -> str:
        return called(self, push)

    def push_told(self, push: Made[int]) -> dict[str, Any]:
        return {"node": push.where, "name": self.content.named(push.where)}

    def outcome(self) -> dict[str, Any] | None:
        plan = self.content.steer
        return None if plan is None or plan.judge is None else {"text": plan.happens, "good": self.good}

    def selection(self) -> list[dict[str, Any]]:
        return [selected_told(self, node) for node in self.selected]

    def trails(self) -> list[dict[str, Any]]:
        return trails_told(self)

    def facts(self) -> dict[str, Any]:
        return {"model": f"{self.reference.model.size} coordinates"}

    def notes(self) -> list[str]:
        return [f"{note[0].upper()}{note[1:]}." for note in self.reference.notes]

    def wound(self, message: Message) -> Settings:
        return blown(self.settings, message)

    def blow(self, settings: Settings) -> None:
        winds = [Wind(strength=EARTH_GRAVITY * settings.wind, pace=settings.pace)] if settings.wind > 0 else []
        for live in self.bodies():
            live.blow(*winds)
