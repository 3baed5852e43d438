"""A dinosaur walks five steps; every step is its own small problem, begun with the speed that the one before left.

python examples/10_walk.py
"""

import cajole as cj
from cajole.scenes.keyframe_scenes import build_dinosaur_walk_scene, find_soles


def main(frames: int = 121) -> cj.Animation:
    """Five steps of so many frames; start, and for each step a foot lifted and a foot landed, are all that is given."""
    shots = build_dinosaur_walk_scene(frames=frames).solve(starts="pd")
    print(shots)
    return shots.animation


def check() -> None:
    """The front left foot goes half a stride and later a whole one; where it stands between, it does not slip."""
    motion = main(frames=41).displacements
    foot = motion[:, find_soles(cj.scene("dinosaur"))["front left"]]
    assert abs(foot[40, :, 0].mean() - 0.25) < 0.02
    assert abs(foot[200, :, 0].mean() - 0.75) < 0.02
    assert abs(foot[40:161] - foot[40]).max() < 1e-12


if __name__ == "__main__":
    main()
    check()
