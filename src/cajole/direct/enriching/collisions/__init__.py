"""Collisions of `enrich`: with itself and with colliders, by impulses or by a barrier; nothing ever passes through."""

from cajole.direct.enriching.collisions.colliders import Collider, Colliders
from cajole.direct.enriching.collisions.colliding import Colliding, CollisionReport, Response, mover_of

__all__ = ["Collider", "Colliders", "Colliding", "CollisionReport", "Response", "mover_of"]
