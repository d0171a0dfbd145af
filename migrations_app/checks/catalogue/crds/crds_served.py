"""Fails for each version that a CRD declares as served and that the API server's discovery does not list."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.changes import group
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.checks.remedies.observations import read_command
from migrations_app.checks.shell import no_option

check = Check(
    __name__,
    title="The API server serves every version that a CRD declares",
    phase="crds",
    severity="blocker",
    why="The API server serves nothing of a CRD that it did not accept; the controller cannot start its caches on it.",
    how="Looks every version that a CRD declares as served up in the API server's discovery.",
    reads=("crds", "discovery"),
    says=("{count} version of a CRD is not served", "{count} versions of CRDs are not served"),
    sources=("Kubernetes documentation, CustomResourceDefinition, conditions NamesAccepted and Established",),
    remedy_tools=("kubectl",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    if not case.inventory.crds.items:
        yield NotApplicable("no CRD of Karpenter is installed")
    served = {(resource.group, resource.version, resource.plural) for resource in case.inventory.discovery.items}
    for crd in case.inventory.crds.items:
        for version in crd.served:
            if (crd.spec.group, version, crd.spec.names.plural) not in served:
                yield Evidence(
                    kind="CustomResourceDefinition",
                    name=crd.name,
                    path="spec.versions",
                    seen=f"{version} is not in discovery",
                    wanted=f"{crd.spec.group}/{version} served",
                )


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    names = dict.fromkeys(no_option(row.name) for row in evidence)
    looks = (read_command("kubectl", "get", "crd", name, "-o", "jsonpath={.status.conditions}") for name in names)
    yield in_cluster(group(*looks))
