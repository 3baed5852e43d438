"""Push a swinging T, and let it hit its two balls all the same.

python examples/12_hit_two_balls.py
"""

from cajole.direct.steering import ControllerRun
from cajole.scenes.steer_scenes import StrikeScene, build_strike_scene
from cajole.scenes.steer_scenes.composite import combine_strike_runs


def main(seed: int = 10) -> tuple[StrikeScene, ControllerRun, ControllerRun]:
    """The same push without and with control, side by side in strike.glb; a minute at first, then cached."""
    scene = build_strike_scene()
    controller, push = scene.create_controller(), scene.sample_push(seed)
    free, led = controller.run(force=push, controlled=False), controller.run(force=push)
    print(controller.reference)
    for name, run in (("left alone", free), ("steered", led)):
        gaps = ", ".join(f"{100 * gap:.1f} cm" for gap in scene.compute_miss_distances(run))
        print(f"{name}: {'hits both balls' if scene.has_reached_target(run) else f'passes its balls by {gaps}'}")
    print(led.report)
    combine_strike_runs(scene, [free, led], every=10)[1].write("strike.glb")
    return scene, free, led


def check() -> None:
    """The push spoils the strike, and less force than the T weighs saves it."""
    scene, free, led = main()
    assert not scene.has_reached_target(free)
    assert scene.has_reached_target(led)
    assert (led.gentleness**2).mean() ** 0.5 < 1


if __name__ == "__main__":
    check()
