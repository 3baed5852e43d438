"""The add-on for Blender as one file to install: dist/cajole_studio-VERSION.zip.

python scripts/blender_addon.py [FOLDER]
"""

from __future__ import annotations

import sys
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "integrations" / "blender" / "cajole_studio"
MANIFEST = "blender_manifest.toml"


def packed(folder: Path) -> Path:
    """Write the zip into `folder`, with the manifest at its top, as Blender wants it; its path."""
    about = tomllib.loads((SOURCE / MANIFEST).read_text(encoding="utf-8"))
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{about['id']}-{about['version']}.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in [SOURCE / MANIFEST, ROOT / "LICENSE", *sorted(SOURCE.glob("*.py"))]:
            archive.write(path, path.name)
    return target


if __name__ == "__main__":
    print(packed(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist"))
