"""Vertex positions over time: the Animation, and the files it comes from and goes to."""

from __future__ import annotations

from cajole.animation.animation import Animation, animation_of
from cajole.animation.contacts import Contacts
from cajole.animation.files import convert, read_animation, write_animation
from cajole.animation.summary import AnimationInfo, info
from cajole.animation.touching import find_contacts

__all__ = [
    "Animation",
    "AnimationInfo",
    "Contacts",
    "animation_of",
    "convert",
    "find_contacts",
    "info",
    "read_animation",
    "write_animation",
]
