"""One open project: its content, active mode, revision and edit frame.

All methods run on the solver thread, except those in the section "from any thread".
"""

from __future__ import annotations

import contextlib
import logging
from functools import partial

from msgspec.structs import replace

from cajole.arrays import Array
from cajole.checks import require_choice, require_integer
from cajole.errors import CajoleError, FileError, InputError
from cajole.progress import ProgressCallback
from cajole.studio.clients import ClientGroup, Outbox
from cajole.studio.content import ProjectContent
from cajole.studio.dispatcher import CommandDispatcher
from cajole.studio.export import get_export_formats, write_export
from cajole.studio.jobs import JobTracker
from cajole.studio.messages import Export, NoticeMessage, RenameProject, SetFrame, StateMessage, SwitchMode
from cajole.studio.mode_registry import (
    choose_mode,
    create_mode,
    get_modes,
    require_available,
    require_mode_name,
)
from cajole.studio.modes.base import ModeSnapshot, StudioMode
from cajole.studio.project_saver import ProjectSaver, ProjectStartup, summarise_state
from cajole.studio.project_store import ProjectStore
from cajole.studio.protocol import (
    Answer,
    BinaryKind,
    Command,
    ServerMessage,
    build_error,
    encode_message,
    pack_binary,
)
from cajole.studio.solver_thread import QueuedCommand, Reply, SolverThread
from cajole.studio.view_model import (
    build_project_message,
    collect_live_frame_arrays,
    encode_frame,
    encode_meshes,
    encode_region_labels,
)

LOG = logging.getLogger("cajole.studio")


