"""Draws the pictures of the start page, one after the other, in a process of its own."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from cajole.errors import CajoleError
from cajole.pictures import picture
from cajole.scenes import flowing, scene
from cajole.scenes.editing import edit_scene
from cajole.scenes.enriching import EnrichScene, enrich_picture, enrich_scene, regions_picture
from cajole.scenes.flowing.pictures import card as flow_card
from cajole.scenes.rerouting import reroute_scene
from cajole.storage import atomic_path
from cajole.studio.catalogue import is_ready, picture_folder

SIZE, QUALITY = (720, 480), 82
# card -> the body whose portrait stands for it while nothing but that is quick to make
BODIES = {
    "edit-stairs": "elephant", "edit-bridge": "bridge", "edit-bridge-pulled": "bridge",
    "steer-bee": "flower", "steer-rooted": "dinosaur",
}  # fmt: skip
# scenes to enrich whose shell is soon at a frame with folds
FOLDED = {"box": 30, "bag": 36, "flag": 12}
# scenes to reroute whose second run is soon made, and the frame that shows it; of others the pilot is shown
LED = {"cloth": 44, "skirt": 76}
BEATING = 30
# flows, and the frame that shows what they write
WRITTEN = {"swirl": 45, "leaves": 150}
# edit scenes that are made within seconds
QUICK = ("edit-twist", "edit-bird")


def draw(key: str) -> bool:
    """Draw one card and keep its picture; False where its scene takes too long to make."""
    mode, name = key.split("-", 1)
    if mode == "edit" and (key in QUICK or is_ready(key)):
        shown: Any = edit_scene(name)
        options = {"props": shown.props, **shown.camera}
        pixels = picture(shown.animation, frame=shown.frames_shown[0], **options | FORM)
    elif mode == "enrich":
        pixels = _folds(enrich_scene(name))
    elif name in WRITTEN:
        pixels = _written(name, coarse=not is_ready(key))
    elif mode == "reroute":
        pixels = _led(name)
    elif mode == "edit" and key not in BODIES:
        return False
    else:
        pixels = picture(scene(BODIES.get(key, name)), **FORM)
    _keep(key, pixels)
    return True


def _folds(shown: EnrichScene) -> Any:
    """The shell at an early frame, its guide in yellow; where even that takes long, the guide with its regions."""
    frame = FOLDED.get(shown.name)
    if frame is None:
        return regions_picture(shown, shown.guide.frames // 2, **FORM)
    return enrich_picture(shown, shown.enriched(frames=frame + 1), frame, **FORM)


def _led(name: str) -> Any:
    """A net at the frame of its goals."""
    shown = reroute_scene(name)
    motion = shown.result().animation if name in LED else shown.pilot
    return picture(motion, frame=LED.get(name, BEATING), props=shown.props, **{**shown.camera, **FORM})


def _written(name: str, *, coarse: bool) -> Any:
    """A flow in the middle of a take; where its scene was never made, one of fewer cells."""
    make = getattr(flowing, name)
    shown = make(64, size=24, runs=6) if coarse else make()
    return flow_card(shown, WRITTEN[name])


FORM: dict[str, Any] = {"size": SIZE, "renderer": "draft"}


def _keep(key: str, pixels: Any) -> None:
    from PIL import Image

    with atomic_path(picture_folder() / f"{key}.webp") as path:
        Image.fromarray(pixels).save(path, "WEBP", quality=QUALITY)


def main(keys: list[str]) -> None:
    """Draw cards as long as who asked for them is there; one that fails has no picture."""
    asked = os.getppid()
    for key in keys:
        if os.getppid() != asked:
            return
        with contextlib.suppress(CajoleError):
            draw(key)
