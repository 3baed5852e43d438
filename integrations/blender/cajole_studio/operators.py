"""What the author does in Blender: open a mesh in the studio, go on there, bring its result back, write a cache."""

import re
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty
from bpy_extras.io_utils import ExportHelper

from .caches import WRITERS, CacheError, read_npz, write_npz
from .client import Studio, StudioError
from .scene import attached, taken
from .server import studio

# of an object, kept in the .blend file: the project of the studio that it went to
PROJECT = "cajole_project"
# [s] between two looks at work beside Blender's window
_GLANCE = 0.1
_TROUBLE = (CacheError, StudioError)


def preferences() -> tuple[str, str]:
    """The command that starts a studio, and the address of one that runs already, else nothing."""
    found = bpy.context.preferences.addons.get(__package__)
    return (found.preferences.command, found.preferences.address) if found else ("cajole", "")


class _Beside:
    """An operator that talks to the studio on a thread, so that Blender's window lives on.

    `begin` and `finish` run where Blender's data may be touched, `talk` does not; called by a script, all run at once.
    """

    _thread: threading.Thread | None = None
    _timer: Any = None

    def invoke(self, context: Any, event: Any) -> set[str]:
        if context.window is None:  # nothing that a wait could freeze
            return self.execute(context)
        try:
            talk = self.begin(context)
        except _TROUBLE as trouble:
            return self._refused(trouble)
        self._result: Any = None
        self._thread = threading.Thread(target=self._talk, args=(talk,), daemon=True)
        self._thread.start()
        self._timer = context.window_manager.event_timer_add(_GLANCE, window=context.window)
        context.window_manager.modal_handler_add(self)
        context.workspace.status_text_set("Cajole Studio is at work …")
        return {"RUNNING_MODAL"}

    def modal(self, context: Any, event: Any) -> set[str]:
        if self._thread is not None and self._thread.is_alive():
            return {"PASS_THROUGH"}
        self.cancel(context)
        return self._ended(context, self._result)

    def cancel(self, context: Any) -> None:
        """Blender calls this when it loads another file meanwhile."""
        context.window_manager.event_timer_remove(self._timer)
        context.workspace.status_text_set(None)

    def execute(self, context: Any) -> set[str]:
        try:
            talk = self.begin(context)
        except _TROUBLE as trouble:
            return self._refused(trouble)
        self._talk(talk)
        return self._ended(context, self._result)

    def _talk(self, talk: Callable[[], Any]) -> None:
        try:
            self._result = talk()
        except Exception as trouble:
            self._result = trouble

    def _ended(self, context: Any, result: Any) -> set[str]:
        if isinstance(result, Exception):
            return self._refused(result)
        try:
            self.finish(context, result)
        except ReferenceError:
            return self._refused(StudioError("the mesh was removed meanwhile; open it again"))
        except _TROUBLE as trouble:
            return self._refused(trouble)
        return {"FINISHED"}

    def _refused(self, trouble: Exception) -> set[str]:
        known = isinstance(trouble, _TROUBLE)
        self.report({"ERROR"}, str(trouble) if known else f"something unexpected went wrong: {trouble!r}")
        return {"CANCELLED"}


class CAJOLE_OT_open(_Beside, bpy.types.Operator):
    """Send the animated mesh to Cajole Studio, and open it there in the browser"""

    bl_idname = "cajole.open"
    bl_label = "Open in Cajole Studio"
    bl_options = {"REGISTER"}

    mode: EnumProperty(
        name="Mode",
        items=[
            ("edit", "Edit", "Drag vertices, and the whole motion follows"),
            ("enrich", "Enrich", "Make it a thin shell that follows the motion and folds"),
        ],
    )
    browser: BoolProperty(name="Open the browser", default=True)

    @classmethod
    def poll(cls, context: Any) -> bool:
        return _mesh(context) is not None

    def begin(self, context: Any) -> Callable[[], tuple[Studio, str]]:
        self._thing, (command, address), mode = _mesh(context), preferences(), self.mode
        window = context.window_manager
        window.progress_begin(0, 100)
        try:
            motion = taken(self._thing, context.scene, lambda share: window.progress_update(round(100 * share)))
        finally:
            window.progress_end()

        def talk() -> tuple[Studio, str]:
            with tempfile.TemporaryDirectory(prefix="cajole-") as folder:
                path = Path(folder) / f"{_plain(motion.name)}.npz"
                write_npz(path, motion)
                found = studio(command, address)
                return found, found.open(upload=found.upload(path, mode), mode=mode)

        return talk

    def finish(self, context: Any, result: tuple[Studio, str]) -> None:
        found, self._thing[PROJECT] = result
        if self.browser:
            bpy.ops.wm.url_open(url=found.address.url)
        self.report({"INFO"}, f"{self._thing.name} is open in Cajole Studio")


