"""Make the pictures of docs/enrich.md, beside this file.

python docs/pictures/enrich.py [name ...] [--kept FOLDER]

Shells are simulated as the docs say, some minutes each; those kept in FOLDER are drawn again without that.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import cajole as cj
from cajole.mesh import Skin, grid_triangles
from cajole.pictures.image_files import (write_still)
from cajole.pictures.renderable import (INPUT_COLOR, OUTPUT_COLOR)
from cajole.scenes.enrich_scenes import (EnrichScene, load_enrich_scene)
from cajole.scenes.enrich_scenes.pictures import (compute_region_colors)

HERE = Path(__file__).parent
GAP = 4
# a frame of the box at which its lid is up again and upright: the sudden stop is shown from here on
UPRIGHT, STOPPED = 79, 23
BOX = {"limp": 21, "cloth": 21, "card": 21, "elastic": 56, "paper": 56, "foil": 56}
BAG = ("vinyl", "silk", "accordion", "ridges", "crinkle", "wind")


def grid(rows: Sequence[Sequence[np.ndarray]]) -> np.ndarray:
    """Tiles of one size as rows of a picture, with white between them."""
    high, wide = rows[0][0].shape[:2]
    out = np.full((len(rows) * (high + GAP) - GAP, len(rows[0]) * (wide + GAP) - GAP, 3), 255, dtype=np.uint8)
    for i, row in enumerate(rows):
        for j, tile in enumerate(row):
            out[i * (high + GAP) : i * (high + GAP) + high, j * (wide + GAP) : j * (wide + GAP) + wide] = tile
    return out


def painted(motion: cj.Animation, color: Any) -> cj.Animation:
    return replace(motion, skin=Skin(motion.mesh.surface, np.asarray(color)))


def run(scene: EnrichScene, material: str, kept: Path | None, name: str = "", **settings: Any) -> cj.Animation:
    """The shell in a material, in its colour."""
    chosen = scene.get_variant(material)
    path = None if kept is None else kept / f"{scene.name}_{name or material}.npz"
    if path is not None and path.exists():
        x = np.load(path)["x"].astype(float)
        return painted(cj.Animation(chosen.shell.mesh, x, scene.guide.fps), chosen.color)
    result = scene.solve(material, **settings)
    print(scene.name, name or material, result.report, sep="\n", flush=True)
    if path is not None:
        np.savez_compressed(path, x=result.animation.positions.astype(np.float32))
    return painted(result.animation, chosen.color)


def tile(scene: EnrichScene, motion: cj.Animation, frame: int, size: tuple[int, int], **options: Any) -> np.ndarray:
    own = {"props": scene.props, **scene.camera, "in_view": [frame], "size": size, **options}
    return cj.picture(motion, frame=frame, renderer="draft", **own)


def cut(scene: EnrichScene, first: int) -> EnrichScene:
    """The scene from a frame on."""
    guide = scene.guide
    later = cj.Animation(guide.mesh, guide.positions[first:], guide.fps, name=guide.name)
    return replace(scene, guide=later, frames_shown=(0,))


def folded(motion: cj.Animation, frame: int) -> float:
    """Angle [degrees] between neighbouring triangles of one flat side, root mean square."""
    i, j, k, m = motion.mesh.hinges.T

    def angles(x: np.ndarray) -> np.ndarray:
        left, right = (np.cross(x[j] - x[i], x[v] - x[i]) for v in (k, m))
        cosine = -(left * right).sum(axis=1) / (np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1))
        return np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))

    flat = angles(motion.mesh.vertices) < 1.0
    return float(np.sqrt((angles(motion.positions[frame])[flat] ** 2).mean()))


def box(kept: Path | None) -> None:
    """Figure 8: stiffness in a twist, plasticity after it, damping after a sudden stop; the guide at the left."""
    scene, size, rows = load_enrich_scene("box"), (220, 240), []
    for names, frame in ((("limp", "cloth", "card"), 20), (("elastic", "paper", "foil"), 55)):
        shown = [run(scene, name, kept, frames=BOX[name], collisions="fast") for name in names]
        for name, motion in zip(names, shown):
            print(f"{name}: {folded(motion, frame):.1f} degrees rms between triangles of one side, frame {frame}")
        guide = tile(scene, painted(scene.guide, INPUT_COLOR), frame, size, smooth=False)
        rows.append([guide, *(tile(scene, motion, frame, size, smooth=True) for motion in shown)])
    late = cut(scene, UPRIGHT)
    # a tenth of a second after the lid stood
    guide, rows_of = tile(late, painted(late.guide, INPUT_COLOR), STOPPED + 3, size, smooth=False), []
    for name in ("calm", "wobbly", "heavy"):
        motion = run(late, name, kept, dt=1 / 240)
        speed = np.linalg.norm(np.diff(motion.positions, axis=0), axis=2) * motion.fps
        print(f"{name}: {1e3 * np.sqrt((speed[STOPPED + 15 :] ** 2).mean()):.0f} mm/s rms from half a second on")
        rows_of.append(tile(late, motion, STOPPED + 3, size, smooth=True))
    rows.append([guide, *rows_of])
    write_still(HERE / "enrich_box.jpg", grid(rows))


def bag(kept: Path | None) -> None:
    """Figure 9: one backflip in six materials, the guide above them."""
    scene, size, frames = load_enrich_scene("bag"), (180, 180), (26, 36, 47, 59, 77)
    shown = [run(scene, name, kept, frames=78, collisions="fast") for name in BAG]
    rows = [[tile(scene, painted(scene.guide, INPUT_COLOR), frame, size, smooth=False) for frame in frames]]
    rows += [[tile(scene, motion, frame, size, smooth=True) for frame in frames] for motion in shown]
    write_still(HERE / "enrich_bag.jpg", grid(rows))


def walker(kept: Path | None) -> None:
    """Figures 1 and 10: the guide, its patches, and what becomes of it in the wind and under current."""
    scene, size, frames = load_enrich_scene("walker"), (220, 220), (15, 60, 140, 215, 280)
    shown = run(scene, "story", kept, collisions="fast", dt=1 / 60)
    guide = [tile(scene, painted(scene.guide, INPUT_COLOR), frame, size, smooth=True) for frame in frames]
    patches = [tile(scene, scene.guide, frame, size, colors=compute_region_colors(scene)) for frame in frames]
    result = [tile(scene, shown, frame, size, smooth=True) for frame in frames]
    write_still(HERE / "enrich_walker.jpg", grid([guide, patches, result]))


def flag(kept: Path | None) -> None:
    """Figure 2: the preview, the cloth with the same settings, and the cloth that is told."""
    scene, size, frames = load_enrich_scene("flag"), (220, 260), (0, 12, 16, 20, 24, 27)
    shown = [
        run(scene, "cotton", kept, name, collisions="fast", tracked=name == "tracked", frames=frames[-1] + 1)
        for name in ("free", "tracked")
    ]
    rows = []
    for motion in (painted(scene.guide, INPUT_COLOR), *shown):
        last = motion.frames - 1
        rows.append(
            [tile(scene, motion, min(f, last), size, in_view=[0, 12, 22, 26], smooth=motion.n > 50) for f in frames]
        )
    write_still(HERE / "enrich_flag.jpg", grid(rows))


def shaken_guide() -> cj.Animation:
    """A domed sheet of 5 by 5 vertices that is jerked upwards and breathes."""
    mesh = grid_triangles(4, 4)
    x, y = mesh.vertices[:, 0] - 0.5, mesh.vertices[:, 1] - 0.5
    dome = mesh.moved(np.column_stack([x, y, 0.5 - 0.7 * (x**2 + y**2)]))
    times = np.arange(16) / 30
    lift = 0.25 * np.clip((times - 0.2) / 0.12, 0, 1) ** 2
    q = np.repeat(dome.vertices[None], len(times), axis=0)
    q[:, :, 2] += lift[:, None]
    return cj.Animation(dome, q, 30.0)


def tugging(kept: Path | None) -> None:
    """Figures 3 and 4: points tug where the guide accelerates, averages do not."""
    guide = shaken_guide()
    fine, hats = cj.regions_subdivided(guide.mesh, 3)
    cloth = cj.BodyShell(fine, cj.MaterialShell(young=4e3, thickness=2e-3, density=200.0), damping=(0.5, 2e-3))
    row = []
    camera = {
        "size": (300, 240),
        "elevation": 14.0,
        "azimuth": -62.0,
        "background": (0.84, 0.85, 0.87),
        "floor_height": 0.0,
    }
    for regions in (None, cj.regions_interpolating(guide.mesh, fine), hats):
        moved = guide if regions is None else cj.enrich(guide, cloth, regions, dt=1 / 120).animation
        shown = painted(moved, INPUT_COLOR if regions is None else OUTPUT_COLOR)
        row.append(
            cj.picture(shown, frame=9, in_view=[0, 12], smooth=regions is not None, floor=(0.84, 0.83, 0.81), **camera)
        )
    write_still(HERE / "enrich_tugging.jpg", grid([row]))


def regions(kept: Path | None) -> None:
    """Figure 6: a squeezed cylinder with 16, 64 and 256 patches."""
    mesh = tube(48, 40)
    share = np.linspace(0, 1, 16) ** 2 * (3 - 2 * np.linspace(0, 1, 16))
    q = np.repeat(mesh.vertices[None], len(share), axis=0)
    q[:, :, 2] *= 1 - 0.3 * share[:, None]
    guide = cj.Animation(mesh, q, 30.0)
    cloth = cj.BodyShell(mesh, cj.MaterialShell(young=2e4, thickness=2e-3, density=300.0), damping=(2.0, 2e-3))
    camera = {"size": (240, 240), "elevation": 12.0, "background": (0.84, 0.85, 0.87), "floor": (0.84, 0.83, 0.81)}
    row = [cj.picture(painted(guide, INPUT_COLOR), frame=15, in_view=[15], **camera)]
    for count in (16, 64, 256):
        patches = cj.regions_clustered(guide, count, mu=1.0, seed=1)
        moved = cj.enrich(guide, cloth, patches, dt=1 / 120, frames=20).animation
        off = np.linalg.norm(moved.positions[-1] - q[-1], axis=1).mean()
        print(f"{count} regions: {1e3 * off:.1f} mm from the guide on average", flush=True)
        row.append(cj.picture(painted(moved, OUTPUT_COLOR), frame=19, in_view=[19], smooth=True, **camera))
    write_still(HERE / "enrich_regions.jpg", grid([row]))


def tube(around: int, along: int) -> cj.MeshTri:
    """An open cylinder, 0.3 m wide and 0.8 m high."""
    i, j = np.indices((along, around)).reshape(2, -1)
    a, b = i * around + j, i * around + (j + 1) % around
    turn, high = 2 * np.pi * np.arange(around) / around, np.linspace(0, 0.8, along + 1)
    ring = 0.25 * np.column_stack([np.cos(turn), np.sin(turn)])
    points = np.column_stack([np.tile(ring, (along + 1, 1)), np.repeat(high, around)])
    return cj.MeshTri(
        points, np.vstack([np.column_stack([a, b, b + around]), np.column_stack([a, b + around, a + around])])
    )


MAKERS = {"tugging": tugging, "regions": regions, "box": box, "flag": flag, "bag": bag, "walker": walker}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*MAKERS, []])
    parser.add_argument("--kept", type=Path)
    asked = parser.parse_args()
    for name in asked.names or MAKERS:
        MAKERS[name](asked.kept)


if __name__ == "__main__":
    main()
