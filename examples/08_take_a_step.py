"""A dinosaur lifts a foot at frame 60 and sets it down ahead at frame 120.

python examples/08_take_a_step.py
"""

import cajole as cj
from cajole.scenes.keyframe_scenes import build_dinosaur_step_scene, find_soles


def main() -> cj.Animation:
    """121 frames; two keys, and everything between them is physics."""
    shot = build_dinosaur_step_scene("front left").solve(starts="pd")
    print(shot.report)
    return shot.animation


def check() -> None:
    """The foot goes up and lands a stride ahead; the other three stand still."""
    motion = main().displacements
    feet = find_soles(cj.scene("dinosaur"))
    swing = motion[:, feet.pop("front left")].mean(axis=1)
    assert swing[60, 2] > 0.25
    assert abs(swing[120, 0] - 0.40) < 0.02
    assert abs(swing[120, 2]) < 0.03
    assert not any(motion[:, foot].any() for foot in feet.values())


if __name__ == "__main__":
    check()
