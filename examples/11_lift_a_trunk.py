"""Fit an elephant to skins that bones have deformed, and let it move through them.

python examples/11_lift_a_trunk.py
"""

import cajole as cj
from cajole.direct import Shot
from cajole.scenes.keyframe_scenes import KeyframeScene, build_elephant_greeting_scene


def main(tets: int | None = None) -> tuple[KeyframeScene, Shot]:
    """The greeting of 241 frames, every tenth one written to elephant.glb; most of the time goes into fitting keys."""
    board = build_elephant_greeting_scene(tets=tets)
    shot = board.solve(starts="zero")
    print(shot.report)
    moved = cj.Animation(board.scene.mesh, shot.animation.positions, fps=shot.animation.fps, skin=board.scene.skin)
    moved.write("elephant.glb", every=10)
    return board, shot


def check() -> None:
    """On a coarse elephant: the keys are met, and halfway through the greeting the trunk's tip is off the ground."""
    board, shot = main(tets=8000)
    assert max(shot.report.errors) < 1e-3
    tip = board.scene.mesh.vertices[:, 0].argmax()
    rest, up = shot.animation.positions[[0, 60], tip, 2]
    assert up > rest + 0.5


if __name__ == "__main__":
    main()
    check()
