"""Blender shows what Cajole wrote: the same vertices at the same frames, whatever the format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cajole.animation import Animation
from cajole.animation.export_geometry import select_export_geometry
from cajole.mesh import Skin, box_tets, grid_triangles

FRAMES, FPS, START = 12, 30.0, 5
# frames of the animation that are compared
LOOKED_AT = [0, 1, 5, 11]
# of the size of the body: single precision, and what an importer may round
NEAR = 1e-5
SUFFIXES = ["usda", "usdc", "usd", "glb", "pc2", "mdd", "obj"]


def waved(vertices: np.ndarray) -> np.ndarray:
    """(frames, n, 3) a wave that no symmetry of the axes leaves as it is, nowhere at rest."""
    phase = np.linspace(0.3, 2.0, FRAMES)[:, None, None]
    return vertices + 0.1 * np.sin(5 * phase + 3 * vertices[None, :, ::-1]) + [0.0, 0.3, 1.2]


def cloth() -> Animation:
    """Triangles with colours of their own."""
    mesh = grid_triangles(6, 4, size=(1.2, 0.7))
    n = len(mesh.vertices)
    colors = np.linspace(0.1, 0.9, 3 * n).reshape(n, 3)
    skin = Skin(mesh, colors, ("surface",), np.zeros(n, dtype=np.int64), np.full(n, 0.3))
    return Animation(mesh, waved(mesh.vertices), FPS, skin=skin, start_frame=START, name="cloth")


def beam() -> Animation:
    """Tets, of which Blender is shown the surface."""
    mesh = box_tets(4, 3, 3, size=(1.5, 0.4, 0.5))
    return Animation(mesh, waved(mesh.vertices), FPS, start_frame=START, name="beam")


SUBJECTS = {"cloth": cloth, "beam": beam}


def asked(animation: Animation, suffix: str, folder: Path) -> dict[str, Any]:
    """Write one file, and say which frames of it Blender shall be looked at."""
    stem = f"{animation.name}_{suffix}"
    path = folder / (f"{stem}_####.obj" if suffix == "obj" else f"{stem}.{suffix}")
    options = {"vertices": "surface"} if suffix in ("pc2", "mdd") else {}
    animation.write(path, **options)
    # glTF counts seconds from its first frame, everything else carries the number of the first frame
    first = 0 if suffix == "glb" else START
    kind = "usd" if suffix.startswith("usd") else suffix
    frames = [first + frame for frame in LOOKED_AT]
    return {"name": stem, "path": str(path), "kind": kind, "fps": FPS, "start": START, "frames": frames}


@pytest.fixture(scope="module")
def seen(blender: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Any]:
    """What Blender says of its scenes, and the vertices that it shows, by subject and suffix."""
    folder = tmp_path_factory.mktemp("written")
    files = [asked(make(), suffix, folder) for make in SUBJECTS.values() for suffix in SUFFIXES]
    scenes = blender("inside_opening", files=files, output=folder / "seen.npz")
    return scenes, np.load(folder / "seen.npz")


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", list(SUBJECTS))
def test_blender_shows_our_vertices_at_our_frames_reference(name, suffix, seen):
    animation = SUBJECTS[name]()
    ours = select_export_geometry(animation)
    expected = np.array([ours.positions_at(frame) for frame in LOOKED_AT])
    found = seen[1][f"{name}_{suffix}"]
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() < NEAR * animation.mesh.size


@pytest.mark.parametrize("suffix", ["usda", "usdc", "usd"])
def test_usd_brings_its_range_of_frames_reference(suffix, seen):
    assert seen[0][f"cloth_{suffix}"]["range"] == [START, START + FRAMES - 1]


@pytest.mark.parametrize("suffix", ["usdc", "glb"])
def test_colours_of_vertices_arrive_reference(suffix, seen):
    assert seen[0][f"cloth_{suffix}"]["colors"]
