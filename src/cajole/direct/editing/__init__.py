"""`edit`: least changes over space and time that put dragged vertices where they belong."""

from cajole.direct.editing.editor import DragSession, Editor
from cajole.direct.editing.reach import DragResult, TargetError
from cajole.direct.editing.report import EditReport
from cajole.direct.editing.serialization import load_edit, save_edit
from cajole.direct.editing.setup import edit

__all__ = ["DragResult", "DragSession", "EditReport", "Editor", "TargetError", "edit", "load_edit", "save_edit"]
