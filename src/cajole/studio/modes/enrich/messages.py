"""Messages of Enrich alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from cajole.studio.messages import StateMessage
from cajole.studio.protocol import Answer, Command, Name, SomeNodes, Whole

RegionKind = Literal["hats", "clusters", "scene", "paint"]
Side = Literal["guide", "shell"]
RestShape = Literal["flat", "accordion", "ridges", "crinkle", "own"]
AxisName = Literal["x", "y", "z"]
CollisionMethod = Literal["none", "fast", "exact"]
ShellRunKind = Literal["led", "free"]
# ranges of the settings
Young = Annotated[float, Meta(ge=1.0, le=1e11)]
Poisson = Annotated[float, Meta(ge=-0.9, le=0.5)]
Thickness = Annotated[float, Meta(ge=1e-6, le=10.0)]
Density = Annotated[float, Meta(ge=1e-3, le=1e5)]
BendingScale = Annotated[float, Meta(ge=0.0, le=1e4)]
MassDamping = Annotated[float, Meta(ge=0.0, le=1e3)]
StiffnessDamping = Annotated[float, Meta(ge=0.0, le=10.0)]
Curvature = Annotated[float, Meta(ge=0.0, le=1e6)]
Hardening = Annotated[float, Meta(ge=-1e3, le=1e3)]
Amplitude = Annotated[float, Meta(ge=0.0, le=1e3)]
Wavelength = Annotated[float, Meta(ge=1e-6, le=1e4)]
Gravity = Annotated[float, Meta(ge=-100.0, le=100.0)]
WindSpeed = Annotated[float, Meta(ge=0.0, le=200.0)]
Heading = Annotated[float, Meta(ge=-180.0, le=180.0)]
Rise = Annotated[float, Meta(ge=-90.0, le=90.0)]
GustSize = Annotated[float, Meta(ge=1e-4, le=1e4)]
Pressure = Annotated[float, Meta(ge=-1e6, le=1e6)]
Friction = Annotated[float, Meta(ge=0.0, le=10.0)]
Substeps = Annotated[int, Meta(ge=1, le=200)]
FrameCount = Annotated[int, Meta(ge=2, le=20_000)]


class SetShellLevels(Command, frozen=True, kw_only=True, tag="shell"):
    """Choose the mesh of the shell, as a job; its triangles are sent again."""

    levels: Whole | None  # subdivisions of the guide; null: the scene's own mesh


class SetRegions(Command, frozen=True, kw_only=True, tag="regions"):
    """Find regions, as a job."""

    kind: RegionKind | UnsetType = UNSET
    count: Annotated[int, Meta(ge=1, le=2**31 - 1)] | UnsetType = UNSET  # of clusters
    seed: Whole | UnsetType = UNSET  # of clusters


class PaintAnswer(Answer, frozen=True, kw_only=True, tag="done"):
    """Answer with the painted region."""

    region: int  # -1: erased


class PaintRegion(Command, frozen=True, kw_only=True, tag="paint"):
    """Paint vertices with one stroke of the brush."""

    answer: ClassVar[type[Answer]] = PaintAnswer
    on: Side
    region: Annotated[int, Meta(ge=-1, le=2**31 - 1)] | None  # null: a new one; -1: erase
    nodes: SomeNodes  # of that side
    both: bool = True  # paint the same place of the other side, too


class RemoveRegion(Command, frozen=True, kw_only=True, tag="region.remove"):
    """Remove a region."""

    region: Whole


class SetCloth(Command, frozen=True, kw_only=True, tag="cloth"):
    """Change the material of the shell, its loads, or the simulation; fields as in `EnrichDials`."""

    material: Name | UnsetType = UNSET
    young: Young | UnsetType = UNSET
    poisson: Poisson | UnsetType = UNSET
    thickness: Thickness | UnsetType = UNSET
    density: Density | UnsetType = UNSET
    bending: BendingScale | UnsetType = UNSET
    mass: MassDamping | UnsetType = UNSET
    membrane: StiffnessDamping | UnsetType = UNSET
    ripple: StiffnessDamping | UnsetType = UNSET
    curvature: Curvature | UnsetType = UNSET
    hardening: Hardening | UnsetType = UNSET
    shape: RestShape | UnsetType = UNSET
    amplitude: Amplitude | UnsetType = UNSET
    wavelength: Wavelength | UnsetType = UNSET
    along: AxisName | UnsetType = UNSET
    gravity: Gravity | UnsetType = UNSET
    wind: WindSpeed | UnsetType = UNSET
    heading: Heading | UnsetType = UNSET
    rise: Rise | UnsetType = UNSET
    gusts: WindSpeed | UnsetType = UNSET
    lumps: GustSize | UnsetType = UNSET
    pressure: Pressure | UnsetType = UNSET
    own: bool | UnsetType = UNSET
    hold: bool | UnsetType = UNSET
    collisions: CollisionMethod | UnsetType = UNSET
    friction: Friction | UnsetType = UNSET
    substeps: Substeps | UnsetType = UNSET
    frames: FrameCount | UnsetType = UNSET
    seed: Whole | UnsetType = UNSET


class Enrich(Command, frozen=True, kw_only=True, tag="enrich"):
    """Simulate the shell, as a job that can be stopped; `state.ready` counts the frames so far."""


class EnrichDials(Struct, frozen=True, kw_only=True):
    """Material of the shell, its loads, and the simulation."""

    material: str = "cloth"
    young: Young = 2e4  # [Pa]
    poisson: Poisson = 0.3
    thickness: Thickness = 2e-3  # [m]
    density: Density = 300.0  # [kg/m³]
    bending: BendingScale = 1.0  # factor of the bending stiffness
    mass: MassDamping = 0.5  # damping [1/s]
    membrane: StiffnessDamping = 1e-3  # damping [s]
    ripple: StiffnessDamping = 1e-3  # damping of bending [s]
    curvature: Curvature = 0.0  # folds of more stay [1/m]; 0: none
    hardening: Hardening = 0.0  # of folds that stay [m]
    shape: RestShape = "flat"
    amplitude: Amplitude = 0.01  # of the rest shape [m]
    wavelength: Wavelength = 0.1  # of the rest shape [m]
    along: AxisName = "z"  # direction of the folds
    gravity: Gravity = 1.0  # times that of the Earth
    wind: WindSpeed = 0.0  # [m/s]
    heading: Heading = 0.0  # of the wind [degrees]
    rise: Rise = 0.0  # of the wind [degrees]
    gusts: WindSpeed = 0.0  # [m/s]
    lumps: GustSize = 0.2  # size of the gusts [m]
    pressure: Pressure = 0.0  # [Pa]
    own: bool = False  # loads and shapes over time of the scene
    hold: bool = False  # vertices that never move are fixed
    collisions: CollisionMethod = "none"
    friction: Friction = 0.3
    substeps: Substeps = 8  # steps a frame
    frames: Annotated[int, Meta(ge=1, le=20_000)] = 1
    seed: Whole = 0


class GuideInfo(Struct, frozen=True, kw_only=True):
    """The guide."""

    vertices: int
    frames: int


class ShellInfo(Struct, frozen=True, kw_only=True):
    """The shell."""

    vertices: int
    triangles: int
    levels: int | None  # subdivisions of the guide; null: the scene's own mesh
    most_levels: int
    own: bool  # the scene has a mesh that is no subdivision
    lies: bool  # the shell lies on the guide, so that paint can go to both
    still: int  # vertices that never move


class RegionInfo(Struct, frozen=True, kw_only=True):
    """A region."""

    id: int
    guide: int  # vertices
    shell: int  # vertices


class RegionsInfo(Struct, frozen=True, kw_only=True):
    """The regions."""

    kind: RegionKind
    kinds: Sequence[RegionKind]  # available
    count: int
    asked: int  # requested number of clusters
    most: int
    seed: int
    list: Sequence[RegionInfo]  # the first of them
    covered: float  # share of the shell's vertices
    problem: str | None  # why they cannot be tracked


class MaterialInfo(Struct, frozen=True, kw_only=True):
    """A material to choose."""

    name: str
    text: str


class EnrichRunReport(Struct, frozen=True, kw_only=True):
    """Report of the last simulation."""

    frames: int
    stale: bool  # something has changed since
    cut: bool  # stopped before the end
    text: str
    off: float  # largest distance of a region from the guide, in sizes of the shell
    report: str
    seconds: float | None
    collisions: str | None
    intersections: int | None


class CrossedTriangles(Struct, frozen=True, kw_only=True):
    """Triangles in which the start intersects itself."""

    shell: Sequence[int]
    guide: Sequence[int]


class EnrichModeState(Struct, frozen=True, kw_only=True):
    """State of Enrich."""

    guide: GuideInfo
    shell: ShellInfo
    regions: RegionsInfo
    dials: EnrichDials
    materials: Sequence[MaterialInfo]
    extras: bool  # the material has loads or shapes over time
    collidable: bool  # the scene has obstacles
    running: str | None  # job
    result: EnrichRunReport | None
    sight: ShellRunKind  # what the second view shows
    free: float | None  # `off` of the shell without its guide, where it is shown
    crossed: CrossedTriangles


class EnrichStateMessage(StateMessage, frozen=True, kw_only=True, tag="state"):
    """State message while Enrich is active."""

    enrich: EnrichModeState