class CAJOLE_OT_resume(_Beside, bpy.types.Operator):
    """Open the studio's project of this mesh again, as it was left"""

    bl_idname = "cajole.resume"
    bl_label = "Go On in Cajole Studio"
    bl_options = {"REGISTER"}

    browser: BoolProperty(name="Open the browser", default=True)

    @classmethod
    def poll(cls, context: Any) -> bool:
        return _project(context) is not None

    def begin(self, context: Any) -> Callable[[], Studio]:
        project, (command, address) = _project(context), preferences()

        def talk() -> Studio:
            found = studio(command, address)
            found.open(project=project)
            return found

        return talk

    def finish(self, context: Any, result: Studio) -> None:
        if self.browser:
            bpy.ops.wm.url_open(url=result.address.url)


class CAJOLE_OT_bring_back(_Beside, bpy.types.Operator):
    """Fetch the motion that the studio has made of this mesh, as a point cache"""

    bl_idname = "cajole.bring_back"
    bl_label = "Bring Back"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: Any) -> bool:
        return _project(context) is not None

    def begin(self, context: Any) -> Callable[[], Any]:
        self._thing, project, (command, address) = _mesh(context), _project(context), preferences()

        def talk() -> Any:
            with tempfile.TemporaryDirectory(prefix="cajole-") as folder:
                path = Path(folder) / "result.npz"
                studio(command, address).result(project, path)
                return read_npz(path)

        return talk

    def finish(self, context: Any, result: Any) -> None:
        name = f"{_plain(self._thing.name)}-{self._thing[PROJECT]}.pc2"
        made = attached(self._thing, context.scene, result, cache_folder() / name)
        self.report({"INFO"}, f"{made.name} now does what was made of it in Cajole Studio")


class CAJOLE_OT_export(bpy.types.Operator, ExportHelper):
    """Write what the active mesh does over the frames of the scene: .npz for Cajole, .pc2 or .mdd with its mesh"""

    bl_idname = "cajole.export"
    bl_label = "Export Animated Mesh for Cajole"

    filename_ext = ""
    filter_glob: StringProperty(default="*.npz;*.pc2;*.mdd", options={"HIDDEN"})

    @classmethod
    def poll(cls, context: Any) -> bool:
        return _mesh(context) is not None

    def check(self, context: Any) -> bool:
        """The name is taken as it is typed."""
        return False

    def execute(self, context: Any) -> set[str]:
        path = Path(self.filepath)
        path = path if path.suffix.lower() in WRITERS else path.with_name(f"{path.name}.npz")
        try:
            WRITERS[path.suffix.lower()](path, taken(_mesh(context), context.scene))
        except CacheError as trouble:
            self.report({"ERROR"}, str(trouble))
            return {"CANCELLED"}
        self.report({"INFO"}, f"{path} is written")
        return {"FINISHED"}


def cache_folder() -> Path:
    """Beside the .blend file; before that is saved, in the user's own folder, which outlives the session."""
    if bpy.data.filepath:
        return Path(bpy.path.abspath("//")) / "cajole_cache"
    return Path(bpy.utils.user_resource("DATAFILES", path="cajole_cache", create=True))


def _mesh(context: Any) -> Any:
    thing = context.active_object
    return thing if thing is not None and thing.type == "MESH" and thing.mode == "OBJECT" else None


def _project(context: Any) -> str | None:
    thing = _mesh(context)
    found = None if thing is None else thing.get(PROJECT)
    return found if isinstance(found, str) else None


def _plain(name: str) -> str:
    """A name that every system takes for a file."""
    return re.sub(r"[^\w-]+", "_", name).strip("_") or "mesh"


OPERATORS = (CAJOLE_OT_open, CAJOLE_OT_resume, CAJOLE_OT_bring_back, CAJOLE_OT_export)
