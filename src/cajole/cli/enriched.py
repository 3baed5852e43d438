"""What `cajole enrich` is asked for, as text and files: regions, the shell, the air and what it bumps into."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole import checks
from cajole.animation import Animation, read_animation
from cajole.animation.files import FORMATS
from cajole.arrays import Array
from cajole.body import BodyShell, LoadPressure, LoadWind, MaterialShell, Plasticity
from cajole.body.undeformed import accordion, crinkle, ridges
from cajole.cli.numbers import number, pair, vector
from cajole.direct.enriching import Regions, regions_clustered, regions_painted, regions_subdivided
from cajole.direct.enriching.collisions.colliding import KINDS as COLLISIONS
from cajole.direct.enriching.collisions.world import IPCTK
from cajole.dynamics import Ground
from cajole.errors import FileError, InputError
from cajole.mesh import MeshTet, MeshTri, read_mesh, subdivide
from cajole.mesh.files import READERS
from cajole.mesh.formats.text import Line, text_lines
from cajole.mesh.line import require_surface
from cajole.progress import Progress
from cajole.scenes import select
from cajole.storage import read_array

Labels = NDArray[Any] | list[int | str]

# what docs/enrich.md says to start with: a light cotton, damped
CLOTH = MaterialShell(young=2e4, thickness=2e-3, density=300.0)
DAMPING = (0.5, 1e-3)
# the shapes of --undeformed, the names of their sizes, and whether they have a direction
SHAPES: dict[str, tuple[Callable[..., Array], tuple[str, ...], bool]] = {
    "accordion": (accordion, ("amplitude", "wavelength"), True),
    "ridges": (ridges, ("height", "spacing", "width"), True),
    "crinkle": (crinkle, ("amplitude", "scale"), False),
}
SIDES = ("vertices", "triangles")


@dataclass(frozen=True)
class RegionsAsked:
    """Which fine mesh, and which of its averages are the guide's. Raises InputError for what does not go together."""

    subdivide: int | None = None
    fine: Path | None = None
    paint_guide: Path | None = None
    paint_fine: Path | None = None
    paint_on: str | None = None
    clusters: int | None = None
    mu: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        paint = (self.paint_guide, self.paint_fine)
        if self.fine is None and any((*paint, self.paint_on)):
            raise InputError("paint joins the guide to another mesh; name it with --fine")
        if self.fine is not None and not all(paint):
            raise InputError(
                "--fine needs paint that says what belongs together: a file of labels with --paint-guide, and one with "
                "--paint-fine"
            )
        if self.fine is not None and (self.subdivide is not None or self.clusters is not None):
            raise InputError("--fine is a mesh of its own, with painted regions; leave out --subdivide and --clusters")
        if self.fine is None and self.subdivide is None and self.clusters is None:
            raise InputError(
                "which averages shall the shell share with its guide? --subdivide 3 makes it from the guide's own "
                "triangles, --clusters 50 leads patches of them, --fine takes another mesh, with --paint-guide and "
                "--paint-fine"
            )
        if self.mu is not None and self.clusters is None:
            raise InputError("--mu is for patches; say how many with --clusters")
        if self.subdivide is not None:
            checks.count(self.subdivide, "--subdivide", most=16)
        if self.clusters is not None:
            checks.count(self.clusters, "--clusters")
        self._sides()
        checks.count(self.seed, "--seed", least=0)

    def made(self, guide: Animation, progress: Progress) -> tuple[Animation, Regions]:
        """The guide that is followed, a subdivided one where patches of such are, and the regions."""
        mesh = guide.mesh
        assert isinstance(mesh, MeshTri)
        if self.fine is not None:
            return guide, self._painted(mesh, self.fine)
        if self.clusters is None:
            return guide, regions_subdivided(mesh, self.subdivide or 1)[1]
        followed = guide if self.subdivide is None else _halved(guide, self.subdivide)
        made: dict[str, Any] = {} if self.mu is None else {"mu": self.mu}
        return followed, regions_clustered(followed, self.clusters, seed=self.seed, progress=progress, **made)

    def _painted(self, mesh: MeshTri, file: Path) -> Regions:
        assert self.paint_guide is not None
        assert self.paint_fine is not None
        fine = read_mesh(file)
        if not isinstance(fine, MeshTri):
            raise InputError(f"--fine {file} holds tets, but a shell is made of triangles; write its surface")
        ours, theirs = labels_of(self.paint_guide, "--paint-guide"), labels_of(self.paint_fine, "--paint-fine")
        guide_on, fine_on = self._sides()
        for painted, side, labels in ((mesh, guide_on, self.paint_guide), (fine, fine_on, self.paint_fine)):
            if side is None and len(painted.vertices) == len(painted.triangles):
                raise InputError(
                    f"{labels}: its mesh has as many vertices as triangles, so that labels could be of either; say "
                    "--paint-on vertices or --paint-on triangles"
                )
        return regions_painted(mesh, ours, fine, theirs, guide_on=guide_on, fine_on=fine_on)

    def _sides(self) -> tuple[str | None, str | None]:
        """What the labels of the guide and those of the shell are of, where that is said."""
        if self.paint_on is None:
            return None, None
        words = self.paint_on.split(",")
        if len(words) > 2:
            raise InputError(
                f"--paint-on is {self.paint_on!r}, but must be one word, or one of the guide and one of --fine"
            )
        guide_on, fine_on = (checks.one_of(word.strip(), "--paint-on", SIDES) for word in (words[0], words[-1]))
        return guide_on, fine_on