class Project:
    """An open project; it is the `ModeHost` of its mode and the `SolverDelegate` of its thread."""

    def __init__(self, startup: ProjectStartup, store: ProjectStore):
        self.id = startup.record.id
        self.clients = ClientGroup()
        self.jobs = JobTracker(self.broadcast, self._on_job_progress)
        self._startup, self._store, self._saver = startup, store, ProjectSaver(store, startup)
        self._current_content: ProjectContent | None = None
        self._mode: StudioMode | None = None
        self._revision, self._frame = 1, startup.record.frame
        self._is_state_sent = self._is_view_sent = True
        # as the pages know it: whether everything is saved, and why not
        self._sent_save_status: tuple[bool, str | None] | None = None
        self._open_error: BaseException | None = None
        self._cached_mode_state: StateMessage | None = None
        self._dispatcher = CommandDispatcher(self._run_command, self._save, self.jobs)
        self._solver_thread = SolverThread(self, self.id)

    # --- from any thread

    @property
    def name(self) -> str:
        return self._saver.record.name

    @property
    def is_saved(self) -> bool:
        """True if all changes are on the disk."""
        return self._saver.is_saved

    def start(self) -> None:
        """Start the thread, which opens the content."""
        self._solver_thread.start()

    def attach(self, outbox: Outbox) -> None:
        """Add a page."""
        failed = self._open_error
        self.clients.add(outbox, first_message=self.jobs.current if failed is None else build_error(failed))

    def post(self, command: Command, reply: Reply) -> None:
        """Queue a command; `reply` is called with the answer. Raises InputError when too many wait."""
        self._solver_thread.post(command, reply)

    def wake(self) -> None:
        """A page requests frames, or has room for them."""
        self._solver_thread.wake()

    def cancel_active_drag(self) -> None:
        """Cancel the active gesture, because its page has disconnected or lost write access."""
        held = self._dispatcher.pop_pending_cancel()
        if held is not None:
            with contextlib.suppress(InputError):  # the queue is full: the next gesture cancels this one
                self.post(held, lambda answer: None)

    def close(self, *, timeout: float | None = None) -> bool:
        """Cancel the job, save, and end the thread; False if that takes longer than `timeout` [s]."""
        self.jobs.cancel()
        return self._solver_thread.close(timeout=timeout)

    # --- for the mode

    def broadcast(self, message: ServerMessage) -> None:
        """Send a message to every page; from any thread."""
        self.clients.broadcast(message)

    def show_live_frame(self, positions: Array, *, frame: int, ghost: Array | None = None, reply_seq: int = 0) -> None:
        """Send a live frame, with the ghost and the smoke where there are some."""
        parts, extra = collect_live_frame_arrays(
            positions, ghost, None if self._mode is None else self._mode.smoke_image
        )
        rev = self._revision
        self.clients.broadcast_live_frame(
            lambda n: pack_binary(
                BinaryKind.LIVE_FRAME, *parts, seq=n, frame=frame, revision=rev, extra=extra, flags=reply_seq
            )
        )
        self._is_view_sent = True
        if frame != self._frame:
            self._frame, self._is_state_sent = frame, False

    def record_change(self, label: str | None = None, *, frames_changed: bool = True) -> None:
        """Send the state and save. label: undo step; frames_changed: frames of an older revision are stale."""
        self._revision += 1 if frames_changed else 0
        self._is_state_sent, self._cached_mode_state = False, None
        self._saver.record_change(label)

    def invalidate_frames(self) -> None:
        """Make frames of older revisions stale without saving."""
        self._revision += 1

    def resend_geometry(self) -> None:
        """Send the project and its meshes again, because the triangles changed."""
        self._send_project()

    def resend_regions(self) -> None:
        """Send the region labels again."""
        if self._mode is not None:
            self.clients.broadcast_regions(encode_region_labels(self._mode))

    def begin_job(self, title: str, *, stoppable: bool = False) -> ProgressCallback:
        """Start a job, and answer the current command with its id; returns the progress callback."""
        progress = self.jobs.begin(title, stoppable=stoppable)
        self._dispatcher.reply_with_job()
        return progress

    def end_job(self) -> None:
        """End the job successfully."""
        self.jobs.end("done")

    @property
    def job_id(self) -> str | None:
        """Id of the running job."""
        present = self.jobs.current
        return None if present is None else present.job

    @property
    def has_stop_request(self) -> bool:
        """True if the user stopped the job and wants what it has so far."""
        return self.jobs.has_stop_request

    # --- for the solver thread

    def begin(self) -> None:
        """Open the content and the mode; if that fails, send the error."""
        wanted = self._saver.record.mode
        try:
            self._saver.source_content = self._startup.load_content(self.begin_job(f"Opening {self.name}"))
            self.end_job()
            mode = choose_mode(self._saver.get_content(wanted), wanted)
            self._enter_mode(mode, self._saver.get_content(mode), self._saver.get_snapshot(mode))
            if self._startup.on_opened is not None:
                self._startup.on_opened()
        except BaseException as error:
            self._report_open_error(error)
        self._saver.is_saved = self._open_error is not None or not self._startup.is_stored

    def handle(self, command: QueuedCommand) -> None:
        self._cached_mode_state = None
        self._dispatcher.handle(command)

    def send_updates(self) -> None:
        """Save, and send the live frame and the state if they changed."""
        if self._mode is None:
            return
        if not self._is_view_sent:
            self._cached_mode_state = None
            self.show_live_frame(self._mode.compute_live_vertices(self._frame), frame=self._frame)
        self._save()
        self._send_state_update(self._mode)

    def send_requested_frame(self) -> bool:
        """Compute one requested frame; False if there is none."""
        return self._mode is not None and self.clients.send_requested_frame(
            partial(encode_frame, self._mode, self._revision)
        )

    def _on_job_progress(self) -> bool:
        """Send changes of the running job so far and a requested frame."""
        if self._mode is not None:
            self._send_state_update(self._mode)
        return self.send_requested_frame()

    def get_tick_delay(self) -> float | None:
        """Seconds until the tick of the mode or the next attempt to save."""
        if self._mode is None:
            return None
        return min(
            (each for each in (self._mode.get_tick_delay(), self._saver.get_save_delay()) if each is not None),
            default=None,
        )

    def tick(self) -> None:
        due = None if self._mode is None else self._mode.get_tick_delay()
        if self._mode is not None and due is not None and due <= 0.0:
            self._cached_mode_state = None
            self._mode.tick()

    def end(self) -> None:
        """Save and close the mode."""
        self._save(force=True)
        if not self._saver.is_saved:
            LOG.error("%s was closed, but its last changes were not saved: %s", self.name, self._saver.save_error)
        self._saver.close()
        if self._mode is not None:
            self._mode.close()

    # --- commands of every mode

    def _run_command(self, command: Command) -> Answer | None:
        mode = self._mode
        if mode is None:
            raise InputError(f"{self.name} could not be opened; close it and open something else")
        match command:
            case SetFrame():
                self._frame = require_integer(command.frame, "frame of frame", minimum=0, maximum=mode.frames - 1)
                self._is_view_sent = self._is_state_sent = False
            case RenameProject():
                self._saver.rename(command.name_.strip())
                self._send_project()
                self.record_change("rename", frames_changed=False)
            case SwitchMode():
                self._switch_mode(command, mode)
            case Export():
                self._export(command, mode)
            case _ if type(command) in mode.commands:
                return mode.commands[type(command)](command)
            case _:
                title = mode.name.capitalize()
                raise InputError(f"{command.name} does nothing in {title}; switch to the mode that it belongs to")
        return None

    def _switch_mode(self, command: SwitchMode, mode: StudioMode) -> None:
        wanted = require_mode_name(command.mode, "mode of mode")
        self._record_mode(mode)
        if command.hand:
            content = mode.export_content()
            require_available(content, wanted)
            motion = self._saver.write_motion(content)
            self._enter_mode(wanted, content, None)
            self._saver.assign_motion(wanted, motion)
        else:
            self._enter_mode(wanted, self._saver.get_content(wanted), self._saver.get_snapshot(wanted))
        mode.close()
        self.record_change("go on" if command.hand else None)

    def _export(self, command: Export, mode: StudioMode) -> None:
        formats = get_export_formats()
        require_choice(command.what, "what of export", tuple(formats))
        require_choice(command.format, "format of export", formats[command.what])
        if command.what == "project":
            self._saver.is_saved = False
            if (reason := self._save(force=True)) is not None:
                raise FileError(reason)
        progress = self.begin_job(f"Writing {self.name}.{command.format}")
        made = write_export(self._store, self.id, self.name, mode, command, progress)
        self.end_job()
        self._dispatcher.send_to_sender(made)

    # --- inner workings

    def _enter_mode(self, name: str, content: ProjectContent, snapshot: ModeSnapshot | None) -> None:
        """Make a mode the active one; if that fails, the present one stays."""
        content = get_modes()[name].prepare_content(content)
        mode = self._create_mode(name, content, snapshot)
        self._mode, self._current_content = mode, content
        self._frame, self._revision = min(self._frame, mode.frames - 1), self._revision + 1
        self._send_project()

    def _create_mode(self, name: str, content: ProjectContent, snapshot: ModeSnapshot | None) -> StudioMode:
        """Create a mode. Raises FileError for a damaged snapshot."""
        try:
            return create_mode(name, self, content, snapshot)
        except CajoleError:
            raise
        except Exception as reason:
            if snapshot is None:
                raise
            LOG.exception("%s cannot be restored", name)
            raise FileError(
                f"what was saved of {name.capitalize()} is damaged ({type(reason).__name__}: {reason}); "
                "open another project"
            ) from reason

    def _send_project(self) -> None:
        """Send the project and its meshes to every page."""
        if self._current_content is not None and self._mode is not None:
            drawn = self._mode.drawn_content or self._current_content
            message = build_project_message(self.id, self.name, self._current_content, drawn)
            self.clients.broadcast_project([encode_message(message), *encode_meshes(drawn)])
            self.resend_regions()
        self._is_view_sent = self._is_state_sent = False

    def _build_state(self, mode: StudioMode) -> StateMessage:
        if self._cached_mode_state is None:
            self._cached_mode_state = mode.build_state()
        return replace(
            self._cached_mode_state,
            rev=self._revision,
            mode=mode.name,
            frame=self._frame,
            frames=mode.frames,
            fps=mode.fps,
            unsaved=not self._saver.is_saved,
            unsaved_reason=self._saver.save_error,
        )

    def _send_state_update(self, mode: StudioMode) -> None:
        """Send the state if it, or whether it is saved, has changed."""
        saving = self._saver.is_saved, self._saver.save_error
        if not self._is_state_sent or saving != self._sent_save_status:
            self._is_state_sent, self._sent_save_status = True, saving
            self.broadcast(self._build_state(mode))

    def _record_mode(self, mode: StudioMode) -> None:
        self._saver.record_mode(
            mode.name, mode.create_snapshot(), self._frame, summarise_state(self._build_state(mode))
        )

    def _save(self, *, force: bool = False) -> str | None:
        """Save all changes; return why that failed, None if everything is saved.

        A failed save is repeated when it is due, after the next change, and with `force`. Until then the state and all
        answers tell that changes are not saved.
        """
        keeper, mode = self._saver, self._mode
        if mode is None or keeper.is_saved or not (force or keeper.get_save_delay() == 0.0):
            return None if keeper.is_saved else keeper.save_error
        before = keeper.save_error
        try:
            self._record_mode(mode)
            keeper.save()
        except Exception as error:  # whatever the reason: the user must know that it is not on the disk
            keeper.schedule_retry(str(error) if isinstance(error, CajoleError) else build_error(error).text)
            if not isinstance(error, CajoleError):
                LOG.exception("%s could not be saved", self.name)
        if keeper.save_error is not None and before is None:
            self.broadcast(NoticeMessage(tone="err", title="Not saved", text=keeper.save_error))
        elif keeper.save_error is None and before is not None:
            self.broadcast(NoticeMessage(tone="ok", title="Saved", text="All changes are on the disk now."))
        return keeper.save_error

    def _report_open_error(self, error: BaseException) -> None:
        self.jobs.end_with_error(error)
        self._open_error = error
        if not isinstance(error, CajoleError):
            LOG.error("%s could not be opened", self.name, exc_info=error)
        self.broadcast(build_error(error))
