"""Sectional images on the command line of `cajole reroute`: files of one stream, when and where they were taken."""

from __future__ import annotations

import glob
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.animation import Animation
from cajole.checks import OptionalPackage
from cajole.cli.numbers import number, vector
from cajole.direct.rerouting import Goal, Section, goals_from_images
from cajole.direct.rerouting.contours import SCIKIT_IMAGE
from cajole.errors import FileError, InputError
from cajole.storage import READ_ERRORS, open_regular, read_array

SUFFIXES = (".png", ".npy")
PILLOW = OptionalPackage(("PIL",), "pillow", "viz", "images as .png")
# greys as Pillow calls them
GREY = ("1", "L", "I", "F", "I;16", "I;16B", "I;16L")
FORM = 'ORIGIN:RIGHT:UP:PIXEL, as in "-0.06,0,0.06:1,0,0:0,0,1:0.001"'


@dataclass(frozen=True)
class Stream:
    """What --images, --at, --section and the rest say; where: a folder or a pattern of .png or .npy files."""

    where: str | None
    at: str | None
    section: str | None
    align: str | None
    level: float | None
    every: int | None

    def require_packages(self) -> None:
        """Raise MissingExtra if packages that read the images and find their contours are missing."""
        if self.where is not None:
            SCIKIT_IMAGE.require()
            if any(path.suffix.lower() == ".png" for path in files(self.where)):
                PILLOW.require()

    def goals(self, pilot: Animation, window: int | None) -> list[Goal]:
        """Where vertices must be so that the body's section looks as in the images; none without images.

        Raises InputError, FileError.
        """
        if self.where is None:
            for name in ("at", "section", "align", "level", "every"):
                if getattr(self, name) is not None:
                    raise InputError(f"--{name} is about images; say where they are with --images")
            return []
        paths = files(self.where)
        frames = _frames(self.at, paths)
        images = [read(path) for path in paths]
        try:
            said = {"every": self.every, "align": self.align, "level": self.level, "window": window}
            chosen: dict[str, Any] = {name: value for name, value in said.items() if value is not None}
            asked = goals_from_images(pilot, images, frames, _section(self.section), **chosen)
        except InputError as reason:
            raise InputError(_named(str(reason), paths)) from None
        return list(asked.goals)


def files(where: str) -> list[Path]:
    """The images of a folder or a pattern, in the order of the numbers in their names."""
    found = [Path(where) / "*"] if Path(where).is_dir() else [Path(where)]
    paths = [Path(path) for pattern in found for path in glob.glob(str(pattern))]
    images = sorted((path for path in paths if path.suffix.lower() in SUFFIXES), key=_natural)
    if not images:
        raise FileError(f"--images {where}: no .png or .npy file is there; give a folder, or a pattern in quotes")
    return images


def read(path: Path) -> NDArray[Any]:
    """One grey image (height, width). Raises FileError for what cannot be read, InputError for colours."""
    if path.suffix.lower() == ".npy":
        try:
            return read_array(path)
        except FileError as reason:
            raise FileError(f"{path} cannot be read as an image ({reason}); write it anew") from None
    try:
        return _picture(path)
    except InputError:
        raise
    except READ_ERRORS as reason:
        raise FileError(f"{path} cannot be read as an image ({reason}); write it anew") from None


def _picture(path: Path) -> NDArray[Any]:
    PILLOW.require()
    from PIL import Image

    # a picture that unpacks to far more pixels than any section has is an error of its own in Pillow
    with open_regular(path) as stream, Image.open(stream) as image:
        if image.mode not in GREY:
            raise InputError(f"{path} has colours ({image.mode}); save it in grey")
        return np.asarray(image, dtype=np.float64)


def _frames(text: str | None, paths: Sequence[Path]) -> list[int]:
    """The frames of the pilot at which images were taken."""
    words = [] if text is None else text.split(",")
    if not words or not all(word.strip().isdecimal() for word in words):
        raise InputError(f"--at must be the frame of each of the {len(paths)} images, as in 16,28,40")
    if len(words) != len(paths):
        names = ", ".join(path.name for path in paths[:6])
        raise InputError(f"--at has {len(words)} frames, but there are {len(paths)} images ({names}); give one a frame")
    return [int(word) for word in words]


def _section(text: str | None) -> Section:
    """Where images lie: the middle of the upper left pixel, the ways of a row and against a column, a pixel's size."""
    if text is None:
        raise InputError(f"--section is missing: say where the images lie, {FORM}")
    parts = text.split(":")
    if len(parts) != 4:
        raise InputError(f"--section is {text!r}, but must say where the images lie: {FORM}")
    origin, right, up = (vector(part, "--section") for part in parts[:3])
    return Section(origin, right, up, number(parts[3], "the pixel of --section"))


def _natural(path: Path) -> list[tuple[int, str]]:
    """Numbers in a name count as numbers: scan2 before scan10."""
    return [(int(word), "") if word.isdigit() else (-1, word) for word in re.split(r"(\d+)", path.name)]


def _named(text: str, paths: Sequence[Path]) -> str:
    """With the names of files in place of numbers of images, and the option that frames came from."""
    text = re.sub(r"^frames\[", "--at[", text)
    return re.sub(r"images\[(\d+)\]", lambda found: paths[int(found[1])].name, text)
