"""The options that select the cluster to read, shared by `scan` and `plan`.

Modules that read a cluster are imported when it is read, so that --help and wrong usage do not load them.
"""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from migrations_app.cli.terminal import Progress, StoreOnce
from migrations_app.errors import AddressRefused, InvalidInput

if TYPE_CHECKING:
    from migrations_app.readiness.report import ScanResult
    from migrations_app.use_cases.scans.one_off import Policies, Reachable

_LOOPBACK = "KARPDASH_ALLOW_LOOPBACK"
_PRIVATE = "KARPDASH_ALLOW_PRIVATE"
_NETWORKS = "KARPDASH_ALLOWED_NETWORKS"


def add_sources(parser: argparse.ArgumentParser) -> None:
    """Adds the options for exactly one source, and for the target."""
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument(
        "--bundle",
        metavar="PATH",
        type=Path,
        action=StoreOnce,
        help="folder, YAML, JSON or .tar.gz of objects; - for stdin",
    )
    group.add_argument(
        "--kubeconfig",
        metavar="FILE",
        type=Path,
        action=StoreOnce,
        help="a live cluster; nothing in it is run; - for stdin",
    )
    group.add_argument("--cluster", metavar="NAME", action=StoreOnce, help="a registered cluster, looked at afresh")
    parser.add_argument("--context", metavar="C", default="", help="context of the kubeconfig; else its current one")
    parser.add_argument(
        "--iam-policy",
        metavar="FILE",
        nargs="+",
        action="extend",
        type=Path,
        default=[],
        help="policies of the controller's role, instead of what AWS or the bundle shows",
    )
    parser.add_argument(
        "--kubernetes", metavar="MINOR", help="the Kubernetes that the cluster is to be raised to, such as 1.33"
    )
    parser.add_argument(
        "--to",
        metavar="HOP|RELEASE",
        action=StoreOnce,
        help="where to go, such as 1.0, 1.4.2 or 0.33+; else the newest",
    )


def scan_source(options: argparse.Namespace) -> "ScanResult":
    """Reads and evaluates the source. Raises InvalidInput with the file or option, and ReadError."""
    from migrations_app.karpenter.versions import kubernetes_minor
    from migrations_app.readiness.missing_rows import require_rows
    from migrations_app.use_cases.scans import one_off

    require_rows()
    if options.context and not options.kubeconfig:
        raise InvalidInput("goes with --kubeconfig only", where="--context")
    if options.kubernetes is not None and kubernetes_minor(options.kubernetes) is None:
        raise InvalidInput(
            f"{options.kubernetes[:40]!r} is not a Kubernetes version, such as 1.33", where="--kubernetes"
        )
    try:
        with Progress() as progress:
            return _scan_source(options, progress)
    except InvalidInput as error:
        if error.code in one_off.TARGET_CODES:
            raise InvalidInput(error.message, where="--to", code=error.code) from None
        raise


def reachable() -> "Reachable":
    """Returns the addresses that may be connected to, from the same settings as those of the server."""
    from migrations_app.use_cases.scans.one_off import Reachable

    networks = tuple(piece.strip() for piece in os.environ.get(_NETWORKS, "").split(",") if piece.strip())
    return Reachable(
        allow_loopback=os.environ.get(_LOOPBACK, "0") == "1",
        allow_private=os.environ.get(_PRIVATE, "1") == "1",
        allowed=networks,
    )


def with_hint(refused: AddressRefused) -> AddressRefused:
    """Returns the same error with the setting that would allow the address."""
    hint = f"; {_LOOPBACK}=1 allows this machine, {_NETWORKS} named networks"
    return AddressRefused(refused.message + hint, code=refused.code, where=refused.where)


def _scan_source(options: argparse.Namespace, progress: Progress) -> "ScanResult":
    from migrations_app.use_cases.scans import one_off

    policies = one_off.read_policies(options.iam_policy)
    if options.bundle:
        return one_off.scan_bundle(
            options.bundle,
            target=options.to,
            kubernetes=options.kubernetes,
            policies=policies,
            on_part=progress.part,
        )
    if options.cluster:
        return _scan_registered(options, policies, progress=progress)
    try:
        return one_off.scan_kubeconfig(
            options.kubeconfig,
            context=options.context,
            target=options.to,
            kubernetes=options.kubernetes,
            reachable=reachable(),
            policies=policies,
            on_part=progress.part,
        )
    except AddressRefused as refused:
        raise with_hint(refused) from None


def _scan_registered(options: argparse.Namespace, policies: "Policies", *, progress: Progress) -> "ScanResult":
    from migrations_app.cli.django_setup import setup_django

    setup_django()
    from migrations_app.use_cases.scans.registered_cluster import evaluate_registered

    return evaluate_registered(
        options.cluster,
        target=options.to,
        kubernetes=options.kubernetes,
        policies=policies,
        on_part=progress.part,
    )
