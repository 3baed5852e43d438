"""`enrich`: a coarse animation becomes a thin shell with folds that follows it on average."""

from cajole.direct.enriching.clustering import regions_clustered
from cajole.direct.enriching.collisions import CollisionReport, CollisionResponse
from cajole.direct.enriching.enrich import enrich
from cajole.direct.enriching.region_builders import regions_interpolating, regions_painted, regions_subdivided
from cajole.direct.enriching.regions import Regions
from cajole.direct.enriching.report import EnrichReport, EnrichResult

__all__ = [
    "CollisionReport",
    "CollisionResponse",
    "EnrichReport",
    "EnrichResult",
    "Regions",
    "enrich",
    "regions_clustered",
    "regions_interpolating",
    "regions_painted",
    "regions_subdivided",
]
