"""`edit`: least changes over space and time that put dragged vertices where they belong."""

from cajole.direct.editing.editor import Editor
from cajole.direct.editing.files import load_edit, save_edit
from cajole.direct.editing.hand import Hand
from cajole.direct.editing.landing import Landing
from cajole.direct.editing.opening import edit
from cajole.direct.editing.report import EditReport

__all__ = ["EditReport", "Editor", "Hand", "Landing", "edit", "load_edit", "save_edit"]
