"""The start page: scenes for each verb, with pictures that are drawn in the background, and projects to go on with."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import cajole
from cajole.errors import FileError, InputError
from cajole.storage import find_cache_folder, replace_atomically
from cajole.studio.content import ANIMATION_SUFFIXES, MESH_SUFFIXES
from cajole.studio.messages import Catalogue, CatalogueScene, FileFormats, RecentProject
from cajole.studio.mode_registry import list_scene_cards
from cajole.studio.modes.definition import SceneCard
from cajole.studio.project_store import ProjectRecord, ProjectStore

# Raised when pictures are drawn in another way, so that older ones are drawn again.
PICTURE_VERSION = 2


DRAWING_SCRIPT = """
import os, sys
hasattr(os, "nice") and os.nice(19)
from cajole.studio.scene_pictures import main
main(sys.argv[1:])
"""


class SceneCatalogue:
    """What can be opened. Pictures and what was opened before are kept in the cache."""

    def __init__(self, store: ProjectStore):
        self._store = store
        # whether pictures that are missing are drawn once someone asks for the list
        self.draws_pictures = False
        self._drawing_process: subprocess.Popen[bytes] | None = None
        self._attempted_keys: set[str] = set()

    def build_message(self, *, is_idle: bool = True) -> Catalogue:
        """The start page. is_idle: no project is open, so pictures may be drawn in the background."""
        if self.draws_pictures and is_idle:
            self.draw_missing_pictures()
        recent = self._store.list_recent()
        return Catalogue(
            tuple(self._describe_scene(card) for card in list_scene_cards()),
            tuple(describe_recent_project(record, self._store.has_stale_lock(record.id)) for record in recent),
            FileFormats(
                read=_strip_dots([*ANIMATION_SUFFIXES, *MESH_SUFFIXES, ".cajole"]),
                write=_strip_dots(ANIMATION_SUFFIXES),
            ),
            cajole.__version__,
        )

    def get_title(self, name: str, mode: str) -> str:
        """What a scene is called. Raises InputError for one that the verb does not have."""
        for card in list_scene_cards():
            if (card.name, card.mode) == (name, mode):
                return card.title
        known = ", ".join(card.name for card in list_scene_cards() if card.mode == mode)
        raise InputError(f"there is no scene {name!r} for {mode}; choose one of {known or 'those of another verb'}")

    def record_opening(self, name: str, mode: str) -> None:
        """All slow parts of a scene are in the cache now, and a portrait that stood for it can make way."""
        key = f"{mode}-{name}"
        if not has_cached_scene(key):
            # a cache that cannot be written is no reason to fail
            with contextlib.suppress(FileError), replace_atomically(_get_opened_marker_path(key)) as path:
                path.write_text("opened\n", encoding="utf-8")
            if not any(card.is_quick for card in list_scene_cards() if card.key == key):
                # shown until the other one is drawn: a page may be about to ask for it
                with contextlib.suppress(OSError):
                    _get_picture_path(key).replace(_get_placeholder_path(key))
                self._attempted_keys.discard(key)

    def find_picture(self, key: str) -> Path | None:
        """The picture of a scene, None while there is none."""
        if key not in {card.key for card in list_scene_cards()}:
            return None
        return next((path for path in (_get_picture_path(key), _get_placeholder_path(key)) if path.is_file()), None)

    def draw_missing_pictures(self) -> None:
        """Have pictures that are missing drawn by another process, behind everything else; none without Pillow."""
        keys = [card.key for card in list_scene_cards() if card.key not in self._attempted_keys]
        missing = [key for key in keys if not _get_picture_path(key).is_file()]
        at_work = self._drawing_process is not None and self._drawing_process.poll() is None
        if not missing or at_work or importlib.util.find_spec("PIL") is None:
            return
        self._attempted_keys.update(missing)
        # behind everything else from its imports on
        command = [sys.executable, "-c", DRAWING_SCRIPT, *missing]
        # one thread: whoever works in the studio shall not notice
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        self._drawing_process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def close(self) -> None:
        """Draw no more."""
        if self._drawing_process is not None and self._drawing_process.poll() is None:
            self._drawing_process.terminate()
            self._drawing_process.wait()
        self._drawing_process = None

    def _describe_scene(self, card: SceneCard) -> CatalogueScene:
        return CatalogueScene(
            name=card.name,
            title=card.title,
            text=card.description,
            group=card.group,
            modes=(card.mode,),
            picture=f"/pictures/{card.key}.webp",
            facts=card.facts,
            ready=card.is_quick or has_cached_scene(card.key),
        )


def describe_recent_project(record: ProjectRecord, is_recovered: bool) -> RecentProject:
    """A project of the start page; its picture is that of the scene it was made from."""
    scene, mode = record.source.scene, record.source.mode
    return RecentProject(
        id=record.id,
        name=record.name,
        mode=record.mode,
        text=record.summary,
        when=record.changed_at,
        picture=None if scene is None else f"/pictures/{mode}-{scene}.webp",
        recovered=is_recovered,
    )


def _get_picture_path(key: str) -> Path:
    return get_picture_folder() / f"{key}.webp"


def _get_placeholder_path(key: str) -> Path:
    """What stood for a scene before it was made."""
    return get_picture_folder() / f"{key}.portrait.webp"


def get_picture_folder() -> Path:
    """Where pictures of scenes are kept."""
    return find_cache_folder() / "studio" / f"pictures-{PICTURE_VERSION}"


def has_cached_scene(key: str) -> bool:
    """Whether a scene was opened before, so that its slow parts are in the cache."""
    return _get_opened_marker_path(key).is_file()


def _get_opened_marker_path(key: str) -> Path:
    return find_cache_folder() / "studio" / f"opened-{cajole.__version__}" / key


def _strip_dots(suffixes: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(suffix.removeprefix(".") for suffix in suffixes))