@dataclass(frozen=True)
class ClothAsked:
    """What the shell is made of, as far as that is known without its mesh."""

    material: MaterialShell
    damping: tuple[float, float]
    plasticity: Plasticity | None
    shape: Callable[[MeshTri], Array] | None
    fixed: tuple[str, ...] = ()

    def made(self, mesh: MeshTri) -> BodyShell:
        """The shell of a mesh."""
        held = np.unique(np.concatenate([np.empty(0, np.int64), *(select(text, mesh, {}) for text in self.fixed)]))
        shape = None if self.shape is None else self.shape(mesh)
        return BodyShell(
            mesh, self.material, fixed=held, damping=self.damping, undeformed=shape, plasticity=self.plasticity
        )


@dataclass(frozen=True)
class CollisionsAsked:
    """How the shell bumps into itself and into colliders. Raises InputError for settings of collisions without any."""

    kind: str | None = None
    colliders: tuple[str, ...] = ()
    friction: float | None = None
    distance: float | None = None

    def __post_init__(self) -> None:
        if self.kind is not None:
            checks.one_of(self.kind, "--collisions", COLLISIONS)
            IPCTK.require()
        elif self.colliders or self.friction is not None or self.distance is not None:
            raise InputError(
                "--collider, --friction and --distance are for collisions; say --collisions fast, or exact"
            )
        for text in self.colliders:
            if _ground(text) is None and Path(text).suffix.lower() not in (*READERS, *FORMATS):
                raise InputError(
                    f'--collider {text!r} must be "ground", "ground:HEIGHT", a mesh file ({" ".join(READERS)}) or an '
                    f"animation ({' '.join(FORMATS)})"
                )

    def made(self, progress: Progress) -> dict[str, Any]:
        """The options of `enrich` that say this, files read."""
        if self.kind is None:
            return {}
        given = {"friction": self.friction, "distance": self.distance}
        colliders = [_collider(text, progress) for text in self.colliders]
        known = {name: value for name, value in given.items() if value is not None}
        return {"collisions": self.kind, "colliders": colliders, **known}


def _collider(text: str, progress: Progress) -> Ground | MeshTri | MeshTet | Animation:
    ground = _ground(text)
    if ground is not None:
        return ground
    if Path(text).suffix.lower() in READERS:
        return require_surface(read_mesh(text), f"the collider {text}")
    return read_animation(text, progress=progress)


def _ground(text: str) -> Ground | None:
    """The plane that "ground" or "ground:HEIGHT" names."""
    word, given, height = text.partition(":")
    if word != "ground":
        return None
    return Ground(number(height, "--collider ground, its height (m)")) if given else Ground()


def cloth_asked(
    material: dict[str, float | None], damping: str | None, plastic: str | None, undeformed: str | None,
    fixed: list[str] | None, seed: int,
) -> ClothAsked:  # fmt: skip
    """The shell that options ask for; those of CLOTH and DAMPING where they say nothing."""
    given = {name: value for name, value in material.items() if value is not None}
    return ClothAsked(
        MaterialShell(**(vars(CLOTH) | given)),
        DAMPING if damping is None else pair(damping, "--damping"),
        None if plastic is None else Plasticity(**_sizes(plastic, "--plastic", ("most_curvature", "hardening"), 1)),
        None if undeformed is None else shape_of(undeformed, seed),
        tuple(fixed or ()),
    )


