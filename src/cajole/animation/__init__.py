"""Vertex positions over time: the Animation, and the files it comes from and goes to."""

from __future__ import annotations

from cajole.animation.animation import Animation
from cajole.animation.contacts import Contacts

__all__ = ["Animation", "Contacts"]
