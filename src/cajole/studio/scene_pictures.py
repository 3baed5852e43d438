"""Draws the pictures of the start page, one after the other, in a process of its own."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from cajole.errors import CajoleError
from cajole.pictures import picture
from cajole.scenes import flow_scenes, scene
from cajole.scenes.edit_scenes import load_edit_scene
from cajole.scenes.enrich_scenes import EnrichScene, load_enrich_scene, render_enrich_frame, render_regions
from cajole.scenes.flow_scenes.pictures import render_preview_card as flow_card
from cajole.scenes.reroute_scenes import load_reroute_scene
from cajole.storage import replace_atomically
from cajole.studio.catalogue import get_picture_folder, has_cached_scene

PICTURE_SIZE, WEBP_QUALITY = (720, 480), 82
# card -> the body whose portrait stands for it while nothing but that is quick to make
PLACEHOLDER_BODIES = {
    "edit-stairs": "elephant", "edit-bridge": "bridge", "edit-bridge-pulled": "bridge",
    "steer-bee": "flower", "steer-rooted": "dinosaur",
}  # fmt: skip
# scenes to enrich whose shell is soon at a frame with folds
ENRICH_FRAMES = {"box": 30, "bag": 36, "flag": 12}
# scenes to reroute whose second run is soon made, and the frame that shows it; of others the pilot is shown
REROUTE_FRAMES = {"cloth": 44, "skirt": 76}
HEART_FRAME = 30
# flows, and the frame that shows what they write
FLOW_FRAMES = {"swirl": 45, "leaves": 150}
# edit scenes that are made within seconds
QUICK_EDIT_CARDS = ("edit-twist", "edit-bird")


def draw_card(key: str) -> bool:
    """Draw one card and keep its picture; False where its scene takes too long to make."""
    mode, name = key.split("-", 1)
    if mode == "edit" and (key in QUICK_EDIT_CARDS or has_cached_scene(key)):
        shown: Any = load_edit_scene(name)
        options = {"props": shown.props, **shown.camera}
        pixels = picture(shown.animation, frame=shown.frames_shown[0], **options | RENDER_OPTIONS)
    elif mode == "enrich":
        pixels = _draw_enrich_card(load_enrich_scene(name))
    elif name in FLOW_FRAMES:
        pixels = _draw_flow_card(name, coarse=not has_cached_scene(key))
    elif mode == "reroute":
        pixels = _draw_reroute_card(name)
    elif mode == "edit" and key not in PLACEHOLDER_BODIES:
        return False
    else:
        pixels = picture(scene(PLACEHOLDER_BODIES.get(key, name)), **RENDER_OPTIONS)
    _write_picture(key, pixels)
    return True


def _draw_enrich_card(scene: EnrichScene) -> Any:
    """The shell at an early frame, its guide in yellow; where even that takes long, the guide with its regions."""
    frame = ENRICH_FRAMES.get(scene.name)
    if frame is None:
        return render_regions(scene, scene.guide.frames // 2, **RENDER_OPTIONS)
    return render_enrich_frame(scene, scene.solve(frames=frame + 1), frame, **RENDER_OPTIONS)


def _draw_reroute_card(name: str) -> Any:
    """A net at the frame of its goals."""
    shown = load_reroute_scene(name)
    motion = shown.solve().animation if name in REROUTE_FRAMES else shown.pilot
    return picture(
        motion, frame=REROUTE_FRAMES.get(name, HEART_FRAME), props=shown.props, **{**shown.camera, **RENDER_OPTIONS}
    )


def _draw_flow_card(name: str, *, coarse: bool) -> Any:
    """A flow in the middle of a take; where its scene was never made, one of fewer cells."""
    make = getattr(flow_scenes, f"build_{name}_scene")
    shown = make(64, size=24, runs=6) if coarse else make()
    return flow_card(shown, FLOW_FRAMES[name])


RENDER_OPTIONS: dict[str, Any] = {"size": PICTURE_SIZE, "renderer": "draft"}


def _write_picture(key: str, pixels: Any) -> None:
    from PIL import Image

    with replace_atomically(get_picture_folder() / f"{key}.webp") as path:
        Image.fromarray(pixels).save(path, "WEBP", quality=WEBP_QUALITY)


def main(keys: list[str]) -> None:
    """Draw cards as long as who asked for them is there; one that fails has no picture."""
    asked = os.getppid()
    for key in keys:
        if os.getppid() != asked:
            return
        with contextlib.suppress(CajoleError):
            draw_card(key)
