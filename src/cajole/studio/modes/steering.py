"""What steering a body and steering a flow have in common: real time, control, dials, pushes, laps, undo."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Generic, TypeVar

from cajole.arrays import Array
from cajole.errors import InputError, NotConverged
from cajole.studio import take
from cajole.studio.content import Content
from cajole.studio.modes.base import Desk, Handler, Message, Saved
from cajole.studio.modes.driving import Drive
from cajole.studio.modes.history import History, ModeUndo
from cajole.studio.modes.pushing import PushHandlers, Where, packed
from cajole.studio.modes.steer_settings import DIALS, GHOSTS, Settings, dialled
from cajole.studio.modes.steering_telling import Told, told

SPEEDS = (0.25, 0.5, 1.0, 2.0)
# [s] that the meter looks back; and after a push until the tabs are told how it went
REMEMBERED, RECOVERED = 7.0, 2.0
# [s] between two looks at the background while nothing moves
LOOK = 0.1

AnySettings = TypeVar("AnySettings", bound=Settings)
AnyLive = TypeVar("AnyLive", bound=Any)


class Steering(ModeUndo[AnySettings], Told[Where], Generic[AnySettings, AnyLive, Where]):
    """Something live that is steered. Whoever is one sets `settings`, `ghost` and `pushes`, then calls `begin`.

    chances: how often in a row it may be pushed too hard before it begins anew; at: what places of pushes are called;
    share: what the added force is a share of, where not of a weight; whom: what is brought back.
    """

    name = "steer"
    chances: ClassVar[int] = 2
    at: ClassVar[str] = "node"
    share: ClassVar[str | None] = None
    whom: ClassVar[str] = "the body"
    drive: Drive[AnyLive]
    settings: AnySettings
    pushes: PushHandlers[Where]
    ghost: str

    def __init__(self, desk: Desk, content: Content):
        self.desk, self.content, self.clock = desk, content, time.monotonic
        self.history: History[AnySettings] = History()
        self.selected: list[int] = []
        self.frame_shown = 0
        self.efforts: deque[tuple[float, float]] = deque()
        self.good: bool | None = None
        self.ms = 0.0
        self._failures, self._was_retuning, self._was_slow = 0, False, False
        self._tell_at: float | None = None

    def begin(self, drive: Drive[AnyLive]) -> None:
        """Go, under the settings that there are."""
        self.drive = drive
        self.begin_lap()
        self.apply(replace(self.settings, control=True, wind=0.0), self.settings)
        self.drive.with_twin(self.ghost == "uncontrolled")
        self.desk.worked()

    # --- what differs

    @abstractmethod
    def begin_lap(self) -> None:
        """The motion begins anew."""

    def stepped(self) -> None:
        """A step was made."""

    @abstractmethod
    def judged(self) -> bool | None:
        """Whether what must happen holds after the step that was made; None while it is open."""

    @abstractmethod
    def show(self, state: Array, twin: Array | None) -> None:
        """Show what is seen of the live one, and beside it the twin, else the reference."""

    @abstractmethod
    def wound(self, message: Message) -> AnySettings:
        """The settings with the wind that a message asks for."""

    @abstractmethod
    def blow(self, settings: AnySettings) -> None:
        """Let that wind blow."""

    # --- what the project asks

    @property
    def commands(self) -> Mapping[str, Handler]:
        return {
            **self.common,
            "dials": self._dial,
            "control": self._control,
            "wind": lambda message: self.become(self.wound(message), "set wind", join=True),
            "run": self._run,
            "restart": lambda _: self._restart(),
            "ghost": self._ghost,
            **self.pushes.commands,
        }

    @property
    def time(self) -> float:
        """[s] of the clock since the start, at speed 1."""
        return float(self.drive.live.time)

    @property
    def frames(self) -> int:
        return self.drive.frames

    @property
    def fps(self) -> float:
        return 1.0 / (self.drive.course.tick * self.drive.course.substeps)

    def state(self) -> dict[str, Any]:
        return told(self)

    def saved(self) -> Saved:
        document = {"settings": vars(self.settings), "pushes": packed(self.pushes.made, self.at), "ghost": self.ghost}
        return Saved({**document, "selected": list(self.selected)})

    def close(self) -> None:
        self.drive.live.close()

    def bodies(self) -> list[AnyLive]:
        """What is live and, where it has one, its twin."""
        return [live for live in (self.drive.live, self.drive.twin) if live is not None]

    # --- time

    def due(self) -> float | None:
        if self.drive.running:
            return self.drive.due(self.clock())
        return LOOK if self.drive.live.retuning or self._was_retuning else None

    def tick(self) -> None:
        """Go on to where the clock is, and show it."""
        begin, lap = time.perf_counter(), self.drive.lap
        owed = self.drive.owed(self.clock())
        if self.drive.lap != lap:  # the end was looked at for long enough
            self.begin_lap()
        self._advance(owed)
        self.pushes.grow_old()
        state, twin = self.drive.seen()
        if self.drive.running:
            self.show(state, twin)
            self.ms = 1e3 * (time.perf_counter() - begin)
            self.desk.say(self.pulse(state))
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
            if drive.course.loop:
                self.begin_lap()
            self.desk.changed(motion=True)
            steps = steps - done if drive.course.loop else 0

    def _stepped(self) -> None:
        """After every step: what it took is remembered, and whether what must happen did."""
        self.efforts.append((self.time, self.drive.live.gentleness))
        while self.efforts[0][0] < self.time - REMEMBERED:
            self.efforts.popleft()
        self.stepped()
        good = self.judged()
        if good != self.good:
            self.good = good
            self.desk.changed(motion=False)

    def _fail(self, error: NotConverged) -> None:
        """It stands where it was; when it cannot go on from there, it begins anew."""
        self.pushes.forget()
        self._failures += 1
        text, _, remedy = str(error).partition("; ")
        if self._failures < self.chances:
            said = f"{text}. It goes on from where it was; {remedy or 'push less'}."
        else:
            self._restart()
            said = f"{text}. It begins anew; {remedy or 'push less, or switch control on'}."
        self.desk.say({"is": "notice", "tone": "warn", "title": "Pushed too hard", "text": said})
        self.desk.changed(motion=False)

    def _tell_news(self) -> None:
        """What tabs do not see by themselves: that gains are ready, how a push ended, that the machine is slow."""
        retuning, slow = self.drive.live.retuning, self.drive.slow is not None
        due = self._tell_at is not None and self.time >= self._tell_at
        if retuning != self._was_retuning or slow != self._was_slow or due:
            self._tell_at = None if due else self._tell_at
            self._was_retuning, self._was_slow = retuning, slow
            self.desk.changed(motion=False)

    # --- what messages do

    def pushed(self) -> None:
        """A push was made: tabs are told at once, and again when its end is known."""
        self._tell_at = self.time + RECOVERED
        self.desk.changed(motion=False)

    def _dial(self, message: Message) -> None:
        names = " and ".join(name for name in DIALS if name in message)
        self.become(dialled(self.settings, message), f"set {names}", join=True)

    def _control(self, message: Message) -> None:
        on = take.flag(message, "on")
        self.become(replace(self.settings, control=on), f"control {'on' if on else 'off'}")

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
        self.pushes.let_go()
        self.drive.restart()
        self.begin_lap()
        self.good = None
        self.show(*self.drive.seen())
        self.desk.changed()

    def _ghost(self, message: Message) -> None:
        self.ghost = take.one_of(message, "of", GHOSTS)
        self.drive.with_twin(self.ghost == "uncontrolled")
        self.show(*self.drive.seen())
        self.desk.changed()

    # --- settings

    def become(self, new: AnySettings, label: str, *, join: bool = False) -> None:
        """One step of undo; join: it goes on what was just done under the same name, as a slider in the hand does."""
        before = self.settings
        if new == before:
            return
        self.apply(before, new)
        self.history.add(label, before, join=join)
        self.settings = new
        self.desk.changed(label, motion=False)

    def moment(self) -> AnySettings:
        return self.settings

    def return_to(self, moment: AnySettings) -> None:
        self.apply(self.settings, moment)
        self.settings = moment
        self.desk.changed(motion=False)

    def apply(self, before: AnySettings, new: AnySettings) -> None:
        """Have what is live follow other settings. Raises InputError for dials that `steer` refuses, before any
        change."""
        if new.dials != before.dials:
            self.drive.live.retune(**new.dials)
            self._was_retuning = True
        self.drive.live.controlled = new.control
        if new.weather != before.weather:
            self.blow(new)
