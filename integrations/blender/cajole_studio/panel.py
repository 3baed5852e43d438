"""Where the operators are found: a panel in the sidebar of the 3D view, and the export menu."""

from typing import Any

import bpy
from bpy.props import StringProperty

from .operators import PROJECT


class CAJOLE_preferences(bpy.types.AddonPreferences):
    """Where the studio is."""

    bl_idname = __package__

    command: StringProperty(
        name="Command",
        description="The cajole command, or the path of it, as pip install 'cajole[studio]' has put it somewhere",
        default="cajole",
        subtype="FILE_PATH",
    )
    address: StringProperty(
        name="Address",
        description="Of a studio that runs already, as cajole studio prints it; empty: start one",
    )

    def draw(self, context: Any) -> None:
        self.layout.prop(self, "command")
        self.layout.prop(self, "address")


class CAJOLE_PT_studio(bpy.types.Panel):
    """Cajole, in the sidebar."""

    bl_label = "Cajole Studio"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Cajole"

    def draw(self, context: Any) -> None:
        column = self.layout.column()
        column.operator("cajole.open", text="Open in Cajole Studio", icon="URL").mode = "edit"
        column.operator("cajole.open", text="Enrich in Cajole Studio", icon="MOD_CLOTH").mode = "enrich"
        thing = context.active_object
        if thing is not None and PROJECT in thing:
            column.separator()
            column.operator("cajole.bring_back", icon="IMPORT")
            column.operator("cajole.resume", icon="FILE_REFRESH")


def export_entry(self: Any, context: Any) -> None:
    """A line of File > Export."""
    self.layout.operator("cajole.export", text="Animated Mesh for Cajole (.npz, .pc2, .mdd)")


CLASSES = (CAJOLE_preferences, CAJOLE_PT_studio)
