"""Make the pictures of the README and the docs, beside this file.

python docs/pictures/make.py
"""

from pathlib import Path

import numpy as np

import cajole as cj
from cajole.cli.gallery.cards import (CARD_BUILDERS)
from cajole.pictures.image_files import (write_still)

HERE = Path(__file__).parent
TILE = (400, 300)
SCENES = ("dinosaur", "flower", "fish", "bridge", "tee", "beam")


def main() -> None:
    """scenes.jpg, all scenes at rest; fish.jpg, a strip."""
    tiles = [cj.picture(cj.scene(name), size=TILE, renderer="auto") for name in SCENES]
    rows = [np.concatenate(tiles[i : i + 3], axis=1) for i in (0, 3)]
    write_still(HERE / "scenes.jpg", np.concatenate(rows))
    fish = CARD_BUILDERS["fish"](None)
    camera = {**fish.media.camera, "size": (300, 220), "renderer": "auto"}
    cj.strip(fish.media.animation, HERE / "fish.jpg", frames=(0, 12, 20, 30), **camera)


if __name__ == "__main__":
    main()
