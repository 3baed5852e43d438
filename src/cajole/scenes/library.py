"""The built-in scenes by name; a recipe is only written out when asked for."""

from __future__ import annotations

from collections.abc import Callable

from cajole.scenes import dinosaur
from cajole.scenes.recipe import Recipe

RECIPES: dict[str, Callable[[], Recipe]] = {
    "dinosaur": dinosaur.recipe,
}
