"""`karpdash lint`: checks manifests and Helm values of a repository against a release, for hooks and pipelines."""

import argparse
from collections.abc import Iterator
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


def run(argv: list[str]) -> int:
    """Returns 0: the release accepts all files; 1: it does not; 2: wrong usage or unreadable input."""
    options = make_parser().parse_args(argv)
    release = _release(options.to)
    patches = frozenset(str(path) for path in options.files if not is_stdin(path) and _is_patch(path))
    findings = lint_texts(_texts(options.files), release, patches=patches)
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


def _is_patch(path: Path) -> bool:
    """Whether a kustomization of the same repository, in the folder of the file or above, names the file as a patch;
    True as well where a kustomization there cannot be read."""
    file = path.absolute()
    for folder in file.parents:
        for name in KUSTOMIZATIONS:
            try:
                tree = read_document(beginning(folder / name, MAX_BYTES), limits=MANIFESTS)
            except InvalidInput:
                return True
            except OSError:
                continue
            if any((folder / listed).resolve() == file.resolve() for listed in patch_files(tree)):
                return True
        if (folder / ".git").exists():
            break
    return False