def shape_of(text: str, seed: int = 0) -> Callable[[MeshTri], Array]:
    """A shape at rest from "KIND:SIZES [along X,Y,Z]", as a function of the mesh."""
    kind, _, rest = text.partition(":")
    name = kind.strip()
    if name not in SHAPES:
        forms = ", ".join(f"{each}:{','.join(sizes).upper()}" for each, (_, sizes, _) in SHAPES.items())
        raise InputError(f"--undeformed {text!r} is not known; write one of {forms}, in metres")
    make, names, directed = SHAPES[name]
    sizes, along, direction = rest.partition("along")
    options: dict[str, Any] = dict(_sizes(sizes, f"--undeformed {name}", names, len(names)))
    if along and not directed:
        raise InputError(f"--undeformed {text!r}: {name} has no direction; leave `along` out")
    if along:
        options["direction"] = vector(direction, f"the direction of --undeformed {name}")
    if not directed:
        options["seed"] = seed
    return lambda mesh: make(mesh, **options)


def air_on(
    mesh: MeshTri, wind: Array | None, gusts: dict[str, float], pressure: float | None, seed: int
) -> list[LoadWind | LoadPressure]:
    """The air's forces on a mesh; none where neither wind nor gusts nor pressure are asked for."""
    loads: list[LoadWind | LoadPressure] = []
    if wind is not None or gusts:
        loads.append(LoadWind(mesh, np.zeros(3) if wind is None else wind, seed=seed, **gusts))
    if pressure is not None:
        loads.append(LoadPressure(mesh, checks.real_number(pressure, "--pressure (Pa)")))
    return loads


def gusts_of(text: str | None) -> dict[str, float]:
    """Strength [m/s] and, where given, scale [m] of gusts."""
    return {} if text is None else _sizes(text, "--gusts", ("gusts", "scale"), 1)


def labels_of(path: Path, option: str) -> Labels:
    """Labels from an .npy, or from a text file with one on each line: a whole number, -1 for none, or a word."""
    if path.suffix.lower() == ".npy":
        return _stored(path)
    if path.suffix.lower() == ".txt":
        return [_label(line) for line in text_lines(path)]
    raise FileError(f"{option} {path}: labels are read from .npy and .txt, one for each vertex or triangle")


def _stored(path: Path) -> Labels:
    try:
        found = read_array(path)
    except FileError as reason:
        said = f"{reason}; whole numbers go into an .npy, words into a .txt"
        raise FileError(f"cannot read labels from {path}: {said}") from None
    if found.ndim != 1 or found.dtype.kind not in "iuU":
        raise FileError(
            f"{path} holds {found.dtype} of shape {found.shape}, but labels are one list of whole numbers, -1 where "
            "there is none"
        )
    return found


def _label(line: Line) -> int | str:
    word = line.text
    try:
        return int(word)
    except ValueError:
        pass
    try:
        float(word)
    except ValueError:
        return word
    raise line.wrong(f"a label is a whole number or a word, not {word!r}")


def _sizes(text: str, option: str, names: tuple[str, ...], least: int) -> dict[str, float]:
    """Numbers separated by commas, by name; those after the first `least` may be missing."""
    words = text.split(",")
    if not least <= len(words) <= len(names):
        form = ",".join(names[:least]) + "".join(f"[,{name}]" for name in names[least:])
        raise InputError(f"{option} is {text.strip()!r}, but must be {form.upper()}: numbers separated by commas")
    return {name: number(word, f"{option}, its {name}") for name, word in zip(names, words)}


def _halved(guide: Animation, levels: int) -> Animation:
    """The same motion of the guide's mesh with every edge halved `levels` times."""
    assert isinstance(guide.mesh, MeshTri)
    fine, P = subdivide(guide.mesh, levels=levels)
    positions = np.stack([np.asarray(P @ guide.frame(frame)) for frame in range(guide.frames)])
    return Animation(fine, positions, guide.fps, start_frame=guide.start_frame, name=guide.name)
