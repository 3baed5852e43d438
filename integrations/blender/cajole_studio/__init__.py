"""Cajole Studio in Blender: select an animated mesh, edit its motion in the browser, bring it back."""

from __future__ import annotations

import bpy

from . import operators, panel, server

_CLASSES = (*operators.OPERATORS, *panel.CLASSES)


def register() -> None:
    """Blender calls this when the add-on is enabled."""
    for each in _CLASSES:
        bpy.utils.register_class(each)
    bpy.types.TOPBAR_MT_file_export.append(panel.export_entry)


def unregister() -> None:
    """And this when it is disabled: the studio that was started here ends."""
    bpy.types.TOPBAR_MT_file_export.remove(panel.export_entry)
    for each in reversed(_CLASSES):
        bpy.utils.unregister_class(each)
    server.stop()
