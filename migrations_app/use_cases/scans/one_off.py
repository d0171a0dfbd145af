"""Scans for the command line that store nothing in the database, and the writer of bundles.

The source is a kubeconfig or a bundle. A bundle is written by scanning a live cluster through a recording client, so it
holds exactly the objects that a scan reads, redacted.
"""

import os
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from migrations_app.clients.addresses import OutboundPolicy
from migrations_app.clients.bundle.bundle import Bundle, open_bundle
from migrations_app.clients.bundle.files import DIRECT
from migrations_app.clients.bundle.writer import Recording
from migrations_app.clients.kubernetes.kubeconfig import read_kubeconfig
from migrations_app.clients.kubernetes.limits import ClientLimits
from migrations_app.clients.kubernetes.reader import LiveApi, open_live
from migrations_app.clients.local_files import beginning, is_stdin
from migrations_app.collect.aws import with_policies
from migrations_app.collect.collect import ProgressListener, collect
from migrations_app.errors import InvalidInput, InvalidKubeconfig, InvalidPolicy
from migrations_app.iam.policy import parse_policy
from migrations_app.iam.templates import MAX_TEMPLATE_BYTES, policy_texts
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.report import ScanResult

LARGEST_KUBECONFIG = 1024 * 1024
SCAN_SECONDS = 600.0
Policies = Mapping[str, bytes]
"""The controller's policy documents by name."""
TARGET_CODES = ("unknown_target", "bad_target", "target_below_current")
"""Codes of InvalidInput that concern the target, not the source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reachable:
    """Addresses that connections may go to (K05)."""

    allow_loopback: bool = False
    allow_private: bool = True
    allowed: tuple[str, ...] = ()


def scan_bundle(
    path: Path,
    *,
    target: str | None = None,
    kubernetes: str | None = None,
    policies: Policies | None = None,
    on_part: ProgressListener | None = None,
) -> ScanResult:
    """Evaluates a bundle, a folder or file. Raises InvalidInput for an unusable path or target.

    `policies` replace those in the bundle's folder `iam`.
    """
    with closing(opened_bundle(path)) as api:
        collected = collect(api, cluster=bundle_name(path), deadline=SCAN_SECONDS, on_part=on_part)
        documents = api.iam_documents()
    return evaluate(with_policies(collected, policies or documents), target=target, kubernetes=kubernetes)


def read_policies(paths: Iterable[Path]) -> dict[str, bytes]:
    """The policy documents by name. Raises InvalidPolicy for a file that is unreadable or not a policy."""
    texts = [policy_texts(_content(path), name=str(path)) for path in paths]
    policies = {name: text for group in texts for name, text in group.items()}
    for name, text in policies.items():
        parse_policy(text, name=name)
    return {name: text.encode() for name, text in policies.items()}


def _content(path: Path) -> bytes:
    try:
        return beginning(path, MAX_TEMPLATE_BYTES + 1)
    except (OSError, ValueError) as wrong:
        reason = wrong.strerror if isinstance(wrong, OSError) and wrong.strerror else str(wrong)
        raise InvalidPolicy(f"cannot be read: {reason}", where=str(path)) from None


def opened_bundle(path: Path) -> Bundle:
    try:
        if is_stdin(path):
            return open_bundle(beginning(path, DIRECT.archive.total_bytes + 1), limits=DIRECT)
        return open_bundle(path)
    except InvalidInput as wrong:
        if str(path) in wrong.where:
            raise
        # For a single file, `where` starts with the file's own name: replace it with the path.
        within = wrong.where.removeprefix(path.name)
        where = f"{path}: {within}" if within and within == wrong.where else f"{path}{within}"
        raise type(wrong)(wrong.message, code=wrong.code, where=where) from None


def scan_kubeconfig(
    path: Path,
    *,
    context: str = "",
    target: str | None = None,
    kubernetes: str | None = None,
    reachable: Reachable,
    policies: Policies | None = None,
    on_part: ProgressListener | None = None,
) -> ScanResult:
    """Evaluates a live cluster.

    Raises InvalidKubeconfig, InvalidInput for the target, ReadError if the cluster does not answer.
    """
    name, api = open_kubeconfig(path, context=context, reachable=reachable)
    with closing(api):
        api.get("/version")
        collected = collect(api, cluster=name, deadline=SCAN_SECONDS, on_part=on_part)
    return evaluate(with_policies(collected, policies or {}), target=target, kubernetes=kubernetes)


def open_kubeconfig(path: Path, *, context: str, reachable: Reachable) -> tuple[str, LiveApi]:
    """The context's name and an open client, which the caller closes. Raises InvalidInput, InvalidKubeconfig."""
    try:
        connection = read_kubeconfig(_read(path), context=context)
    except InvalidKubeconfig as wrong:
        where = f"{path}: {wrong.where}" if wrong.where else str(path)
        raise InvalidKubeconfig(wrong.message, code=wrong.code, where=where) from None
    reach = OutboundPolicy(
        allow_loopback=reachable.allow_loopback, allow_private=reachable.allow_private, allowed=reachable.allowed
    )
    return connection.context or path.stem, open_live(
        connection, reach=reach, limits=ClientLimits(scan_seconds=SCAN_SECONDS)
    )


