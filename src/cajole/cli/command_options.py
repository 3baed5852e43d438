"""The options of every command: type, default, unit and help text of each, and the help text of the command.

This module imports no numerical package, so that `--help` and completion are fast.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import MISSING, dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from cajole.cli.options import CommandOptions, argument, complete_files_and_scenes, get_parameters, option

# options by the heading under which the help lists them
_body_option = partial(option, panel="Body")
_material_option = partial(option, panel="Material")
_reading_option = partial(option, panel="Reading the animation")
_energy_option = partial(option, panel="Energy of the edit")
_region_option = partial(option, panel="Regions that follow the guide")
_force_option = partial(option, panel="Forces and collisions")
_spring_option = partial(option, panel="Springs of a file")
_pilot_option = partial(option, panel="Pilot of a mesh")
_image_option = partial(option, panel="Goals from sectional images")

# materials of the scenes of `cajole enrich`, the default first
ENRICH_MATERIALS = {
    "flag": ("cotton",),
    "box": ("cloth", "limp", "card", "elastic", "paper", "foil", "calm", "wobbly", "heavy"),
    "bag": ("vinyl", "silk", "accordion", "ridges", "crinkle", "wind"),
    "walker": ("story", "calm", "headwind", "current"),
}
RENDERERS = ("draft", "mitsuba", "auto")


def _fps() -> Any:
    return _reading_option(
        "Frame rate [1/s]; default: the rate in the file. A higher rate plays the same frames faster.", metavar="RATE"
    )


def _mesh() -> Any:
    return _reading_option("Mesh file of a .pc2 or .mdd; default: the mesh beside it.")


def _prim() -> Any:
    return _reading_option("Name of the mesh to read from a USD or GLB file with several.", metavar="NAME")


def _gravity() -> Any:
    return _body_option(
        'Gravity [m/s²]: "9.81" acts along -z, a vector along itself; default: none, of a mesh to reroute 9.81.',
        metavar="G|X,Y,Z",
    )


def _frame_time() -> Any:
    return option(
        'Time between frames [s], "0.02" or "1/60"; default: 1/60. Smaller values resolve faster motions and take more '
        "steps.",
        metavar="SECONDS",
    )


def _output() -> Any:
    return option(
        "File to write; its suffix selects an animation (.npz .glb .usdc .pc2 .mdd .obj), an interactive page "
        "(.html), a loop (.webp .gif .mp4) or a still (.png .jpg). Repeatable.",
        "--output",
        "-o",
        readable=False,
    )


@dataclass(frozen=True, kw_only=True)
class FixedMaterialOptions(CommandOptions):
    """Fixed vertices and elastic material of a body."""

    fixed: list[str] | None = _body_option(
        'Vertices to hold, in place of the scene\'s own: a part ("feet"), numbers ("0,4,7"), a region ("x<10%" of the '
        'length, "z>0.2 & x<1" in metres), a .bou file, or "none". Repeatable.',
        metavar="WHERE",
    )
    young: float | None = _material_option(
        "Young's modulus [Pa]; default: that of the scene or file. Larger values are stiffer.", metavar="PASCAL"
    )
    poisson: float | None = _material_option(
        "Poisson's ratio, below 0.5; default: that of the scene or file. Larger values change volume less.",
        metavar="RATIO",
    )
    density: float | None = _material_option(
        "Density [kg/m³]; default: that of the scene or file. Larger values are heavier and swing more slowly.",
        metavar="DENSITY",
    )


@dataclass(frozen=True, kw_only=True)
class MeshedBodyOptions(FixedMaterialOptions):
    """Resolution of the tets of a body."""

    tets: int | None = _body_option(
        "Approximate number of tets of a scene; default: the scene's own. More tets are finer and slower."
    )
    cells: int = _body_option(
        "Number of cells along the longest side when a surface is filled with tets. More cells are finer and slower.",
        default=24,
    )


@dataclass(frozen=True, kw_only=True)
class StaticBodyOptions(MeshedBodyOptions):
    """Source, resolution, fixed vertices and material of a solid body."""

    source: str = argument(
        "Built-in scene, or mesh file. A surface is filled with tets.",
        metavar="SCENE|FILE",
        complete=complete_files_and_scenes("body"),
    )
    scale: float = _body_option("Metres per unit of a file: 0.001 for millimetres.", default=1.0, metavar="METRES")
    up: str = _body_option("Axis that points up in a file; y is rotated to z.", default="z", choices=("z", "y"))


@dataclass(frozen=True, kw_only=True)
class BodyOptions(StaticBodyOptions):
    """Source, resolution, fixed vertices, material and damping of a solid body."""

    damping: str | None = _material_option(
        "Rayleigh damping: alpha of the mass [1/s], beta of the stiffness [s]; default: that of the scene or file. "
        "More alpha damps slow motion, more beta damps fast vibration.",
        metavar="ALPHA,BETA",
    )


@dataclass(frozen=True, kw_only=True)
class SimulateCommandOptions(BodyOptions):
    """Simulate a scene or a mesh file, and write the motion.

    [green]cajole simulate dinosaur --push "head: 0,0.03,0 weights for 0.3" -o wag.glb[/]

    [green]cajole simulate beam.veg --fixed "x<1%" --gravity 9.81 -o sag.usdc -o sag.webp[/]

    [green]cajole simulate jelly.obj --fixed none --gravity 9.81 --obstacle ground --obstacle step.obj -o fall.html[/]

    [green]cajole simulate bunny.obj --fixed "z<5%" --young 5e4 --push "z>90%: 40,0,0 for 0.3" -o bunny.npz[/]
    """

    frames: int | None = option("Number of frames, the start included; default: 120.")
    dt: str | None = _frame_time()
    fps: float | None = option("Frame rate [1/s], in place of --dt.", metavar="RATE")
    duration: float | None = option("Duration [s], in place of --frames.", metavar="SECONDS")
    push: list[str] | None = option(
        'Force on selected vertices: "head: 0,300,0 for 0.2" is 300 N along y for 0.2 s, "x>90%: 0,0,-0.5 weights '
        "from 1\" half the body's weight downward from 1 s on. WHERE as for --fixed. Repeatable.",
        metavar='"WHERE: FX,FY,FZ ..."',
    )
    start: str | None = option(
        "Initial pose, at rest: a frame of an animation or a mesh file, as for --key of keyframe; default: the rest "
        "shape.",
        metavar="FILE[#FRAME]",
    )
    obstacle: list[str] | None = option(
        "Obstacle: the plane z = 0, or a closed mesh. Repeatable.", metavar="ground|FILE"
    )
    output: list[Path] | None = _output()
    integrator: str = option(
        "Time integrator: newmark preserves energy, bdf2 takes one linear solve per step and damps slightly, euler "
        "damps strongly.",
        default="newmark",
        choices=("newmark", "bdf2", "euler"),
    )
    substeps: int = option("Time steps per frame. More steps are more accurate and slower.", default=1)
    gravity: str | None = _gravity()


@dataclass(frozen=True, kw_only=True)
class PoseCommandOptions(StaticBodyOptions):
    """Find static equilibrium under loads, pins and gravity.

    The output is a still picture (.png), an animation of one frame (.npz .glb .usdc), or the deformed surface (.obj).

    [green]cajole pose beam --load "x>99%: 0,0,-200" -o bent.png[/]

    [green]cajole pose dinosaur --pin "head: 0,0.5,0" -o look.glb[/]
    """

    load: list[str] | None = option(
        'Total force on selected vertices: "head: 0,0,-300" in newtons or "tail: 0,0.2,0 weights". Repeatable.',
        metavar='"WHERE: FX,FY,FZ"',
    )
    pin: list[str] | None = option(
        'Prescribed displacement [m] of selected vertices: "tail: 0,0.4,0". Repeatable.', metavar='"WHERE: DX,DY,DZ"'
    )
    output: list[Path] | None = _output()
    gravity: str | None = _gravity()


@dataclass(frozen=True, kw_only=True)
class ModesCommandOptions(StaticBodyOptions):
    """List the lowest vibration modes, and write one of them as a looping animation.

    [green]cajole modes dinosaur --count 10[/]

    [green]cajole modes beam.veg --fixed "x<1%" --mode 3 -o mode3.glb -o mode3.webp[/]
    """

    count: int | None = option("Number of modes, from the lowest; default: 30, or all modes of a small body.")
    mode: int = option("Number of the mode to write, from 1.", default=1, metavar="NUMBER")
    output: list[Path] | None = _output()


@dataclass(frozen=True, kw_only=True)
class KeyframeCommandOptions(BodyOptions):
    """Find the motion through poses that needs the least added force.

    Ctrl-C ends the optimisation and keeps the best motion so far; a second Ctrl-C discards it.

    [green]cajole pose dinosaur --pin "head: 0,0.5,0" -o left.npz[/]

    [green]cajole keyframe dinosaur --key 60=left.npz --frames 121 -o look.glb -o look.webp[/]

    [green]cajole keyframe dinosaur --key "60=left.npz on head hard" --frames 121 -o look.html[/]
    """

    key: list[str] = option(
        'Pose at a frame: an animation (its last frame, or FILE#3 for frame 3), an .npz with an array "displacement" '
        "(n, 3) in metres, or a mesh file with the vertices of the body or of its skin, to which the body is fitted. "
        "A key at frame 0 is the start of the motion. Optional suffixes: on WHERE (only these vertices count), weight "
        "5 (against other keys), hard (met exactly). Repeatable.",
        default=MISSING,
        metavar='"FRAME=FILE ..."',
    )
    frames: int | None = option("Number of frames, the start included; default: up to the last key.")
    dt: str | None = option(
        'Time between frames [s], "1/60"; default: a time that suits the keys, rarely a round frame rate.',
        metavar="SECONDS",
    )
    effort: float = option(
        "Cost of added force against the error of the keys: 0.1 loose (keys are hints), 1e-2 soft, 1e-4 normal (met "
        "to a fraction of a percent).",
        default=1e-4,
        metavar="WEIGHT",
    )
    modes: int | None = option(
        "Number of vibration modes in the basis beside the keys; default: 10, or all of a small body. More modes give "
        "a livelier motion and a slower solve."
    )
    loop: bool = option("Return to the start, so that the motion repeats; requires --frames.", "--loop", default=False)
    output: list[Path] | None = _output()


@dataclass(frozen=True, kw_only=True)
class EditCommandOptions(MeshedBodyOptions):
    """Drag vertices of a finished animation; all frames follow with the least forces.

    [green]cajole simulate dinosaur --push "head: 0,0.1,0 weights for 0.3" -o wag.npz[/]

    [green]cajole edit wag.npz --body dinosaur --drag "@head:40:+0,0,0.3" -o nod.glb --save-edit nod.json[/]

    [green]cajole edit twist -o twisted.html[/]

    [green]cajole edit walk.usdc --drag "@0.1,0,1.6:24:z=1.5" --contacts ground -o walk2.usdc[/]
    """

    source: str = argument(
        "Finished animation in any format, or a scene with drags of its own: twist, stairs, bird, bridge, "
        "bridge-pulled, curtain.",
        metavar="SCENE|FILE",
        complete=complete_files_and_scenes("edit"),
    )
    drag: list[str] | None = option(
        'Target of vertices in a frame [m]: "7:20:0,0.1,0.4"; "7:20:+0,0,0.1" relative to the current position; '
        '"7:20:z=0.4" in z alone. WHERE as for --fixed, or one vertex: "@head", in the middle of a part, "@x,y,z", '
        "nearest to a point at rest. Repeatable.",
        metavar="WHERE:FRAME:X,Y,Z",
    )
    pin: list[str] | None = option("Vertices that keep their position in a frame. Repeatable.", metavar="WHERE:FRAME")
    tie: list[str] | None = option(
        "Vertex that keeps an offset [m] from another in a frame; default: the offset they have. Repeatable.",
        metavar="V:W:FRAME[:X,Y,Z]",
    )
    script: Path | None = option(
        'Text file with one operation per line, such as "drag 7:20:0,0,1 8:20:0,0,1" (together), pin, tie, release; # '
        "starts a comment. It runs after --pin and --tie, before --drag."
    )
    edit_file: Path | None = option("Saved edit to continue (.json).", "--edit")
    save_file: Path | None = option("File for the edit, to continue it later (.json).", "--save-edit", readable=False)
    contacts: list[str] | None = option(
        "Contacts to preserve: with the plane z = 0, with itself, or with a mesh. Repeatable.",
        metavar="ground|self|FILE",
    )
    modes: int | None = option(
        "Number of vibration modes of the edit; default: 500, or all that exist. More modes allow finer changes and "
        "are slower."
    )
    ends: str | None = _energy_option(
        'Boundary in time: "fixed" keeps the last two frames, "free" lets them change; default: fixed.',
        choices=("fixed", "free"),
    )
    energy: str | None = _energy_option(
        'Energy of the edit: "forces" swings as the body does, "smooth" fades in and out; default: forces.',
        choices=("forces", "smooth"),
    )
    smoothness: float | None = _energy_option(
        "Weight of the smooth energy; default: 1. Larger values spread the change over more frames.", metavar="WEIGHT"
    )
    h: str | None = _energy_option(
        "Time step of the edit energy [s]; default: the frame time. Smaller steps make a change last longer.",
        metavar="SECONDS",
    )
    damping: str | None = _energy_option(
        "Rayleigh damping of the change, not of the motion: alpha [1/s], beta [s]; default: that of the body. More "
        "damping makes a change decay sooner.",
        metavar="ALPHA,BETA",
    )
    window: str | None = _energy_option(
        "Frames that may change; default: all. A longer window needs smaller forces.", metavar="FIRST:LAST"
    )
    region: list[str] | None = _energy_option("Vertices that may change; default: all. Repeatable.", metavar="WHERE")
    warp: str | None = _energy_option(
        "Rotation correction of large changes: composition, additive (as in the paper) or none; default: composition.",
        choices=("composition", "additive", "none"),
    )
    whole: bool = _energy_option("Allow rigid motion of a body without fixed vertices.", "--whole", default=False)
    body: str | None = _body_option(
        "Body of the edit: the animation's tets, its triangles as a shell, cells around them; or the scene or mesh "
        "file that was simulated. Default: chosen by the mesh.",
        metavar="solid|shell|around|SCENE|FILE",
        complete=lambda incomplete: [
            *(kind for kind in ("solid", "shell", "around") if kind.startswith(incomplete)),
            *complete_files_and_scenes("body")(incomplete),
        ],
    )
    thickness: float | None = _material_option(
        "Thickness of a shell [m]. Thicker shells resist bending more.", metavar="METRES"
    )
    output: list[Path] | None = _output()
    mesh: Path | None = _mesh()
    fps: float | None = _fps()
    prim: str | None = _prim()


@dataclass(frozen=True, kw_only=True)
class SteerCommandOptions(BodyOptions):
    """Disturb a motion, and return to it with the least added force.

    Give the body as it was when the motion was made: the same --fixed, --young, --density and --damping. There is no
    --gravity: the forces of the motion, gravity among them, are computed from it.

    [green]cajole steer dinosaur --push "head: 0,0.1,0 weights for 0.2 from 0.5" --plot back.png -o back.glb[/]

    [green]cajole simulate dinosaur --push "head: 0,0.1,0 weights for 0.3" -o wag.npz[/]

    [green]cajole steer dinosaur --motion wag.npz --wind 2 --seed 7 --effort 1e-3 -o windy.webp[/]

    A controller file from --save runs again with other pushes and weights:

    [green]cajole steer controller.npz --push "x>90%: 0,0,0.1 weights for 0.1" -o again.glb[/]

    The flow scenes swirl and leaves have particles that keep to their paths in gusts and noise:

    [green]cajole steer leaves --seed 3 -o letter.webp[/]
    """

    source: str = argument(
        "Built-in scene or flow scene, mesh file, or controller file (.npz).",
        metavar="SCENE|FILE",
        complete=complete_files_and_scenes("body", "flow"),
    )
    motion: Path | None = option(
        "Reference motion: an animation of the body's vertices, as simulate and keyframe write to .npz; default: the "
        "rest shape."
    )
    tracking: float = option(
        "Cost of the tracking error at all times. Larger values follow more closely with more force.",
        default=1.0,
        metavar="WEIGHT",
    )
    final: float | None = option(
        "Cost of the error at the last frame; default: 0, of a flow scene its own. Larger values end closer.",
        metavar="WEIGHT",
    )
    effort: float | None = option(
        "Cost of added force: 1e-4 stiff, 1e-2 normal, 1 gentle and slow to return; default: 1e-2, of a flow scene its "
        "own.",
        metavar="WEIGHT",
    )
    push: list[str] | None = option(
        'Unforeseen push: "head: 0,0.1,0 weights for 0.2 from 1"; of a flow "PARTICLE: AX,AY". Repeatable.',
        metavar='"WHERE: FX,FY,FZ ..."',
    )
    wind: float | None = option("Strength of random gusts [m/s², root mean square]; default: none.", metavar="STRENGTH")
    seed: int = option(
        "Seed of the random gusts and samples; each seed gives another run.", default=0, metavar="NUMBER"
    )
    loops: int = option("Number of repetitions of the motion; the first frame follows the last.", default=1)
    uncontrolled: bool = option("Write the run without control.", "--uncontrolled", default=False)
    modes: int | None = option(
        "Number of vibration modes in the basis beside the motion's own directions; default: 20, or all of a small "
        "body. More modes resolve more disturbances and are slower."
    )
    components: int | None = option(
        "Number of the motion's own directions in the basis; default: as many as it needs, at most 16."
    )
    substeps: int | None = option("Time steps per frame of the motion; default: 1, or as many as it needs to converge.")
    samples: int = option(
        "Number of disturbed simulations from which --modes directions are computed, in place of vibration modes; for "
        "example 50. 0 uses vibration modes.",
        default=0,
    )
    cluster: str | None = option(
        'Workers of the samples: "processes", "processes:4", "dask", or a scheduler "tcp://host:port"; default: this '
        "process.",
        metavar="WORKERS",
        complete=lambda incomplete: [each for each in ("processes", "dask") if each.startswith(incomplete)],
    )
    frames: int | None = option("Number of frames without --motion; default: 121.")
    dt: str | None = option('Time between frames without --motion [s]; default: "1/60".', metavar="SECONDS")
    save: Path | None = option("File for the controller, an .npz that needs no body to run again.", readable=False)
    plot: Path | None = option(
        "Plot of error and added force over time, with and without control (.png).", readable=False
    )
    output: list[Path] | None = _output()


@dataclass(frozen=True, kw_only=True)
class EnrichCommandOptions(FixedMaterialOptions):
    """Let a thin shell follow a rough animation on average; its material makes the folds.

    Start with the guide's own mesh, subdivided. A stiffer or thicker shell has fewer and wider folds; fewer regions
    leave more to it. The default shell is cloth: --young 2e4 --thickness 2e-3 --density 300 --damping 0.5,1e-3.

    [green]cajole enrich rough.usdc --subdivide 3 --gravity 9.81 -o folds.usdc -o folds.webp[/]

    [green]cajole enrich bag --material silk --collisions fast -o silk.webp[/]

    [green]cajole enrich flag.glb --subdivide 3 --clusters 20 --wind 6,0,0 --gusts 2 --plastic 40 -o flag.npz[/]
    """

    source: str = argument(
        "Scene to enrich (flag, box, bag, walker), or a rough animation in any format.",
        metavar="SCENE|GUIDE",
        complete=complete_files_and_scenes("enrich"),
    )
    material: str | None = _material_option(
        "Material of a scene, such as vinyl or silk for the bag; default: its first.",
        metavar="NAME",
        complete=lambda incomplete: sorted(
            {name for names in ENRICH_MATERIALS.values() for name in names if name.startswith(incomplete)}
        ),
    )
    subdivide: int | None = _region_option(
        "Number of subdivisions of the guide's mesh; each halves every edge, for example 3. The mean around each guide "
        "vertex follows the guide. More levels give finer folds and slower steps.",
        metavar="LEVELS",
    )
    clusters: int | None = _region_option(
        "Number of patches of the mesh, found from the motion, whose means follow the guide; with --subdivide, "
        "patches of the finer mesh. Fewer patches leave more to the material."
    )
    mu: float | None = _region_option("Shape of patches: 1 for round, 0 for flat; default: 0.5.", metavar="WEIGHT")
    fine: Path | None = _region_option("Separate mesh of the shell, matched to the guide by labels.", metavar="MESH")
    paint_guide: Path | None = _region_option(
        "Labels of the guide's vertices or triangles: an .npy, or a .txt with one per line; integers or words, -1 for "
        "none. Regions with the same label on both meshes have the same mean."
    )
    paint_fine: Path | None = _region_option("Labels of the --fine mesh, as for --paint-guide.")
    paint_on: str | None = _region_option(
        "Elements that labels refer to, where a mesh has as many vertices as triangles; vertices,triangles for guide "
        "and --fine.",
        metavar="vertices|triangles[,...]",
        complete=lambda incomplete: [each for each in ("vertices", "triangles") if each.startswith(incomplete)],
    )
    dt: str | None = option(
        "Longest time step [s]; default: 1/240, or that of a scene. Longer steps are faster and damp folds.",
        metavar="SECONDS",
    )
    newton: int | None = option(
        "Linear solves per step; default: 1. With more, up to 30, a step is solved until it converges."
    )
    frames: int | None = option(
        "Number of frames; default: those of the guide. Beyond its end the guide stands still and the shell moves on."
    )
    left_alone: bool = option(
        "Simulate from the same start without tracking, for comparison.", "--left-alone", default=False
    )
    seed: int = option(
        "Seed of patches, gusts and crinkles; each seed gives another result.", default=0, metavar="NUMBER"
    )
    output: list[Path] | None = _output()
    undeformed: str | None = _body_option(
        'Stress-free shape, sizes in metres: "accordion:AMPLITUDE,WAVELENGTH", "ridges:HEIGHT,SPACING,WIDTH", both '
        'optionally followed by " along X,Y,Z"; "crinkle:AMPLITUDE,SCALE". Default: the mesh.',
        metavar="KIND:SIZES",
    )
    thickness: float | None = _material_option(
        "Thickness [m]; default: 2e-3. Thicker shells have fewer and wider folds.", metavar="METRES"
    )
    damping: str | None = _material_option(
        "Rayleigh damping: alpha of the mass [1/s], beta of the stiffness [s]; default: 0.5,1e-3. More damping calms "
        "the folds sooner.",
        metavar="ALPHA,BETA",
    )
    plastic: str | None = _material_option(
        "Curvature above which folds stay [1/m], and hardening of these folds [m], negative for softening; default: "
        "none.",
        metavar="CURVATURE[,HARDENING]",
    )
    gravity: str | None = _gravity()
    wind: str | None = _force_option("Velocity of the air [m/s]; default: none.", metavar="X,Y,Z")
    gusts: str | None = _force_option(
        "Root mean square speed [m/s] and size [m] of gusts; default: none.", metavar="STRENGTH[,SCALE]"
    )
    pressure: float | None = _force_option(
        "Pressure along the normals of the shell [Pa]; negative values act against them. Default: none.",
        metavar="PASCAL",
    )
    collisions: str | None = _force_option(
        "Collision response: fast corrects each step, and means are met as far as contacts allow; exact solves both "
        "together and is about ten times slower. Default: no collisions.",
        choices=("fast", "exact"),
    )
    collider: list[str] | None = _force_option(
        "Obstacle beside the shell itself: the plane z = 0, or at ground:HEIGHT [m], a mesh, an animation. Repeatable.",
        metavar="ground|FILE",
    )
    friction: float | None = _force_option(
        "Coulomb friction coefficient of collisions, also between folds; default: 0.3.", metavar="COEFFICIENT"
    )
    distance: float | None = _force_option(
        "Distance at which surfaces start to repel [m]; default: a tenth of the mean edge, or the thickness if larger.",
        metavar="METRES",
    )
    mesh: Path | None = _mesh()
    fps: float | None = _fps()
    prim: str | None = _prim()


@dataclass(frozen=True, kw_only=True)
class RerouteCommandOptions(CommandOptions):
    """Run a mass-spring simulation again, with vertices led to goals.

    The forces of an animation are computed from it: give its springs as they were, and no gravity.

    [green]cajole reroute cloth --compare -o cloth.webp[/]

    [green]cajole reroute cloth --goal "399:50:+-0.1,0,0.1" --method least-force --limit 0.1 -o corner.npz[/]

    [green]cajole reroute heart --images "scan/*.png" --at 16,28 --section "-0.06,0,0.06:1,0,0:0,0,1:0.001" -o a.glb[/]

    [green]cajole reroute towel.obj --fixed "y>99%" --mass 0.2 --goal "@0,0,0:60:+0.1,0,0.1" -o towel.glb[/]
    """

    source: str = argument(
        "Scene to reroute (cloth, skirt, heart, heart_dragged); an animation, whose edges become springs; or a mesh, "
        "whose fall is simulated first.",
        metavar="SCENE|FILE",
        complete=complete_files_and_scenes("reroute"),
    )
    goal: list[str] | None = option(
        'Target of vertices at a frame [m]: "7:60:0.1,0,0.4", or "7:60:+0,0,0.1" relative to the pilot. Default: the '
        "goals of the scene. Repeatable.",
        metavar='"WHERE:FRAME:X,Y,Z"',
    )
    method: str = option(
        "Method: pattern keeps the shape of the path, least-force minimises force, paper is the scheme of 2007.",
        default="pattern",
        choices=("pattern", "least-force", "paper"),
    )
    within: float | None = option(
        "Distance at which a goal counts as reached [m]; default: 0.01, or that of a scene. Smaller values need more "
        "force.",
        metavar="METRES",
    )
    limit: float | None = option(
        "Largest force on any vertex [N]; default: none. Smaller limits reach fewer goals.", metavar="NEWTON"
    )
    reach: float | None = option(
        "Distance along springs up to which neighbours are led too [m]; default: nine spacings; 0 leads the vertex "
        "alone.",
        metavar="METRES",
    )
    window: int | None = option(
        "Frames before a goal in which forces act; default: more for distant goals. A longer window needs smaller "
        "forces."
    )
    compare: bool = option("Run all three methods and print a comparison.", "--compare", default=False)
    stiffness: float | None = _spring_option("Stiffness of every spring [N/m]; default: 100.", metavar="STIFFNESS")
    mass: float | None = _spring_option("Mass of the whole net [kg]; default: 1.", metavar="KILOGRAMS")
    damping: float | None = _spring_option(
        "Damping of every spring [N s/m]; default: 0.05. Larger values calm the motion sooner.", metavar="DAMPING"
    )
    clamp: float | None = _spring_option(
        "Compression at which springs start to give way, as a share of their length; default: 0.02. Larger values fold "
        "more softly.",
        metavar="SHARE",
    )
    fixed: list[str] | None = _spring_option('Vertices to hold: "0,19", "x<5%". Repeatable.', metavar="WHERE")
    frames: int | None = _pilot_option("Number of frames; default: 120.")
    dt: str | None = _frame_time()
    gravity: str | None = _gravity()
    images: str | None = _image_option(
        "Grey images of one section over time (.png .npy); the body's section is led to match them.",
        metavar="FOLDER|PATTERN",
    )
    at: str | None = _image_option("Frame of each image.", metavar="FRAME,FRAME,...")
    section: str | None = _image_option(
        "Plane of the images: the centre of the upper left pixel, the direction of rows, the direction against "
        'columns, and the size of a pixel [m]: "-0.06,0,0.06:1,0,0:0,0,1:0.001".',
        metavar="ORIGIN:RIGHT:UP:PIXEL",
    )
    align: str | None = _image_option(
        "Alignment of image contours with the body: rigid, shift or none; default: rigid.",
        choices=("rigid", "shift", "none"),
    )
    level: float | None = _image_option(
        "Grey value of the contour; default: half the height of the edge.", metavar="GREY"
    )
    every: int | None = _image_option(
        "Stride of the led vertices around the section; default: 2, every second one.", metavar="STRIDE"
    )
    pilot: Path | None = option("File for the pilot, the first run.", readable=False)
    output: list[Path] | None = _output()


@dataclass(frozen=True, kw_only=True)
class PictureCommandOptions(CommandOptions):
    """Render a scene, a mesh or an animation.

    [green]cajole picture flower flower.png[/]

    [green]cajole picture wag.npz wag.webp --frames 36 --size 480x320[/]

    [green]cajole picture fish fish.jpg --renderer mitsuba[/]
    """

    source: str = argument(
        "Built-in scene, mesh file or animation.", metavar="SCENE|FILE", complete=complete_files_and_scenes("body")
    )
    output: Path = argument(
        "Still (.png .jpg) or, of an animation, loop (.webp .gif .mp4) to write.", metavar="FILE", readable=False
    )
    frame: int | None = option("Frame of a still; default: the one farthest from the rest shape.", metavar="NUMBER")
    frames: int | None = option("Number of frames of a loop; default: all, at most 48.")
    size: str | None = option("Size in pixels; default: 960x640, of a loop 480x320.", metavar="WxH")
    samples: int = option(
        "Light paths per pixel of the path tracer. More paths give less noise and take longer.", default=16
    )
    azimuth: float | None = option(
        "Angle of the camera around the body [degrees]; default: in front of its longer side.", metavar="DEGREES"
    )
    elevation: float | None = option("Height of the camera as an angle [degrees]; default: 10.", metavar="DEGREES")
    renderer: str = option(
        "Renderer: draft (rasteriser, about a second), mitsuba (path tracer, half a minute), or auto (mitsuba for "
        "stills if installed).",
        default="draft",
        choices=RENDERERS,
    )
    wireframe: bool = option("Draw the edges of the mesh.", default=False)
    mesh: Path | None = option("Mesh file of a .pc2 or .mdd; default: the mesh beside it.")


@dataclass(frozen=True, kw_only=True)
class ScenesCommandOptions(CommandOptions):
    """List the built-in scenes: bodies, finished motions to edit, motions to steer, to enrich and to reroute.

    Scenes are generated at first use and kept in the cache. Use the name of a body wherever a command takes SCENE|FILE.

    [green]cajole scenes[/]

    [green]cajole scenes --render pictures[/]
    """

    render: Path | None = option("Folder for a picture of each scene, FOLDER/name.png.", metavar="FOLDER")
    renderer: str = option(
        "Renderer: draft (about a second per picture), mitsuba (half a minute), or auto.",
        default="draft",
        choices=RENDERERS,
    )


@dataclass(frozen=True, kw_only=True)
class StudioCommandOptions(CommandOptions):
    """Open the studio: drag, pose and push bodies in the browser.

    Prints the address to open; Ctrl-C ends it. The studio saves every step.

    [green]cajole studio[/]

    [green]cajole studio twist --no-browser --port 8000[/]
    """

    protects_inputs: ClassVar[bool] = False  # the studio writes the projects that it reads

    source: str | None = argument(
        "Scene, mesh or animation to open; default: the start page.",
        metavar="SCENE|FILE",
        default=None,
        complete=complete_files_and_scenes(),
    )
    mode: str | None = option(
        "Verb to start with; default: the first that fits the source.",
        choices=("edit", "keyframe", "steer", "enrich", "reroute"),
    )
    browser: bool = option("Open a browser.", "--browser/--no-browser", default=True)
    port: int | None = option("Port to listen at; default: a free one.", metavar="PORT")
    host: str = option(
        "Address to listen at. Other machines can connect to any address but this machine's own.",
        default="127.0.0.1",
        metavar="ADDRESS",
    )
    folder: Path | None = option("Folder of projects; default: the user's data folder.", metavar="FOLDER")


@dataclass(frozen=True, kw_only=True)
class DemoCommandOptions(CommandOptions):
    """Run the built-in scenes of every verb, and write animations, stills, loops and a page that shows them.

    [green]cajole demo[/]

    [green]cajole demo --scene bridge --scene fish --output out[/]
    """

    output: Path = option("Folder to write.", "--output", "-o", default=Path("demo"), metavar="FOLDER")
    scene: list[str] | None = option(
        "Item to run; default: all. Repeatable.",
        choices=("flower-eight", "strike", "twist", "box", "cloth", "swirl", "fish", "bridge"),
    )
    workers: int = option("Number of processes. More are faster on machines with as many cores.", default=2)


@dataclass(frozen=True, kw_only=True)
class RunCommandOptions(CommandOptions):
    """Run recipes: a verb and its options, or several steps, written in TOML. Paths are relative to the recipe.

    A key is the name of an option of the verb's command; see docs/recipes.md. All errors of a recipe are reported at
    once. A recipe that fails does not stop the others, and the exit code is 1.

    [green]cajole run look.toml[/]

    [green]cajole run shots/ --check[/]

    [green]cajole run shots/ --cluster processes --json[/]
    """

    recipes: list[Path] = argument("Recipes (.toml), or folders of them.", metavar="RECIPE...")
    check: bool = option("Report errors without running.", "--check", default=False)
    cluster: str | None = option(
        'Workers of several recipes: "processes", "processes:4", "dask", or a scheduler "tcp://host:port"; default: '
        "this process, one recipe after the other.",
        metavar="WORKERS",
        complete=lambda incomplete: [each for each in ("processes", "dask") if each.startswith(incomplete)],
    )


@dataclass(frozen=True, kw_only=True)
class InfoCommandOptions(CommandOptions):
    """Describe a file: format, frames, vertices, size, largest displacement.

    [green]cajole info wag.glb[/]

    [green]cajole info cache.pc2 --mesh body.obj --json[/]

    [green]cajole info back.npz[/]
    """

    file: Path = argument(
        "Mesh, animation (a folder is a sequence of .obj files), controller, saved edit (.json) or fixed vertices "
        "(.bou).",
        metavar="FILE",
    )
    mesh: Path | None = option("Mesh file of a .pc2 or .mdd; default: the mesh beside it.")


@dataclass(frozen=True, kw_only=True)
class ConvertCommandOptions(CommandOptions):
    """Convert an animation, or a mesh, to the format of the target's suffix.

    Animations: .npz .usd .usda .usdc .glb .pc2 .mdd .html, and sequences of .obj.
    Meshes: .veg .node .ele .obj .ply .stl .msh .vtk .vtu .mesh.

    [green]cajole convert wag.npz wag.usdc[/]

    [green]cajole convert cache.pc2 cache.glb --mesh body.obj[/]

    [green]cajole convert maya.mdd body.usdc --mesh maya.obj --up y --scale 0.01[/]

    [green]cajole convert body.veg body.vtu[/]
    """

    source: Path = argument("Animation or mesh to read.", metavar="SOURCE")
    target: Path = argument("File to write; its suffix selects the format.", metavar="TARGET", readable=False)
    mesh: Path | None = option("Mesh file of a .pc2 or .mdd; default: the mesh beside it.")
    fps: float | None = option("Frame rate [1/s]; default: the rate in the file.", metavar="RATE")
    prim: str | None = option("Name of the mesh to read from a USD or GLB file with several.", metavar="NAME")
    scale: float | None = option(
        "Metres per unit of a mesh, .pc2, .mdd or .obj, which do not store it; default: 1.", metavar="METRES"
    )
    up: str | None = option("Axis that points up in such a file; y is rotated to z. Default: z.", choices=("z", "y"))


@dataclass(frozen=True, kw_only=True)
class BenchCommandOptions(CommandOptions):
    """Run the benchmarks, each in a fresh process on one BLAS thread. Run it from a checkout of the source.

    [green]cajole bench[/]

    [green]cajole bench solid modes --json[/]
    """

    names: list[str] | None = argument(
        "Benchmarks to run, NAME of bench_NAME.py; default: all.", metavar="NAME...", default=None
    )
    folder: Path = option("Folder of the benchmarks.", default=Path("benchmarks"), metavar="FOLDER")


# the commands by the heading under which the help lists them, in its order
COMMAND_PANELS: dict[str, dict[str, type[CommandOptions]]] = {
    "Move a body": {
        "simulate": SimulateCommandOptions,
        "pose": PoseCommandOptions,
        "modes": ModesCommandOptions,
        "keyframe": KeyframeCommandOptions,
        "edit": EditCommandOptions,
        "steer": SteerCommandOptions,
        "enrich": EnrichCommandOptions,
        "reroute": RerouteCommandOptions,
    },
    "Show it": {
        "studio": StudioCommandOptions,
        "picture": PictureCommandOptions,
        "scenes": ScenesCommandOptions,
        "demo": DemoCommandOptions,
    },
    "Files": {"run": RunCommandOptions, "info": InfoCommandOptions, "convert": ConvertCommandOptions},
    "The project": {"bench": BenchCommandOptions},
}
COMMANDS = {name: options for commands in COMMAND_PANELS.values() for name, options in commands.items()}


def find_shared_parameters(verb: str, arguments: Collection[str]) -> dict[str, str]:
    """Help texts of the options that a command shares with the library function of its verb, by argument name.

    The API reference shows them below the docstring of the function.
    """
    return {
        name: info.help.replace("\\[", "[")
        for name, (_, info) in get_parameters(COMMANDS[verb]).items()
        if name in arguments and verb not in ("convert", "picture")
    }
