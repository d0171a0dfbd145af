"""`karpdash lint`: checks manifests and Helm values of a repository against a release, for hooks and pipelines."""

import argparse
import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from migrations_app.cli.terminal import Exit, show
from migrations_app.clients.local_files import beginning, is_stdin
from migrations_app.conversion.source_lint import lint_texts
from migrations_app.errors import InvalidInput
from migrations_app.karpenter import releases
from migrations_app.karpenter.versions import Release, parse, parse_minor
from migrations_app.manifests.kustomize import KUSTOMIZATIONS, patch_files
from migrations_app.manifests.reader import MAX_BYTES
from migrations_app.manifests.yaml_reader import MANIFESTS, read_document
from migrations_app.readiness.outputs.plain import plain

MAX_FOLDERS = 20_000
"""Of a repository, so that a hook ends soon in a folder of millions of files."""


def run(argv: list[str]) -> int:
    """Returns 0: the release accepts all files; 1: it does not; 2: wrong usage or unreadable input."""
    options = make_parser().parse_args(argv)
    release = _release(options.to)
    findings = lint_texts(_texts(options.files), release, patches=_patches(options.files))
    for finding in findings:
        show(f"{plain(finding.file)}:{finding.line}: {finding.code}: {plain(finding.what)}\n")
    return Exit.FINDINGS if findings else Exit.READY


def make_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        prog="karpdash lint",
        description="Find manifests of generations that a release of Karpenter does not accept, and Helm values that "
        "its chart does not read. A line for each, as FILE:LINE: CODE: WHAT.",
        epilog="Exit codes: 0 nothing found; 1 something found; 2 wrong usage or unreadable input.",
    )
    parser.add_argument("--to", metavar="RELEASE", required=True, help="release to judge for, such as 1.0 or 1.4.2")
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path, help="manifests and values files; - for stdin")
    return parser


def _release(text: str) -> Release:
    """Returns the release as written, or the newest patch of a minor."""
    exact = parse(text)
    row = releases.find(exact or parse_minor(text) or "")
    if row is None:
        raise InvalidInput(f"{text[:40]!r} is no release that is known, such as 1.0 or 1.4.2", where="--to")
    return exact or row.newest


def _texts(files: list[Path]) -> Iterator[tuple[str, bytes]]:
    for path in files:
        try:
            yield str(path), beginning(path, MAX_BYTES + 1)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise InvalidInput(f"cannot be read: {reason}", where=str(path)) from None


def _patches(files: Iterable[Path]) -> frozenset[str]:
    """Those of the files that a kustomization names as a patch: one of the same repository; outside of a repository,
    one in a folder above the file. A kustomization that cannot be read names none.
    """
    places = {path: place for path in files if not is_stdin(path) and (place := _place(path)) is not None}
    repositories = {place: _repository(place) for place in places.values()}
    named = {root: _named_by(_below(root)) for root in set(repositories.values()) if root is not None}
    return frozenset(
        str(path)
        for path, place in places.items()
        if place in (_named_by(_above(place)) if (root := repositories[place]) is None else named[root])
    )


def _named_by(kustomizations: Iterable[Path]) -> set[Path]:
    return {patch for kustomization in kustomizations for patch in _patches_of(kustomization)}


def _above(file: Path) -> Iterator[Path]:
    """The places above the file where a kustomization may be."""
    return (folder / name for folder in file.parents for name in KUSTOMIZATIONS)


def _repository(file: Path) -> Path | None:
    """The nearest folder above the file that is a Git repository; None if there is none."""
    return next((folder for folder in file.parents if (folder / ".git").exists()), None)


def _below(root: Path) -> Iterator[Path]:
    """The kustomizations of a repository; of a large one those of the first MAX_FOLDERS."""
    for place, folders, names in islice(os.walk(root), MAX_FOLDERS):
        folders[:] = [name for name in folders if name != ".git"]
        yield from (Path(place, name) for name in names if name in KUSTOMIZATIONS)


def _patches_of(kustomization: Path) -> Iterator[Path]:
    try:
        tree = read_document(beginning(kustomization, MAX_BYTES), limits=MANIFESTS)
    except (InvalidInput, OSError):
        return
    yield from filter(None, (_place(kustomization.parent / listed) for listed in patch_files(tree)))


def _place(path: Path) -> Path | None:
    """The path without links; None if there can be no such file."""
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):  # a loop of links, a null byte
        return None
