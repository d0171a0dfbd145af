"""No workload tolerates the disruption taint by the key of v1beta1."""

from collections.abc import Iterator

from migrations_app.checks.base import Case, Check
from migrations_app.checks.remedies import NAMES_SHOWN, from_source, kept_by, kubectl, ordered
from migrations_app.checks.values import Evidence, Remedy, Word
from migrations_app.inventory.mentions import POD_PARTS, placed
from migrations_app.karpenter import labels
from migrations_app.karpenter.hop_spans import CONVERTED, hops_from

check = Check(
    __name__,
    title="No toleration names the taint of v1beta1",
    phase="workloads",
    severity="warning",
    why=(
        "From 1.0 on a node being drained carries another taint: "
        "pods that were to stay until the end are evicted with the rest."
    ),
    reads=POD_PARTS,
    says=("{count} pod tolerates a taint that is gone", "{count} pods tolerate a taint that is gone"),
    hops=hops_from(CONVERTED),
    sources=("aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",),
)


@check.judge
def judge(case: Case) -> Iterator[Word]:
    found = placed(case.inventory, {labels.DISRUPTION_TAINT, labels.DISRUPTED_TAINT})
    current = {(one.kind, one.namespace, one.name) for one in found if one.key == labels.DISRUPTED_TAINT}
    for one in found:
        if one.key == labels.DISRUPTION_TAINT and (one.kind, one.namespace, one.name) not in current:
            yield Evidence(
                kind=one.kind,
                namespace=one.namespace,
                name=one.name,
                path=one.path,
                seen=one.key,
                wanted=labels.replacement(one.key, kind="taint"),
                count=one.count,
            )


@check.advise
def advise(case: Case, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    by = kept_by(case.inventory, evidence[0])
    source = from_source(by, f"tolerate {labels.DISRUPTED_TAINT} as well, if the toleration is really wanted")
    lines = (
        f"kubectl -n {row.namespace} edit {row.kind.lower()} {row.name}  # {row.path}: add {row.wanted}"
        for row in evidence[:NAMES_SHOWN]
    )
    yield from ordered(by, (*source, kubectl(*lines)))
