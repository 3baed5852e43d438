"""Push a swinging T, and let it hit its two balls all the same.

python examples/12_hit_two_balls.py
"""

from cajole.direct.steering import Run
from cajole.scenes.steering import Strike, strike
from cajole.scenes.steering.staging import takes


def main(seed: int = 10) -> tuple[Strike, Run, Run]:
    """The same push without and with control, side by side in strike.glb; a minute at first, then cached."""
    scene = strike()
    controller, push = scene.controller(), scene.random_push(seed)
    free, led = controller.run(force=push, controlled=False), controller.run(force=push)
    print(controller.reference)
    for name, run in (("left alone", free), ("steered", led)):
        gaps = ", ".join(f"{100 * gap:.1f} cm" for gap in scene.misses(run))
        print(f"{name}: {'hits both balls' if scene.outcome(run) else f'passes its balls by {gaps}'}")
    print(led.report)
    takes(scene, [free, led], every=10)[1].write("strike.glb")
    return scene, free, led


def check() -> None:
    """The push spoils the strike, and less force than the T weighs saves it."""
    scene, free, led = main()
    assert not scene.outcome(free)
    assert scene.outcome(led)
    assert (led.gentleness**2).mean() ** 0.5 < 1


if __name__ == "__main__":
    check()
