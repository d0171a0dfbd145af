"""`karpdash cluster`: add, list and remove registered clusters."""

import argparse
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from migrations_app.cli import cluster_eks
from migrations_app.cli.django_setup import run_verb
from migrations_app.cli.terminal import Exit, print_note, show, show_rows
from migrations_app.errors import InvalidInput

if TYPE_CHECKING:
    from migrations_app.queries.fleet.clusters import FleetRow

HEAD = ("NAME", "SOURCE", "STAGE", "KARPENTER", "NEXT HOP", "VERDICT", "SCANNED")
UNREACHABLE = "unreachable"
MAX_FILE_BYTES = 256 * 1024 * 1024


def run(argv: list[str]) -> int:
    """Returns 0: done; 2: wrong usage or input; 3: the cluster did not answer and was not added."""
    return run_verb(make_parser(), argv)


def make_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(prog="karpdash cluster", description="The clusters that karpdash scans.")
    verbs = parser.add_subparsers(required=True, metavar="add|list|aws|rm|samples")
    _add_parser(verbs.add_parser("add", help="register a cluster"))
    listing = verbs.add_parser("list", help="show every registered cluster")
    listing.add_argument("-o", "--output", choices=("table", "json"), default="table")
    listing.set_defaults(do=_list)
    cluster_eks.aws_parser(verbs.add_parser("aws", help="show, give or forget the way into a cluster's AWS account"))
    removal = verbs.add_parser("rm", help="forget a cluster, its credentials and its snapshots")
    removal.add_argument("name")
    removal.set_defaults(do=_remove)
    samples = verbs.add_parser("samples", help="add clusters to try rollouts on, or remove all samples")
    samples.add_argument("--remove", action="store_true", help="remove every sample cluster and the sample people")
    samples.set_defaults(do=_samples)
    return parser


def _add_parser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--kubeconfig", metavar="FILE", type=Path, help="stored encrypted; nothing in it is run")
    source.add_argument("--bundle", metavar="FILE", type=Path, help="YAML, JSON or .tar.gz of objects")
    source.add_argument("--in-cluster", action="store_true", help="the cluster that karpdash itself runs in")
    source.add_argument(
        "--eks", metavar="ARN|NAME", help="an EKS cluster; first prints the policies of the role to make"
    )
    cluster_eks.add_options(parser)
    parser.add_argument("--context", metavar="C", default="", help="context of the kubeconfig")
    parser.add_argument("--environment", metavar="E", default="", help="such as production")
    parser.add_argument("--to", metavar="HOP|RELEASE", default="", help="where the cluster should go")
    parser.add_argument("--no-test", action="store_true", help="add it without looking whether it answers")
    parser.set_defaults(do=_add)


def _add(options: argparse.Namespace) -> int:
    from migrations_app.use_cases.clusters import registration

    details = registration.Details(name=options.name, environment=options.environment, target=options.to, by="terminal")
    if options.eks:
        return cluster_eks.add(options, details)
    _refuse_eks_options(options)
    if options.bundle:
        uuid = registration.register_bundle(_read(options.bundle), details)
    elif options.in_cluster:
        uuid = registration.register_in_cluster(details)
    else:
        text = _read(options.kubeconfig)
        if not options.no_test and not _answers(text, options.context):
            return Exit.COULD_NOT_LOOK
        uuid = registration.register_kubeconfig(text, details, context=options.context)
    show(f"{uuid}\n")
    cluster_eks.note_same_address(uuid)
    return Exit.READY


def _refuse_eks_options(options: argparse.Namespace) -> None:
    for name in ("region", "role_arn", "draft"):
        if getattr(options, name):
            raise InvalidInput("goes with --eks only", where=f"--{name.replace('_', '-')}")


def _answers(text: bytes, context: str) -> bool:
    """Whether the cluster answers; prints the missing permissions."""
    from migrations_app.use_cases.clusters import registration

    tried = registration.try_kubeconfig(text, context=context)
    if not tried.reachable:
        print_note(f"{tried.server} did not answer: {tried.detail or tried.error}; --no-test adds it anyway")
        return False
    print_note(f"{tried.server} answers, Kubernetes {tried.kubernetes}")
    if tried.missing:
        print_note(f"may not {', '.join(right.words for right in tried.missing)}. This role would allow it:")
        print_note(tried.rule)
    return True


def _list(options: argparse.Namespace) -> int:
    from migrations_app.queries.fleet.all_clusters import every_cluster, hidden_samples

    rows = tuple(every_cluster(now=datetime.now(UTC)))
    show_rows(rows, output=options.output, head=HEAD, cells=_cells)
    note_hidden_samples(hidden_samples())
    note_registered_again()
    return Exit.READY


def note_registered_again() -> None:
    """Says which registrations of the list are one cluster."""
    from migrations_app.queries.clusters.identity import registered_again

    for names in registered_again():
        print_note(
            f"{', '.join(names)} are one cluster, by the uid of its kube-system: join them on a cluster's page, or "
            "keep one of them (karpdash cluster rm NAME)"
        )


def note_hidden_samples(count: int) -> None:
    """Says on stderr how many sample clusters the list leaves out."""
    if count:
        print_note(f"{count} sample {'cluster is' if count == 1 else 'clusters are'} not listed beside other clusters")


def verdict_and_age(row: Mapping[str, object], scanned: str) -> tuple[str, str]:
    """Returns the last two columns, as the fleet page has them: a cluster that does not answer is not ready, and the
    time of the scan says if it is out of date or read only a part.
    """
    verdict = row["bucket"] if row.get("bucket") == UNREACHABLE else row.get("verdict") or row.get("bucket") or ""
    marks = (("stale", bool(row.get("stale"))), ("partial", row.get("complete") is False))
    return str(verdict), " ".join([scanned, *(mark for mark, shown in marks if shown)])


def _cells(row: "FleetRow") -> tuple[str, ...]:
    scanned = f"{row.scanned_at:%Y-%m-%d %H:%M}" if row.scanned_at else "never"
    told = {"verdict": row.verdict, "bucket": row.bucket, "stale": row.stale, "complete": row.complete}
    return row.name, row.source, row.stage, row.karpenter_version, row.next_hop, *verdict_and_age(told, scanned)


def _remove(options: argparse.Namespace) -> int:
    from migrations_app.queries.fleet.all_clusters import cluster_named
    from migrations_app.use_cases.clusters import registration

    registration.remove(cluster_named(options.name), typed_name=options.name)
    print_note(f"removed {options.name}")
    return Exit.READY


def _samples(options: argparse.Namespace) -> int:
    from django.utils import timezone

    from migrations_app.use_cases.samples.history import make_history
    from migrations_app.use_cases.samples.load import add_samples
    from migrations_app.use_cases.samples.reset import remove_samples

    if options.remove:
        print_note(f"removed {remove_samples(person=None)} sample clusters")
        return Exit.READY
    count = add_samples(person=None)
    make_history(now=timezone.now())
    print_note(f"added {count} sample clusters")
    return Exit.READY


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            body = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise InvalidInput(f"cannot be read: {error.strerror}", where=str(path)) from None
    if len(body) > MAX_FILE_BYTES:
        raise InvalidInput(f"larger than {MAX_FILE_BYTES} bytes", where=str(path))
    return body
