"""`edit`: least changes over space and time that put dragged vertices where they belong."""

from cajole.direct.editing.editor import Editor, EditReport, edit

__all__ = ["EditReport", "Editor", "edit"]
