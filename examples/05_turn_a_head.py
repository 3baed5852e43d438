"""Pull the head of a dinosaur aside and picture it, with its rest shape as a ghost.

python examples/05_turn_a_head.py
"""

import numpy as np

import cajole as cj


def main() -> np.ndarray:
    """A draft of 360 x 240 pixels, written to aside.png."""
    dinosaur = cj.scene("dinosaur")
    head = dinosaur.parts["head"]
    aside = cj.pose(dinosaur.body(), pins={int(v): (-0.2, -0.4, 0.0) for v in head})
    still = cj.Animation(dinosaur.mesh, (dinosaur.mesh.vertices + aside)[None], skin=dinosaur.skin)
    print(still)
    return cj.picture(still, "aside.png", ghost=dinosaur.mesh.vertices, size=(360, 240), renderer="draft")


def check() -> None:
    """There is something green in the middle."""
    red, green, _ = np.moveaxis(main()[80:160, 120:240].astype(int), 2, 0)
    assert (green > red + 20).mean() > 0.5


if __name__ == "__main__":
    check()
