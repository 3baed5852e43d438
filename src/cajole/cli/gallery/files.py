"""A demo item into files: the coloured skin in motion, a still, a loop; and its numbers for the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from cajole.animation.glb_size import glb_options
from cajole.cli.gallery.items import ITEMS, DemoItem
from cajole.pictures import picture
from cajole.progress import Progress, portion, report

# [pixels], one shape for all so that cards line up; light paths per pixel: denoised, eight show no noise at this size
STILL, LOOP, SAMPLES = (576, 384), (480, 320), 8
# of the simulated frames, one in so many is drawn
EVERY = 2
# a page opens a model of this size [bytes] without a pause
LARGEST_GLB = 13_000_000


def produce(name: str, folder: Path, progress: Progress) -> dict[str, Any]:
    """Make the item `name`, write its files into `folder`, and return what the report and the page say of it."""
    item = ITEMS[name](portion(progress, 0.0, 0.5))
    moved = item.animation
    report(progress, 0.5, "writing .glb")
    moved.write(folder / f"{name}.glb", **glb_options(moved, LARGEST_GLB))
    report(progress, 0.55, "still")
    picture(moved, folder / f"{name}.jpg", samples=SAMPLES, renderer="auto", **{**item.camera, "size": STILL})
    frames = range(0, moved.frames - 1, EVERY)
    drawn = portion(progress, 0.7, 1.0)
    picture(moved, folder / f"{name}.webp", frames=frames, **{**item.camera, "size": LOOP}, progress=drawn)
    return _entry(name, item, folder)


def _entry(name: str, item: DemoItem, folder: Path) -> dict[str, Any]:
    moved, body = item.animation, item.body
    reach = np.linalg.norm(moved.displacements, axis=2).max(axis=1)
    return {
        "name": name,
        "title": item.title,
        "verb": item.verb,
        "story": item.story,
        "vertices": body.count,
        "tets": len(body.mesh.tets),
        "frames": moved.frames,
        "fps": moved.fps,
        "seconds": item.seconds,
        "frequencies_Hz": [float(f) for f in item.frequencies],
        "largest_displacement_m": float(reach.max()),
        "largest_displacement_sizes": float(reach.max() / body.size),
        "largest_energy_J": float(max(body.energy(u) for u in moved.displacements)),
        "reach_m": [float(r) for r in reach],
        "background": [float(c) for c in item.camera.get("background", (0.8, 0.8, 0.8))],
        "glb": f"{name}.glb",
        "still": f"{name}.jpg",
        "loop": f"{name}.webp",
        "glb_bytes": (folder / f"{name}.glb").stat().st_size,
    }
