"""Remedies for instances that exist: tags that are missing, and policies that fit the tags that are there."""

from collections.abc import Iterable, Iterator, Sequence

from migrations_app.checks.aws_remedies import added_to_role, aws, command
from migrations_app.checks.shell import note
from migrations_app.checks.values import Evidence, Remedy
from migrations_app.inventory.aws_place import AwsPlace, read_role_arn
from migrations_app.inventory.instance_requests import Judged, statements_for
from migrations_app.karpenter import labels
from migrations_app.karpenter.iam.evaluate import Verdict
from migrations_app.karpenter.iam.remedies import MANAGED_LIMIT, fitted
from migrations_app.karpenter.iam.site import Site


def within_reach(refused: Sequence[Judged], site: Site) -> Iterator[Remedy]:
    """For each role the smallest policy that allows these requests, and what no added statement would lift."""
    for arn in dict.fromkeys(one.role.role.arn for one in refused):
        mine = [one for one in refused if one.role.role.arn == arn]
        open_to_grants = [
            one for one in mine if one.answer.verdict is not Verdict.DENIED and statements_for([one], site)
        ]
        documents = fitted(statements_for(open_to_grants, site), limit=MANAGED_LIMIT)
        yield from added_to_role(arn, f"KarpenterInstances-{site.cluster}", documents=documents)
        stubborn = [one for one in mine if one not in open_to_grants]
        if stubborn:
            yield _stubborn(arn, stubborn)


def _stubborn(arn: str, refused: Sequence[Judged]) -> Remedy:
    role = read_role_arn(arn)
    causes = dict.fromkeys(note(f"{one.request.action}: {one.answer.because}") for one in refused)
    return aws(
        "# No added statement lifts this; the one that is named has to change:",
        *causes,
        command("iam", "list-attached-role-policies", "--role-name", role.name if role else "ROLE"),
    )


def retagged(place: AwsPlace, evidence: Iterable[Evidence]) -> Iterator[Remedy]:
    """Commands for instances whose tag with the cluster's name is missing or whose mark of a claim is left over."""
    for row in evidence:
        ids = row.name.removesuffix(" ...").split()
        at = ("--region", place.region, "--resources", *ids, "--tags")
        more = (f"# {row.count} in all; list the others with aws ec2 describe-instances",) if "..." in row.name else ()
        if row.path == f"tags[{labels.CLUSTER_NAME_TAG}]":
            note = "# 1.0 does this by itself once ec2:CreateTags with that key is allowed to it"
            tag = f"Key={labels.CLUSTER_NAME_TAG},Value={place.cluster}"
            yield aws(note, *more, command("ec2", "create-tags", *at, tag))
        elif row.path == f"tags[{labels.MANAGED_BY_CLUSTER}]":
            yield aws(*more, command("ec2", "delete-tags", *at, f"Key={labels.MANAGED_BY_CLUSTER}"))
