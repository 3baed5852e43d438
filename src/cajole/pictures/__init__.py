"""Pictures: stills, loops and strips of meshes, skins, animations and scenes in a small studio."""

from __future__ import annotations

from cajole.pictures.props import Prop
from cajole.pictures.render import picture, strip

__all__ = ["Prop", "picture", "strip"]
