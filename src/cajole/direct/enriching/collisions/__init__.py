"""Collisions of `enrich`: with itself and with colliders, by impulses or by a barrier; nothing ever passes through."""

from cajole.direct.enriching.collisions.stepper import (
    CollisionReport,
    CollisionResponse,
    CollisionStepper,
    build_collision_handler,
)
from cajole.direct.enriching.collisions.world import Collider, ColliderSet

__all__ = [
    "Collider",
    "ColliderSet",
    "CollisionReport",
    "CollisionResponse",
    "CollisionStepper",
    "build_collision_handler",
]
