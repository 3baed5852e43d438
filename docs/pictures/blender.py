"""Makes the picture of docs/blender.md, an edited motion in Blender, by Cycles: python docs/pictures/blender.py

The Python of .venv-blender (make blender) renders; see blender_render.py.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from PIL import Image

from cajole.animation import Animation
from cajole.scenes.edit_scenes import (load_edit_scene)

HERE = Path(__file__).parent
PYTHON = (HERE.parents[1] / ".venv-blender" / ".ready").read_text(encoding="utf-8").strip()
# at which the corners were dragged
FRAME = 150


def main() -> None:
    scene = load_edit_scene("curtain")
    with tempfile.TemporaryDirectory() as folder:
        before, after, around, strip = (
            Path(folder) / name for name in ("before.usdc", "after.usdc", "around.usdc", "strip.png")
        )
        scene.animation.write(before)
        scene.apply_drags().animation().write(after)
        rod = scene.props[0].shape
        Animation(rod, rod.vertices[None], name="rod").write(around)
        files = map(str, (before, after, around, FRAME, strip))
        subprocess.run([PYTHON, str(HERE / "blender_render.py"), *files], check=True)
        Image.open(strip).convert("RGB").save(HERE / "blender.webp", quality=88)


if __name__ == "__main__":
    main()
