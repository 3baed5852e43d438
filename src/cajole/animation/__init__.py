"""Vertex positions over time: the Animation, and the files it comes from and goes to."""

from __future__ import annotations

from cajole.animation.animation import Animation, require_animation
from cajole.animation.contact_search import find_contacts
from cajole.animation.contacts import Contacts
from cajole.animation.files import convert, read_animation, write_animation
from cajole.animation.summary import AnimationInfo, describe_file

__all__ = [
    "Animation",
    "AnimationInfo",
    "Contacts",
    "convert",
    "describe_file",
    "find_contacts",
    "read_animation",
    "require_animation",
    "write_animation",
]
