"""A registered cluster -> Scanned, now and without storing it: for the terminal.

A source on the command line -> Scanned, without a database: a kubeconfig or a bundle is read and judged at once.

A live cluster -> a redacted file: a scan runs over a recording, so the file holds what a scan asks for.
"""

import os
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from migrations_app.clients.addresses import OutboundPolicy
from migrations_app.clients.bundle.bundle import Bundle, open_bundle
from migrations_app.clients.bundle.writer import Recording
from migrations_app.clients.kubernetes.kubeconfig import read_kubeconfig
from migrations_app.clients.kubernetes.limits import ClientLimits
from migrations_app.clients.kubernetes.reader import LiveApi, open_live
from migrations_app.errors import InvalidInput, InvalidKubeconfig, InvalidPolicy, NotFound
from migrations_app.iam.policy import parse_policy
from migrations_app.iam.templates import MOST_BYTES, policy_texts
from migrations_app.models.cluster import Cluster
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.report import Scanned
from migrations_app.use_cases.collect.aws import hand_in
from migrations_app.use_cases.collect.collect import Progress, collect
from migrations_app.use_cases.runtime.connections import connect
from migrations_app.use_cases.scans.worker import look_into_aws


def look_again(
    name: str,
    *,
    target: str | None = None,
    kubernetes: str | None = None,
    policies: Mapping[str, bytes] | None = None,
    on_part: Progress | None = None,
) -> Scanned:
    """Judges the cluster of that name; `policies` take the place of what AWS shows, `kubernetes` is a planned minor.

    Raises NotFound, BadInput for the target, CouldNotLook when nothing answers.
    """
    cluster = Cluster.objects.filter(name=name).first()
    if cluster is None:
        raise NotFound(f"no cluster named {name!r}", where="--cluster")
    with connect(cluster) as api:
        if isinstance(api, LiveApi):
            api.get("/version")
        collected = collect(api, cluster=cluster.name, on_part=on_part)
        collected = hand_in(look_into_aws(cluster, api, collected=collected), policies or {})
    if target or not cluster.target:
        return evaluate(collected, target=target, kubernetes=kubernetes)
    try:
        return evaluate(collected, target=cluster.target, kubernetes=kubernetes)
    except InvalidInput:  # the cluster has passed its registered target
        return evaluate(collected, kubernetes=kubernetes)


LARGEST_KUBECONFIG = 1024 * 1024
SECONDS = 600.0
Policies = Mapping[str, bytes]
"""Policy documents of the controller, by name."""
TARGET_CODES = ("unknown_target", "bad_target", "target_below_current")
"""Codes of BadInput that speak of the target, not of the source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reachable:
    """Which addresses may be connected to (K05)."""

    allow_loopback: bool = False
    allow_private: bool = True
    allowed: tuple[str, ...] = ()


def scan_bundle(
    path: Path,
    *,
    target: str | None = None,
    kubernetes: str | None = None,
    policies: Policies | None = None,
    on_part: Progress | None = None,
) -> Scanned:
    """Judges the objects of a folder or file. Raises BadInput for a path or target that cannot be used.

    `policies` take the place of those in the bundle's folder `iam`.
    """
    with closing(_opened(path)) as api:
        collected = collect(api, cluster=_bundle_name(path), deadline=SECONDS, on_part=on_part)
        held = api.iam_documents()
    return evaluate(hand_in(collected, policies or held), target=target, kubernetes=kubernetes)


def read_policies(paths: Iterable[Path]) -> dict[str, bytes]:
    """The documents by the name of their file. Raises BadPolicy for one that is no policy or cannot be read."""
    texts = [policy_texts(_content(path), name=str(path)) for path in paths]
    found = {name: text for one in texts for name, text in one.items()}
    for name, text in found.items():
        parse_policy(text, name=name)
    return {name: text.encode() for name, text in found.items()}


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as wrong:
        reason = wrong.strerror if isinstance(wrong, OSError) and wrong.strerror else str(wrong)
        raise InvalidPolicy(f"cannot be read: {reason}", where=str(path)) from None


def _opened(path: Path) -> Bundle:
    try:
        return open_bundle(path)
    except InvalidInput as wrong:
        if str(path) in wrong.where:
            raise
        # Of a single file its own name is told already, without the way to it.
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
    on_part: Progress | None = None,
) -> Scanned:
    """Judges a live cluster. Raises BadKubeconfig, BadInput for the target, CouldNotLook when nothing answers."""
    name, api = open_kubeconfig(path, context=context, reachable=reachable)
    with closing(api):
        api.get("/version")
        collected = collect(api, cluster=name, deadline=SECONDS, on_part=on_part)
    return evaluate(hand_in(collected, policies or {}), target=target, kubernetes=kubernetes)


def open_kubeconfig(path: Path, *, context: str, reachable: Reachable) -> tuple[str, LiveApi]:
    """The context's name and an open client, to be closed by the caller."""
    try:
        connection = read_kubeconfig(_read(path), context=context)
    except InvalidKubeconfig as wrong:
        where = f"{path}: {wrong.where}" if wrong.where else str(path)
        raise InvalidKubeconfig(wrong.message, code=wrong.code, where=where) from None
    reach = OutboundPolicy(
        allow_loopback=reachable.allow_loopback, allow_private=reachable.allow_private, allowed=reachable.allowed
    )
    return connection.context or path.stem, open_live(
        connection, reach=reach, limits=ClientLimits(scan_seconds=SECONDS)
    )


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(LARGEST_KUBECONFIG + 1)
    except (OSError, ValueError) as wrong:
        reason = wrong.strerror if isinstance(wrong, OSError) and wrong.strerror else str(wrong)
        raise InvalidInput(f"cannot be read: {reason}", where=str(path)) from None


def _bundle_name(path: Path) -> str:
    """The file's or folder's own name, without its endings."""
    name = path.resolve().name
    for ending in (".tar.gz", ".tgz", ".yaml", ".yml", ".json"):
        name = name.removesuffix(ending)
    return name.encode("utf-8", "replace").decode() or "bundle"


@dataclass(frozen=True, slots=True)
class BundleResult:
    """`unseen` says of each part that could not be read why."""

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
    on_part: Progress | None = None,
) -> BundleResult:
    """Writes the bundle whole or not at all. Raises BadInput, CouldNotLook when nothing answers."""
    if not out.parent.is_dir() or out.is_dir():
        raise InvalidInput("its folder does not exist" if not out.is_dir() else "is a folder", where=str(out))
    name, api = open_kubeconfig(path, context=context, reachable=reachable)
    with closing(api):
        api.get("/version")
        recording = Recording(api)
        collected = collect(recording, cluster=name, deadline=SECONDS, on_part=on_part)
    unseen = tuple(f"{line.name}: {line.why}" for line in collected.parts if not line.seen)
    objects = _write(recording, out, made_at=collected.inventory.taken_at, made_by=made_by)
    return BundleResult(objects, out.stat().st_size, unseen)


def _write(recording: Recording, out: Path, *, made_at: str, made_by: str) -> int:
    """Into a file beside it first, readable by nobody else: a redacted bundle still names everything in a cluster."""
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
