"""Shake a flower before a bee lands on it, for as long as you like: the bloom is back in time.

python examples/13_land_a_bee.py
"""

from cajole.scenes.steer_scenes import BeeLandingScene, build_bee_landing_scene


def main(tets: int | None = None, pushes: int = 5) -> tuple[BeeLandingScene, list[bool], list[bool]]:
    """Random pushes without and with control: how far the landing spot is from the bee; a minute or two at first."""
    scene = build_bee_landing_scene(tets=tets)
    controller = scene.create_controller()
    print(controller.reference)
    free, led = [], []
    for seed in range(pushes):
        push = scene.sample_push(seed)
        alone, steered = controller.run(force=push, controlled=False), controller.run(force=push)
        free.append(scene.has_reached_target(alone))
        led.append(scene.has_reached_target(steered))
        print(
            f"push {seed}: {100 * scene.compute_miss_distance(alone):.1f} cm off alone, "
            f"{100 * scene.compute_miss_distance(steered):.1f} cm steered"
        )
    return scene, free, led


def check() -> None:
    """On a coarser flower: the bee mostly misses the bloom left alone, and always finds the steered one."""
    _, free, led = main(tets=7000)
    assert sum(free) <= 2
    assert all(led)


if __name__ == "__main__":
    main()
    check()
