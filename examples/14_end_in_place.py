"""Ask only that a pushed creature ends in place: the dearer the force, the gentler it is led there.

python examples/14_end_in_place.py
"""

from cajole.scenes.steer_scenes import RootedDinosaurScene, build_rooted_scene


def main(tets: int | None = 5000) -> tuple[RootedDinosaurScene, list[tuple[float, float]]]:
    """Final error against effort; with tets=None the creature has 17,000 vertices and takes minutes at first."""
    scene = build_rooted_scene(tets=tets)
    push = scene.sample_push(0)
    free = scene.compute_miss_distance(scene.create_controller().run(force=push, controlled=False))
    print(f"left alone, its head ends {100 * free:.1f} cm off")
    found = []
    for effort in (0.1, 1.0, 10.0, 100.0):
        run = scene.create_controller(effort=effort).run(force=push)
        found.append((scene.compute_miss_distance(run), float(run.gentleness.max())))
        print(f"effort {effort:g}: {100 * found[-1][0]:.2f} cm off, with {found[-1][1]:.2g} weights at most")
    return scene, found


def check() -> None:
    """It ends nearer with more force, and with the least still nearer than alone."""
    scene, found = main()
    assert [miss for miss, _ in found] == sorted(miss for miss, _ in found)
    alone = scene.create_controller().run(force=scene.sample_push(0), controlled=False)
    assert found[0][0] < 0.05 * scene.compute_miss_distance(alone)
    assert found[-1][0] < scene.compute_miss_distance(alone)


if __name__ == "__main__":
    check()
