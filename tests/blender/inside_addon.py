"""The add-on, installed in Blender as its author's computer has it."""

from __future__ import annotations

import importlib
from typing import Any

import bpy

PACKAGE = "bl_ext.user_default.cajole_studio"


def installed(addon: str, command: str = "cajole") -> Any:
    """The add-on from its file, enabled and told where the command is."""
    bpy.ops.extensions.package_install_files(filepath=addon, repo="user_default", enable_on_install=True)
    preferred().command = command
    return importlib.import_module(PACKAGE)


def preferred() -> Any:
    """Its preferences."""
    return bpy.context.preferences.addons[PACKAGE].preferences