def _read(path: Path) -> bytes:
    try:
        return beginning(path, LARGEST_KUBECONFIG + 1)
    except (OSError, ValueError) as wrong:
        reason = wrong.strerror if isinstance(wrong, OSError) and wrong.strerror else str(wrong)
        raise InvalidInput(f"cannot be read: {reason}", where=str(path)) from None


def bundle_name(path: Path) -> str:
    """The name of the file or folder without its extensions; `stdin` for standard input."""
    if is_stdin(path):
        return "stdin"
    name = path.resolve().name
    for ending in (".tar.gz", ".tgz", ".yaml", ".yml", ".json"):
        name = name.removesuffix(ending)
    return name.encode("utf-8", "replace").decode() or "bundle"


@dataclass(frozen=True, slots=True)
class BundleResult:
    """The objects and bytes (`size`) of a written bundle; `unseen` gives the reason for each part that could not be
    read.
    """

    objects: int
    size: int
    unseen: tuple[str, ...]


def bundle_kubeconfig(
    path: Path,
    *,
    context: str,
    out: Path,
    reachable: Reachable,
    made_by: str,
    on_part: ProgressListener | None = None,
) -> BundleResult:
    """Writes the whole bundle or nothing. Raises InvalidInput, ReadError if the cluster does not answer."""
    if not out.parent.is_dir() or out.is_dir():
        raise InvalidInput("its folder does not exist" if not out.is_dir() else "is a folder", where=str(out))
    name, api = open_kubeconfig(path, context=context, reachable=reachable)
    with closing(api):
        api.get("/version")
        recording = Recording(api)
        collected = collect(recording, cluster=name, deadline=SCAN_SECONDS, on_part=on_part)
    unseen = tuple(f"{line.name}: {line.why}" for line in collected.parts if not line.seen)
    objects = _write(recording, out, made_at=collected.inventory.taken_at, made_by=made_by)
    return BundleResult(objects, out.stat().st_size, unseen)


def _write(recording: Recording, out: Path, *, made_at: str, made_by: str) -> int:
    """Writes a private temporary file and renames it. Returns the number of objects.

    The file is readable by its owner only: even a redacted bundle names everything in the cluster.
    """
    try:
        descriptor, draft = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name}-")
    except OSError as wrong:
        raise InvalidInput(f"cannot be written: {wrong.strerror}", where=str(out)) from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            manifest = recording.write(file, made_at=made_at, made_by=made_by)
        Path(draft).replace(out)
    except OSError as wrong:
        raise InvalidInput(f"cannot be written: {wrong.strerror}", where=str(out)) from None
    finally:
        Path(draft).unlink(missing_ok=True)
    return sum(part.count for part in manifest.asked)
