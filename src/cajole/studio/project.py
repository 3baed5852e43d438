"""One open project: what is open, the mode that is at work on it, its revision and its edit frame.

All of it happens on the solver's thread, but for the methods that say otherwise.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Mapping
from functools import partial
from typing import Any

from cajole.arrays import Array
from cajole.errors import CajoleError, FileError, InputError
from cajole.progress import Progress
from cajole.studio import take
from cajole.studio.answering import Clerk
from cajole.studio.content import Content
from cajole.studio.exporting import asked, export, handed
from cajole.studio.jobs import Jobs
from cajole.studio.keeping import Keeper, Start, summary
from cajole.studio.modes.base import Mode, Saved
from cajole.studio.opening import embodied
from cajole.studio.pipe import Pipe
from cajole.studio.protocol import MODES, Kind, encoded, failure, packed
from cajole.studio.shelf import Shelf
from cajole.studio.solver import Letter, Reply, Solver
from cajole.studio.tabs import Tabs
from cajole.studio.telling import frame_message, meshes, now_parts, project_message, state_head, zone_messages
from cajole.studio.verbs import first_possible, make_mode, require_possible

LOG = logging.getLogger("cajole.studio")


class Project:
    """Content, mode, revision and edit frame; a `Desk` for its mode and a `Worker` for its solver."""

    def __init__(self, start: Start, shelf: Shelf):
        self.id = start.record.id
        self.tabs = Tabs()
        self.jobs = Jobs(self.say, self._meanwhile)
        self._start, self._shelf, self._keeper = start, shelf, Keeper(shelf, start)
        self._content: Content | None = None
        self._mode: Mode | None = None
        self._rev, self._frame = 1, start.record.frame
        self._is_told = self._is_shown = True
        # what the tabs were last told of saving: whether all is saved, and why not
        self._told_saving: tuple[bool, str | None] | None = None
        self._failed: BaseException | None = None
        self._known: dict[str, Any] | None = None
        self._clerk = Clerk(self._done, self._save, self.jobs)
        self._solver = Solver(self, self.id)

    # --- from any thread

    @property
    def name(self) -> str:
        return self._keeper.record.name

    @property
    def is_saved(self) -> bool:
        """Whether all that was done is on the disk; what is not would be lost if the project were closed now."""
        return self._keeper.is_saved

    def start(self) -> None:
        """Open it."""
        self._solver.start()

    def attach(self, pipe: Pipe) -> None:
        """A tab looks in."""
        failed = self._failed
        self.tabs.add(pipe, first=self.jobs.present if failed is None else failure(failed))

    def post(self, message: Mapping[str, Any], reply: Reply) -> None:
        """Have a message handled in its turn; `reply` is given the answer. Raises InputError when too many wait."""
        self._solver.post(message, reply)

    def wake(self) -> None:
        """A tab wants frames, or has room for them."""
        self._solver.wake()

    def let_go(self) -> None:
        """The tab that changed things is gone: what it had in its hand goes back."""
        held = self._clerk.held()
        if held is not None:
            with contextlib.suppress(InputError):  # too many wait: the next gesture puts it back
                self.post(held, lambda answer: None)

    def close(self, *, patience: float | None = None) -> bool:
        """Cancel what is under way, keep what was done, and end the thread; whether it ended in time."""
        self.jobs.cancel()
        return self._solver.close(patience=patience)

    # --- for the mode: a Desk

    def say(self, message: Mapping[str, Any]) -> None:
        """A message to every tab; from any thread."""
        self.tabs.say(message)

    def show(self, positions: Array, *, frame: int, ghost: Array | None = None, seq: int = 0) -> None:
        """What the first view shows from now on, and perhaps what is seen beside it."""
        parts, extra = now_parts(positions, ghost, None if self._mode is None else self._mode.haze)
        rev = self._rev
        self.tabs.show(lambda n: packed(Kind.NOW, *parts, seq=n, frame=frame, rev=rev, extra=extra, flags=seq))
        self._is_shown = True
        if frame != self._frame:
            self._frame, self._is_told = frame, False

    def changed(self, label: str | None = None, *, motion: bool = True) -> None:
        """Something was done: the tabs are told, and it is kept."""
        self._rev += 1 if motion else 0
        self._is_told, self._known = False, None
        self._keeper.changed(label)

    def touched(self) -> None:
        """Frames differ from now on, though nothing is kept yet."""
        self._rev += 1

    def redraw(self) -> None:
        """What is drawn has other triangles: tabs are told anew what is open."""
        self._introduce()

    def colour(self) -> None:
        """Vertices belong to other regions: tabs are told which."""
        if self._mode is not None:
            self.tabs.colour(zone_messages(self._mode))

    def working(self, title: str, *, stoppable: bool = False) -> Progress:
        """A progress callback for long work; whoever asked for it is answered now, and hears of the job from now on."""
        progress = self.jobs.begin(title, stoppable=stoppable)
        self._clerk.answer_early()
        return progress

    def worked(self) -> None:
        """The work is done."""
        self.jobs.end("done")

    @property
    def job(self) -> str | None:
        """What the present work is called in messages."""
        present = self.jobs.present
        return None if present is None else str(present["job"])

    @property
    def stopped(self) -> bool:
        """Whether the author wants what the present work has so far."""
        return self.jobs.stopped

    # --- for the solver: a Worker

    def begin(self) -> None:
        """Open what the project starts from; where that fails, tabs are told why."""
        wanted = self._keeper.record.mode
        try:
            self._keeper.opened = self._start.content(self.working(f"Opening {self.name}"))
            self.worked()
            mode = first_possible(self._keeper.content(wanted), wanted)
            self._enter(mode, self._keeper.content(mode), self._keeper.saved(mode))
            if self._start.ready is not None:
                self._start.ready()
        except BaseException as error:
            self._fail(error)
        self._keeper.is_saved = self._failed is not None or not self._start.kept

    def handle(self, letter: Letter) -> None:
        self._known = None
        self._clerk.handle(letter)

    def tell(self) -> None:
        """Send the first view where it shows another frame, and the state where it has changed."""
        if self._mode is None:
            return
        if not self._is_shown:
            self._known = None
            self.show(self._mode.now(self._frame), frame=self._frame)
        self._save()
        self._tell_state(self._mode)

    def serve(self) -> bool:
        """Make one frame that a tab waits for; whether there was one."""
        return self._mode is not None and self.tabs.serve(partial(frame_message, self._mode, self._rev))

    def _meanwhile(self) -> bool:
        """Between two steps of a job: what it has changed so far is told, and frames go on."""
        if self._mode is not None:
            self._tell_state(self._mode)
        return self.serve()

    def due(self) -> float | None:
        """Until the mode goes on by itself, or a failed save is tried again."""
        if self._mode is None:
            return None
        return min((each for each in (self._mode.due(), self._keeper.due()) if each is not None), default=None)

    def tick(self) -> None:
        due = None if self._mode is None else self._mode.due()
        if self._mode is not None and due is not None and due <= 0.0:
            self._known = None
            self._mode.tick()

    def end(self) -> None:
        """Keep what was done, and let the mode go."""
        self._save(at_once=True)
        if not self._keeper.is_saved:
            LOG.error("%s was closed, but its last changes were not saved: %s", self.name, self._keeper.failure)
        self._keeper.close()
        if self._mode is not None:
            self._mode.close()

    # --- commands of every mode

    def _done(self, message: Mapping[str, Any]) -> Mapping[str, Any] | None:
        name, mode = message["do"], self._mode
        if mode is None:
            raise InputError(f"{self.name} could not be opened; close it and open something else")
        own = {"frame": self._go_to, "mode": self._switch, "rename": self._rename, "export": self._export}
        if name in own:
            return own[name](message, mode)
        if name not in mode.commands:
            raise InputError(f"{name} does nothing in {mode.name.capitalize()}; switch to the mode that it belongs to")
        return mode.commands[name](message)

    def _go_to(self, message: Mapping[str, Any], mode: Mode) -> None:
        self._frame = take.integer(message, "frame", 0, mode.frames - 1)
        self._is_shown = self._is_told = False

    def _rename(self, message: Mapping[str, Any], mode: Mode) -> None:
        self._keeper.rename(take.text(message, "name"))
        self._introduce()
        self.changed("rename", motion=False)

    def _switch(self, message: Mapping[str, Any], mode: Mode) -> None:
        wanted = take.one_of(message, "mode", MODES)
        self._remember(mode)
        if take.flag(message, "hand", False):
            content = handed(mode)
            require_possible(content, wanted)
            motion = self._keeper.motion(content)
            self._enter(wanted, content, None)
            self._keeper.hand(wanted, motion)
        else:
            self._enter(wanted, self._keeper.content(wanted), self._keeper.saved(wanted))
        mode.close()
        self.changed("go on" if "hand" in message else None)

    def _export(self, message: Mapping[str, Any], mode: Mode) -> Mapping[str, Any]:
        what, suffix = asked(message)
        if what == "project":
            self._keeper.is_saved = False
            if (reason := self._save(at_once=True)) is not None:
                raise FileError(reason)
        progress = self.working(f"Writing {self.name}.{suffix}")
        made = export(self._shelf, self.id, self.name, mode, what, suffix, progress)
        self.worked()
        self._clerk.tell({"is": "file", **made})
        return {"file": made}

    # --- inner workings

    def _enter(self, name: str, content: Content, saved: Saved | None) -> None:
        """Go to a mode; the present one stays where this fails."""
        content = embodied(content, name)
        mode = self._make_mode(name, content, saved)
        self._mode, self._content = mode, content
        self._frame, self._rev = min(self._frame, mode.frames - 1), self._rev + 1
        self._introduce()

    def _make_mode(self, name: str, content: Content, saved: Saved | None) -> Mode:
        """A mode that goes on where it was saved. Raises FileError where that cannot be understood."""
        try:
            return make_mode(name, self, content, saved)
        except CajoleError:
            raise
        except Exception as reason:
            if saved is None:
                raise
            LOG.exception("%s cannot be restored", name)
            raise FileError(
                f"what was saved of {name.capitalize()} is damaged ({type(reason).__name__}: {reason}); "
                "open another project"
            ) from reason

    def _introduce(self) -> None:
        """Every tab is told what is open, and draws it anew."""
        if self._content is not None and self._mode is not None:
            drawn = self._mode.drawn or self._content
            message = project_message(self.id, self.name, self._content, drawn)
            self.tabs.open([encoded(message), *meshes(drawn)])
            self.colour()
        self._is_shown = self._is_told = False

    def _state(self, mode: Mode) -> dict[str, Any]:
        if self._known is None:
            self._known = mode.state()
        head = state_head(mode, self._rev, self._frame)
        keeper = self._keeper
        return {**head, "unsaved": not keeper.is_saved, "unsaved_reason": keeper.failure, **self._known}

    def _tell_state(self, mode: Mode) -> None:
        """Send the state where it, or whether it is saved, has changed since the last time."""
        saving = self._keeper.is_saved, self._keeper.failure
        if not self._is_told or saving != self._told_saving:
            self._is_told, self._told_saving = True, saving
            self.say(self._state(mode))

    def _remember(self, mode: Mode) -> None:
        self._keeper.remember(mode.name, mode.saved(), self._frame, summary(self._state(mode)))

    def _save(self, *, at_once: bool = False) -> str | None:
        """Save what was done since the last time; why that failed, None where all is saved.

        What failed is tried again when it is due, after the next change, and with `at_once`. Until then the state and
        all answers say that it is not saved.
        """
        keeper, mode = self._keeper, self._mode
        if mode is None or keeper.is_saved or not (at_once or keeper.due() == 0.0):
            return None if keeper.is_saved else keeper.failure
        before = keeper.failure
        try:
            self._remember(mode)
            keeper.save()
        except Exception as error:  # whatever went wrong: it is not on the disk, and the author must know
            keeper.postpone(str(error) if isinstance(error, CajoleError) else failure(error)["text"])
            if not isinstance(error, CajoleError):
                LOG.exception("%s could not be saved", self.name)
        if keeper.failure is not None and before is None:
            self.say({"is": "notice", "tone": "err", "title": "Not saved", "text": keeper.failure})
        elif keeper.failure is None and before is not None:
            self.say({"is": "notice", "tone": "ok", "title": "Saved", "text": "All changes are on the disk now."})
        return keeper.failure

    def _fail(self, error: BaseException) -> None:
        self.jobs.end_with(error)
        self._failed = error
        if not isinstance(error, CajoleError):
            LOG.error("%s could not be opened", self.name, exc_info=error)
        self.say(failure(error))
