"""Renders the pictures of the start page, one after the other, in a process of its own."""

from __future__ import annotations

import contextlib
import os

from cajole.errors import CajoleError
from cajole.pictures import picture
from cajole.scenes import scene
from cajole.storage import replace_atomically
from cajole.studio.catalogue import get_picture_folder, has_cached_scene
from cajole.studio.mode_registry import get_modes
from cajole.studio.modes.definition import CARD_RENDER_OPTIONS


def draw_card(key: str) -> bool:
    """Render the picture of one card into the cache; False if its scene takes too long to compute."""
    from PIL import Image

    mode_name, name = key.split("-", 1)
    draw = get_modes()[mode_name].draw_card
    pixels = picture(scene(name), **CARD_RENDER_OPTIONS) if draw is None else draw(name, has_cached_scene(key))
    if pixels is None:
        return False
    with replace_atomically(get_picture_folder() / f"{key}.webp") as path:
        Image.fromarray(pixels).save(path, "WEBP", quality=82)
    return True


def main(keys: list[str]) -> None:
    """Render cards until the process that started this one ends; a card whose scene raises an error has no picture."""
    parent = os.getppid()
    for key in keys:
        if os.getppid() != parent:
            return
        with contextlib.suppress(CajoleError):
            draw_card(key)
