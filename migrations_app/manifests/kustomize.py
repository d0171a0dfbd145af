"""What a kustomization of Kustomize says about the files beside it."""

from collections.abc import Iterator
from typing import Final

from migrations_app.manifests.writer import Plain

KUSTOMIZATIONS: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
"""The names under which Kustomize finds a kustomization in a folder."""
_LISTS: Final = ("patches", "patchesStrategicMerge", "patchesJson6902")


def patch_files(tree: Plain) -> Iterator[str]:
    """The files that the kustomization names as patches, relative to its folder; patches inside it are left out."""
    for name in _LISTS if isinstance(tree, dict) else ():
        rows = tree.get(name)
        for row in rows if isinstance(rows, list) else ():
            listed = row.get("path") if isinstance(row, dict) else row
            if isinstance(listed, str) and "\n" not in listed:
                yield listed
