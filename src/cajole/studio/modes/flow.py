"""Steer, of a flow: particles that keep to their paths, live, while one blows into it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.direct import steer
from cajole.direct.steering.flow_live import FlowLive
from cajole.progress import Progress, report
from cajole.studio import take
from cajole.studio.content import Content, FlowPlan
from cajole.studio.flowing import RATE, ball_radius, balls
from cajole.studio.modes.base import Desk, Handler, Message, Saved
from cajole.studio.modes.driving import Course, Drive
from cajole.studio.modes.flow_kicks import Kicks, Point
from cajole.studio.modes.flow_settings import FlowSettings, blown, first_settings, restored
from cajole.studio.modes.flow_telling import Currents, facts_told, outcome_told, pulse_told, selected_told, trails_told
from cajole.studio.modes.pushing import Made
from cajole.studio.modes.steering import Steering

# Particles that are nearer to their places than this [cells] are where they should be.
HOLDS = 1.0


class FlowMode(Steering[FlowSettings, FlowLive, Point]):
    """A `FlowLive` in the studio. What is seen of it are its particles (N + k, 2) [m], flat."""

    chances: ClassVar[int] = 1  # a flow that overflowed stands at its start already
    at: ClassVar[str] = "at"
    share: ClassVar[str | None] = "of its momentum"
    whom: ClassVar[str] = "the particles"

    def __init__(self, desk: Desk, content: Content, kept: Saved | None = None):
        super().__init__(desk, content)
        assert content.flow is not None
        self.plan: FlowPlan = content.flow
        progress = desk.working("Preparing the flow")
        self.steered, self.count = self.plan.shot.particles.shape[1], self.plan.paths.shape[1]
        self.settings, self.ghost, self.pushes = first_settings(self.plan), "reference", Kicks(self)
        if kept is not None:
            flow = self.plan.shot.model.flow
            self.settings, self.ghost, self.selected, self.pushes.made = restored(kept, flow, self.count)
        report(progress, 0.2, "making the controller")
        controller = steer(self.plan.shot, **{**self.plan.dials, **self.settings.dials})
        live = controller.start(companions=self.plan.paths[0, self.steered :])
        self.currents = Currents(self.plan.shot)
        self._smokes: tuple[Array | None, Array | None] = None, None
        self.begin(Drive(live, self._course()))

    def _course(self) -> Course[FlowLive]:
        paths = self.plan.paths
        return Course(
            self.plan.shot.steps, 1, False, 1 / RATE, paths.reshape(len(paths), -1),
            lambda live: np.concatenate([live.particles, live.companions]).ravel(),
        )  # fmt: skip

    # --- what the project asks

    @property
    def commands(self) -> Mapping[str, Handler]:
        return {**super().commands, "smoke": self._smoke, "select": self._choose}

    @property
    def time(self) -> float:
        return self.drive.live.time / (self.plan.shot.dt * RATE)

    @property
    def haze(self) -> NDArray[np.uint8] | None:
        """Smoke (rows, columns) as bytes, between two steps as everything that is seen."""
        before, now = self._smokes
        if before is None or now is None:
            return None
        mixed = before + self.drive.share * (now - before)
        return np.rint(255 * np.clip(mixed, 0.0, 1.0)).astype(np.uint8).T

    def now(self, frame: int) -> Array:
        self.frame_shown = frame
        return self._drawn(self.drive.seen()[0])

    def frame(self, stream: str, frame: int) -> Array | None:
        drive = self.drive
        return self._drawn({"given": drive.course.states, "result": drive.path, "other": drive.other}[stream][frame])

    def animation(self, progress: Progress | None = None) -> Animation:
        """The balls of the last whole lap; before there is one, of their paths."""
        states = self.drive.course.states if self.drive.whole is None else self.drive.whole
        report(progress, 1.0, "the last lap")
        return Animation(self.content.mesh, self._drawn(states), fps=self.fps, skin=self.content.skin)

    # --- what is particular to flows

    def begin_lap(self) -> None:
        self._fill(self.settings.smoke)

    def stepped(self) -> None:
        self._smokes = self._smokes[1], self.drive.live.smoke

    def judged(self) -> bool | None:
        live = self.drive.live
        if live.astray:
            return False
        return True if live.cells.max(initial=0.0) <= HOLDS else None

    def show(self, state: Array, twin: Array | None) -> None:
        beside = self.reference_now(state) if twin is None else twin
        self.desk.show(self._drawn(state), frame=self.frame_shown, ghost=self._drawn(beside))

    def reference_now(self, state: Array) -> Array:
        """Where the particles should be (m,); those that nobody steers are where they are."""
        path, step, steered = self.plan.shot.particles, self.drive.step, 2 * self.steered
        before, now = path[max(step - 1, 0)], path[step]
        return np.concatenate([(before + self.drive.share * (now - before)).ravel(), state[steered:]])

    def pulse(self, state: Array) -> dict[str, Any]:
        return pulse_told(self)

    def named(self, push: Made[Point]) -> str:
        return f"{push.strength:.2g} m/s² at {push.where[0]:.0f}, {push.where[1]:.0f}"

    def push_told(self, push: Made[Point]) -> dict[str, Any]:
        x, y = push.where
        return {"node": None, "at": [x, 0.0, y], "name": f"{x:.0f}, {y:.0f}"}

    def outcome(self) -> dict[str, Any]:
        return outcome_told(self)

    def selection(self) -> list[dict[str, Any]]:
        return [selected_told(self, particle) for particle in self.selected]

    def trails(self) -> list[dict[str, Any]]:
        return trails_told(self)

    def facts(self) -> dict[str, Any]:
        return facts_told(self)

    def wound(self, message: Message) -> FlowSettings:
        return blown(self.settings, message)

    def blow(self, settings: FlowSettings) -> None:
        winds = [self.plan.noise(settings.seed, strength=settings.wind)] if settings.wind > 0 else []
        for live in self.bodies():
            live.blow(*winds)

    def apply(self, before: FlowSettings, new: FlowSettings) -> None:
        super().apply(before, new)
        if new.smoke != before.smoke:
            self._fill(new.smoke)

    def _smoke(self, message: Message) -> None:
        on = take.flag(message, "on")
        self.become(replace(self.settings, smoke=on), f"smoke {'on' if on else 'off'}")
        self.show(*self.drive.seen())

    def _choose(self, message: Message) -> None:
        self.selected = take.nodes(message, "nodes", self.count, least=0)
        self.desk.changed(motion=False)

    def _fill(self, on: bool) -> None:
        self.drive.live.fill(self.plan.smoke if on else None)
        self._smokes = self.drive.live.smoke, self.drive.live.smoke

    def _drawn(self, states: Array) -> Array:
        """Vertices (..., n, 3) [m] of particles (..., m) [m], flat."""
        return balls(states.reshape(*states.shape[:-1], -1, 2), ball_radius(self.plan.shot))
