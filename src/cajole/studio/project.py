"""One open project: what is open, the mode that is at work on it, its revision and its edit frame.

All of it happens on the solver's thread, but for the methods that say otherwise.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.errors import CajoleError, Cancelled, FileError, InputError
from cajole.progress import Progress
from cajole.studio import take
from cajole.studio.content import Content
from cajole.studio.exporting import RESULT_FORMATS, WHAT, export, handed
from cajole.studio.handing import keep_motion, with_motion
from cajole.studio.jobs import Jobs
from cajole.studio.modes.base import Mode, Saved
from cajole.studio.opening import embodied
from cajole.studio.pipe import Pipe
from cajole.studio.protocol import MODES, STREAM_KINDS, Kind, encoded, failure, id_of, packed, single
from cajole.studio.shelf import Record, Shelf
from cajole.studio.solver import Letter, Reply, Solver
from cajole.studio.tabs import Tabs
from cajole.studio.telling import meshes, project_message
from cajole.studio.verbs import first_possible, make_mode, require_possible

Array = NDArray[np.float64]
LOG = logging.getLogger("cajole.studio")


@dataclass(frozen=True, eq=False)
class Start:
    """How a project begins: what it was kept as, and what opens what it was made of.

    kept: whether it is on the shelf from the start, or only once something was done in it; ready: called once it is
    open, with its content.
    """

    record: Record
    content: Callable[[Progress], Content]
    kept: bool = False
    ready: Callable[[Content], None] | None = None


class Project:
    """Content, mode, revision and edit frame; a `Desk` for its mode and a `Worker` for its solver."""

    def __init__(self, start: Start, shelf: Shelf):
        self.id = start.record.id
        self.tabs = Tabs()
        self.jobs = Jobs(self.say, self._meanwhile)
        self._start, self._shelf, self._record = start, shelf, start.record
        self._base: Content | None = None
        self._content: Content | None = None
        self._mode: Mode | None = None
        self._rev, self._frame = 1, start.record.frame
        self._is_told = self._is_shown = self._is_saved = True
        self._failed: BaseException | None = None
        self._solver = Solver(self, self.id)

    # --- from any thread

    @property
    def name(self) -> str:
        return self._record.name

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

    def close(self, *, patience: float | None = None) -> bool:
        """Cancel what is under way, keep what was done, and end the thread; whether it ended in time."""
        self.jobs.cancel()
        return self._solver.close(patience=patience)

    # --- for the mode: a Desk

    def say(self, message: Mapping[str, Any]) -> None:
        """A message to every tab; from any thread."""
        self.tabs.say(message)

    def show(self, positions: Array, *, frame: int) -> None:
        """What the first view shows from now on."""
        rounded = single(positions)
        self.tabs.show(lambda seq: packed(Kind.NOW, rounded, seq=seq, frame=frame, rev=self._rev))
        self._is_shown = True
        if frame != self._frame:
            self._frame, self._is_told = frame, False

    def changed(self, label: str | None = None, *, motion: bool = True) -> None:
        """Something was done: the tabs are told, and it is kept."""
        self._rev += 1 if motion else 0
        self._is_told = self._is_saved = False

    def touched(self) -> None:
        """Frames differ from now on, though nothing is kept yet."""
        self._rev += 1

    def working(self, title: str, *, stoppable: bool = False) -> Progress:
        """A progress callback for long work."""
        return self.jobs.begin(title, stoppable=stoppable)

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
        record = self._record
        try:
            self._base = self._start.content(self.working(f"Opening {self.name}"))
            self.worked()
            mode = first_possible(self._content_of(record.mode), record.mode)
            self._enter(mode, self._content_of(mode), record.modes.get(mode))
            if self._start.ready is not None:
                self._start.ready(self._base)
        except BaseException as error:
            self._fail(error)
        self._is_saved = self._failed is not None or not self._start.kept

    def handle(self, letter: Letter) -> None:
        """Do what a message says; what was done is kept before it is answered."""
        try:
            answer = dict(self._done(letter.message) or {})
            self.jobs.end("done")
        except Cancelled as error:
            self.jobs.end_with(error)
            answer = {"cancelled": True}
        except Exception as error:
            self.jobs.end_with(error)
            if not isinstance(error, CajoleError):
                LOG.exception("%s failed", letter.message.get("do"))
            answer = failure(error, id_of(letter.message))
        self._save()
        letter.reply(answer)

    def tell(self) -> None:
        """Send the first view where it shows another frame, and the state where it has changed."""
        if self._mode is None:
            return
        if not self._is_shown:
            self.show(self._mode.now(self._frame), frame=self._frame)
        if not self._is_told:
            self._is_told = True
            self.say(self._state(self._mode))
        self._save()

    def serve(self) -> bool:
        """Make one frame that a tab waits for; whether there was one."""
        mode = self._mode
        for pipe in self.tabs.listed() if mode is not None else ():
            wanted = pipe.next_wanted()
            if wanted is None or mode is None:
                continue
            stream, frame = wanted
            positions = mode.frame(stream, frame) if frame < mode.frames else None
            if positions is not None:
                pipe.frame(packed(STREAM_KINDS[stream], single(positions), frame=frame, rev=self._rev))
            return True
        return False

    def _meanwhile(self) -> bool:
        """Between two steps of a job: what it has changed so far is told, and frames go on."""
        if self._mode is not None and not self._is_told:
            self._is_told = True
            self.say(self._state(self._mode))
        return self.serve()

    def due(self) -> float | None:
        return None if self._mode is None else self._mode.due()

    def tick(self) -> None:
        if self._mode is not None:
            self._mode.tick()

    def end(self) -> None:
        """Keep what was done, and let the mode go."""
        self._save()
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
        self._record = replace(self._record, name=take.text(message, "name"))
        self._introduce()
        self.changed(None, motion=False)

    def _switch(self, message: Mapping[str, Any], mode: Mode) -> None:
        wanted = take.one_of(message, "mode", MODES)
        self._remember()
        saved, given = self._record.modes.get(wanted), dict(self._record.given)
        if take.flag(message, "hand", False):
            content, saved = handed(mode), None
            require_possible(content, wanted)
            given[wanted] = keep_motion(self._shelf, self.id, content)
        else:
            content = self._content_of(wanted)
        self._enter(wanted, content, saved)
        self._record = replace(self._record, given=given)
        mode.close()
        self.changed(None)

    def _export(self, message: Mapping[str, Any], mode: Mode) -> Mapping[str, Any]:
        what = take.one_of(message, "what", WHAT)
        formats = {"result": RESULT_FORMATS, "edit": ("json",), "project": ("cajole",)}[what]
        suffix = take.one_of(message, "format", formats)
        if what == "project":
            self._is_saved = False
            self._save()
        progress = self.working(f"Writing {self.name}.{suffix}")
        number, path = export(self._shelf, self.id, self.name, mode, what, suffix, progress)
        self.worked()
        made = {"id": number, "name": path.name, "url": f"/download/{number}", "bytes": path.stat().st_size}
        self.say({"is": "file", **made})
        return {"file": made}

    # --- inner workings

    def _enter(self, name: str, content: Content, saved: Saved | None) -> None:
        """Go to a mode; the present one stays where this fails."""
        content = embodied(content, name)
        mode = make_mode(name, self, content, saved)
        self._mode, self._content, self._record = mode, content, replace(self._record, mode=name)
        self._frame, self._rev = min(self._frame, mode.frames - 1), self._rev + 1
        self._introduce()

    def _introduce(self) -> None:
        """Every tab is told what is open, and draws it anew."""
        if self._content is not None:
            message = project_message(self.id, self.name, self._content)
            self.tabs.open([encoded(message), *meshes(self._content)])
        self._is_shown = self._is_told = False

    def _content_of(self, mode: str) -> Content:
        """What a mode works on: what was opened, with the motion that was handed to it, if one was."""
        if self._base is None:
            raise InputError(f"{self.name} is not open")
        given = self._record.given.get(mode)
        return self._base if given is None else with_motion(self._base, self._shelf.place(self.id) / given)

    def _state(self, mode: Mode) -> dict[str, Any]:
        return {
            "is": "state",
            "rev": self._rev,
            "mode": mode.name,
            "frame": self._frame,
            "frames": mode.frames,
            "fps": mode.fps,
            "unsaved": not self._is_saved,
            **mode.state(),
        }

    def _remember(self) -> None:
        """Have the record say what the mode would need to go on."""
        if self._mode is None:
            return
        modes = {**self._record.modes, self._mode.name: self._mode.saved()}
        said = summary(self._mode.state())
        self._record = replace(self._record, modes=modes, frame=self._frame, text=said, when=time.time())

    def _save(self) -> None:
        """Keep what was done since the last time; where that fails the author is told, and it is tried again later."""
        if self._is_saved or self._mode is None:
            return
        self._is_saved = True
        try:
            self._remember()
            self._shelf.save(self._record)
        except FileError as error:
            said = failure(error)
            self.say({"is": "notice", "tone": "err", "title": "Not saved", "text": f"{said['text']}"})

    def _fail(self, error: BaseException) -> None:
        self.jobs.end_with(error)
        self._failed = error
        if not isinstance(error, CajoleError):
            LOG.error("%s could not be opened", self.name, exc_info=error)
        self.say(failure(error))


def summary(state: Mapping[str, Any]) -> str:
    """A project in two words, as a list shows it: "3 drags"."""
    lanes = state.get("lanes") or [{"name": "", "markers": []}]
    count, name = len(lanes[0]["markers"]), str(lanes[0]["name"]).lower()
    return f"{count} {name if count != 1 else name.removesuffix('s')}" if count else ""
