"""A motion that one mode gives to the next, kept beside the project so that it is there when it is opened again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from cajole.animation import read_animation
from cajole.storage import content_hash
from cajole.studio.content import Content, EditPlan
from cajole.studio.exporting import motion_of
from cajole.studio.shelf import Shelf


def keep_motion(shelf: Shelf, project: str, content: Content) -> str:
    """Write the motion of `content` beside the project; the name of the file. Raises FileError."""
    motion = motion_of(content)
    digest = content_hash(np.ascontiguousarray(motion.positions), motion.fps, motion.mesh.content)
    path = shelf.place(project) / f"given-{digest}.npz"
    if not path.is_file():
        motion.write(path)
    return path.name


def with_motion(content: Content, path: Path) -> Content:
    """The same body with the motion of a file. Raises FileError.

    What the scene planned was for its own motion, and goes.
    """
    motion = read_animation(path)
    return replace(content, animation=motion, shot=None, steer=None, edit=EditPlan())
