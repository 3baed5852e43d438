"""Lead a flower's bloom round an eight.

python examples/09_draw_an_eight.py
"""

import numpy as np

from cajole.scenes.keyframe_scenes import build_flower_figure_eight_scene


def main() -> np.ndarray:
    """The way (301, 3) [m] of the main bloom's heart."""
    board = build_flower_figure_eight_scene()
    shot = board.solve(starts="pd")
    print(shot.report)
    return shot.animation.displacements[:, board.scene.parts["bloom disc"]].mean(axis=1)


def check() -> None:
    """Seen from above, one lobe runs clockwise and the other does not: the areas they enclose differ in sign."""
    x, y, _ = main().T
    lobes = [
        0.5 * np.sum(x[a:b] * np.roll(y[a:b], -1) - y[a:b] * np.roll(x[a:b], -1)) for a, b in ((0, 151), (150, 301))
    ]
    assert lobes[0] * lobes[1] < 0
    assert min(abs(area) for area in lobes) > 0.02


if __name__ == "__main__":
    check()
