"""Bodies: meshes with material, fixed vertices and damping; full-space physics with exact derivatives."""

from cajole.body.base import EARTH_GRAVITY, Body, flatten_to_columns, list_vertex_dofs
from cajole.body.bending import Plasticity
from cajole.body.capsules import Capsules, attach_capsules
from cajole.body.embedded_mesh import EmbeddedMesh, embed_in_solid
from cajole.body.loads import LoadPressure, LoadWind
from cajole.body.material import MaterialShell, MaterialStVK
from cajole.body.rayleigh import ShellDamping
from cajole.body.shell import BodyShell
from cajole.body.solid import BodySolid, read_body
from cajole.body.springs import BodySprings

__all__ = [
    "EARTH_GRAVITY",
    "Body",
    "BodyShell",
    "BodySolid",
    "BodySprings",
    "Capsules",
    "EmbeddedMesh",
    "LoadPressure",
    "LoadWind",
    "MaterialShell",
    "MaterialStVK",
    "Plasticity",
    "ShellDamping",
    "attach_capsules",
    "embed_in_solid",
    "flatten_to_columns",
    "list_vertex_dofs",
    "read_body",
]
