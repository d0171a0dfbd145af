"""Fails for each object that a tool still applies as v1beta1, which the target version does not serve."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.evidence import at_object
from migrations_app.checks.remedies.commands import in_cluster, ordered, source_remedies
from migrations_app.checks.remedies.observations import read_command
from migrations_app.checks.shared.hidden_fields import hidden_fields
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.managers import Managed, applies_at_once, keeps_version, managed
from migrations_app.inventory.objects.karpenter import WholeObject
from migrations_app.inventory.parse import LAST_APPLIED
from migrations_app.karpenter.hops import CONVERTED, hops_from

OLD = "/v1beta1"
check = Check(
    __name__,
    title="Every manifest uses a served version",
    phase="resources",
    severity="warning",
    why=(
        "From 1.1 on v1beta1 is not served: its manifests cannot be applied, and a Helm release that contains one "
        "cannot be upgraded. Under 1.0 server-side apply of v1beta1 may already fail: Flux and Argo CD retry for "
        "ever."
    ),
    how=(
        "Reads field managers and kubectl's last applied configuration with apiVersion v1beta1, and objects in "
        "Helm's manifests; at 1.0 only the managers of Flux and Argo CD, which apply without a person."
    ),
    reads=("nodepools", "ec2nodeclasses"),
    says=("{count} object is still applied as v1beta1", "{count} objects are still applied as v1beta1"),
    hops=hops_from(CONVERTED),
    sources=(
        "aws/karpenter-provider-aws#6867",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
    ),
    remedy_tools=OBJECT_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    objects = [*case.inventory.nodepools.items, *case.inventory.ec2nodeclasses.items]
    packaged = [(item, name) for item in case.inventory.helm_releases.items for name in item.packaged if OLD in name]
    if not objects and not packaged:
        yield NotApplicable("there is no NodePool, no EC2NodeClass and no Helm release that holds one")
    yield from hidden_fields(case.inventory, ("nodepools", "ec2nodeclasses"))
    if case.hop.name == CONVERTED:
        for item in objects:
            yield from _beta_managers(item, at_once=True)
        return
    for item in objects:
        yield from _beta_managers(item, at_once=False)
        if (applied := item.metadata.annotation(LAST_APPLIED) or "").endswith(OLD):
            path = f"metadata.annotations[{LAST_APPLIED}]"
            yield at_object(item, path, seen=applied, wanted="v1 in the file that is applied")
    for release, name in packaged:
        kind, space = "HelmRelease", release.namespace
        yield Evidence(kind=kind, namespace=space, name=release.name, path="manifest", seen=name, wanted="v1")


def _beta_managers(item: WholeObject, *, at_once: bool) -> Iterator[JudgeResult]:
    """Evidence for field managers that hold v1beta1; with `at_once`, only for tools that apply again automatically."""
    for field in item.metadata.managed_fields or ():
        if keeps_version(field, OLD) and (not at_once or applies_at_once(field)):
            seen = f"{field.manager} ({field.operation}) as {field.api_version}"
            yield at_object(item, "metadata.managedFields", seen=seen, wanted="v1 in the source that it keeps")


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    inventory = (*case.inventory.nodepools.items, *case.inventory.ec2nodeclasses.items)
    named = {row.name for row in evidence}
    by = next((managed(item.metadata) for item in inventory if item.name in named), Managed("hand"))
    text = "write every NodePool and EC2NodeClass as v1 in one commit, before the upgrade"
    note = "As v1, to put into the source; karpdash convert does the same for files"
    kinds = "nodepools.v1.karpenter.sh,ec2nodeclasses.v1.karpenter.k8s.aws"
    look = in_cluster(read_command("kubectl", "get", kinds, "-o", "yaml", notes=(note,)))
    yield from ordered(by, (*source_remedies(by, text), look))
