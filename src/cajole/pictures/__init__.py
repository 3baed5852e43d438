"""Pictures: stills, loops and strips of meshes, skins, animations and scenes in a virtual photo studio."""

from __future__ import annotations

from cajole.pictures.render import picture, strip
from cajole.pictures.renderable import Prop

__all__ = ["Prop", "picture", "strip"]
