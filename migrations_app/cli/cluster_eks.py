"""`karpdash cluster add --eks` and `karpdash cluster aws`: the first step creates the external id and the policies, the
second stores the role.
"""

import argparse
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from migrations_app.cli.terminal import Exit, print_note, show
from migrations_app.errors import InvalidInput
from migrations_app.inventory.objects.cluster_arn import read_place

if TYPE_CHECKING:
    import uuid

    from migrations_app.queries.clusters.detail import ClusterHead
    from migrations_app.use_cases.clusters.eks_registration import AccessDraft, AccessTest
    from migrations_app.use_cases.clusters.registration import Details

BY = "terminal"
MAX_FILE_BYTES = 64 * 1024
_OPTIONS = {"arn": "--eks", "cluster": "--eks", "region": "--region", "role_arn": "--role-arn", "draft": "--draft"}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that belong to --eks."""
    parser.add_argument("--region", metavar="R", default="", help="with --eks NAME: its region")
    parser.add_argument("--role-arn", metavar="ARN", default="", help="the role made with the policies of the draft")
    parser.add_argument("--draft", metavar="FILE", help="what the first step printed; - reads stdin")


def aws_parser(parser: argparse.ArgumentParser) -> None:
    """`karpdash cluster aws`: access to the AWS account of a registered cluster."""
    parser.add_argument("name")
    parser.add_argument("--eks", metavar="ARN|NAME", default="", help="the EKS cluster that it is")
    add_options(parser)
    parser.add_argument("--forget", action="store_true", help="forget the role; AWS is not looked at any more")
    parser.set_defaults(do=_aws)


def add(options: argparse.Namespace, details: "Details") -> int:
    """Runs the first step without a role, the second step with one. Returns the exit code."""
    from migrations_app.use_cases.clusters import eks_registration

    if not _has_draft(options):
        next_command = f"karpdash cluster add {options.name} --eks {options.eks} --role-arn ARN --draft FILE"
        return _draft_step(options, next_command=next_command)
    text = _draft_text(options)
    try:
        if not options.no_test and not _answers(eks_registration.try_eks(text, role_arn=options.role_arn, by=BY)):
            return Exit.COULD_NOT_LOOK
        cluster_id = eks_registration.register_eks(text, details, role_arn=options.role_arn)
    except InvalidInput as error:
        raise _with_option(error) from None
    show(f"{cluster_id}\n")
    note_same_address(cluster_id)
    return Exit.READY


def note_same_address(cluster_id: "uuid.UUID") -> None:
    """Says under which other names the address of that new registration is registered."""
    from migrations_app.queries.clusters.identity import names_at_address

    if names := names_at_address(cluster_id):
        print_note(
            f"the address of this API server is registered as {', '.join(names)}, too; if that is the same cluster, "
            "keep one of them (karpdash cluster rm NAME); a scan that reads the uid of kube-system tells"
        )


def _aws(options: argparse.Namespace) -> int:
    from migrations_app.queries.fleet.all_clusters import cluster_named
    from migrations_app.use_cases.clusters import eks_registration

    cluster_id = cluster_named(options.name)
    if options.forget:
        eks_registration.remove_access(cluster_id)
        print_note(f"forgot the role of {options.name}")
        return Exit.READY
    if not options.eks:
        return _show_access(cluster_id)
    if not _has_draft(options):
        next_command = f"karpdash cluster aws {options.name} --eks {options.eks} --role-arn ARN --draft FILE"
        return _draft_step(options, next_command=next_command)
    return _store_access(options, cluster_id)


def _store_access(options: argparse.Namespace, cluster_id: "uuid.UUID") -> int:
    from migrations_app.use_cases.clusters import eks_registration

    try:
        eks_registration.set_access(cluster_id, _draft_text(options), role_arn=options.role_arn, by=BY)
    except InvalidInput as error:
        raise _with_option(error) from None
    print_note(f"the role is guarded and kept; scans of {options.name} read its AWS account")
    return Exit.READY


def _show_access(cluster_id: "uuid.UUID") -> int:
    from migrations_app.queries.clusters.detail import cluster_head

    head: ClusterHead = cluster_head(cluster_id, now=datetime.now(UTC))
    if not head.eks_arn:
        print_note("no way into an AWS account; --eks ARN makes an external id for one")
        return Exit.READY
    show(f"cluster      {head.eks_arn}\nrole         {head.role_arn}\nexternal id  {head.external_id}\n")
    return Exit.READY


def _has_draft(options: argparse.Namespace) -> bool:
    if bool(options.role_arn) != bool(options.draft):
        raise InvalidInput(
            "goes together with --draft: the role is made with the external id of the draft", where="--role-arn"
        )
    return bool(options.role_arn)


def _draft_step(options: argparse.Namespace, *, next_command: str) -> int:
    from migrations_app.use_cases.clusters.eks_registration import draft_access

    try:
        draft = draft_access(options.eks, region=options.region, by=BY)
    except InvalidInput as error:
        raise _with_option(error) from None
    show(_document(draft))
    print_note(f"nothing is stored yet. Keep this output as FILE and, until {draft.expires_at:%Y-%m-%d %H:%M} UTC:")
    print_note("1. make an IAM role in the cluster's account with this trust_policy and this permissions_policy")
    print_note("2. let the role read the cluster: an access entry with a group, and a ClusterRole for that group")
    print_note(f"3. {next_command}")
    return Exit.READY


def _document(draft: "AccessDraft") -> str:
    document = {
        "draft": draft.text,
        "cluster": draft.cluster,
        "region": draft.place.region,
        "external_id": draft.external_id,
        "expires_at": draft.expires_at.isoformat(),
        "trust_policy": draft.trust,
        "permissions_policy": draft.rights,
    }
    return json.dumps(document, indent=2) + "\n"


def _draft_text(options: argparse.Namespace) -> str:
    """Returns the signed text in the first step's file, which must be for the same cluster."""
    from migrations_app.use_cases.clusters.eks_registration import read_draft

    body = _read(options.draft)
    try:
        text = json.loads(body)["draft"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InvalidInput("not what the first step printed", where=options.draft) from None
    try:
        draft_place = read_draft(str(text), by=BY).place
        place = read_place(options.eks, region=options.region or draft_place.region)
    except InvalidInput as error:
        raise _with_option(error) from None
    if (place.region, place.cluster) != (draft_place.region, draft_place.cluster) or place.account not in (
        "",
        draft_place.account,
    ):
        raise InvalidInput(f"was made for {draft_place.cluster} in {draft_place.region}", where="--draft")
    return str(text)


def _read(name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read(MAX_FILE_BYTES)
    try:
        with Path(name).open("rb") as file:
            return file.read(MAX_FILE_BYTES)
    except OSError as error:
        raise InvalidInput(f"cannot be read: {error.strerror}", where=name) from None


def _answers(tried: "AccessTest") -> bool:
    """Whether to continue; prints the result. A role that is not verified is refused later, by the registration."""
    test = tried.result
    if tried.guarded is not True or not tried.arn:
        return True
    print_note(f"the role is guarded by its external id, and AWS describes {tried.arn}")
    if not test.reachable:
        print_note(f"{test.server} did not answer: {test.detail or test.error}; --no-test adds it anyway")
        return False
    print_note(f"{test.server} answers, Kubernetes {test.kubernetes}")
    if test.missing:
        print_note(f"may not list: {', '.join(kind.plural for kind in test.missing)}. This role would allow it:")
        print_note(test.rule)
    return True


def _with_option(error: InvalidInput) -> InvalidInput:
    """Returns the same error with the option in `where`."""
    return InvalidInput(error.message, code=error.code, where=_OPTIONS.get(error.where, error.where))
