"""Collisions of `enrich`: with itself and with colliders, by impulses or by a barrier; nothing ever passes through."""

from cajole.direct.enriching.collisions.colliders import Collider, ColliderSet
from cajole.direct.enriching.collisions.stepper import (
    CollisionReport,
    CollisionResponse,
    CollisionStepper,
    build_collision_handler,
)

__all__ = [
    "Collider",
    "ColliderSet",
    "CollisionReport",
    "CollisionResponse",
    "CollisionStepper",
    "build_collision_handler",
]
