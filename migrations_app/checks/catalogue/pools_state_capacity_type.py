"""Every pool says whether it may launch spot instances."""

from collections.abc import Iterator
from typing import Any

from migrations_app.checks.base import Case, Check
from migrations_app.checks.remedies import from_source, kubectl, ordered
from migrations_app.checks.values import CannotTell, Evidence, NotApplicable, Remedy, Word
from migrations_app.inventory.managers import managed
from migrations_app.inventory.pools import own_pools
from migrations_app.karpenter import labels
from migrations_app.karpenter.hop_spans import ALPHA_LEFT

check = Check(
    __name__,
    title="Every pool states its capacity type",
    phase="resources",
    severity="info",
    why="A Provisioner without one launched on-demand only; a NodePool without one takes spot wherever it is cheaper.",
    how="The requirements of each NodePool are searched for the capacity type.",
    reads=("nodepools",),
    says=(
        "{count} pool states no capacity type and may launch spot",
        "{count} pools state no capacity type and may launch spot",
    ),
    severity_at={"0.32": "warning", ALPHA_LEFT: "warning"},
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
        "aws/karpenter-provider-aws@v0.32.10:pkg/providers/instance/instance.go",
    ),
)
REQUIREMENTS = "spec.template.spec.requirements"


@check.judge
def judge(case: Case) -> Iterator[Word]:
    own = own_pools(case.inventory)
    if not own:
        yield NotApplicable("there is no NodePool of Karpenter's own yet")
    for pool in own:
        rows = pool.get(REQUIREMENTS, [])
        if not isinstance(rows, list):
            yield CannotTell(f"NodePool {pool.name}: {REQUIREMENTS} is no list")
        elif not any(_states(row) for row in rows):
            yield Evidence(
                kind="NodePool",
                name=pool.name,
                path=REQUIREMENTS,
                seen="absent",
                wanted=f"{labels.CAPACITY_TYPE} In [{labels.ON_DEMAND}] or with {labels.SPOT}",
            )


def _states(row: Any) -> bool:  # noqa: ANN401 - the tree is the API's own JSON
    return isinstance(row, dict) and row.get("key") == labels.CAPACITY_TYPE


@check.advise
def advise(case: Case, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    pools = {pool.name: pool for pool in case.inventory.nodepools.items}
    by = managed(pools[evidence[0].name].metadata)
    value = f'{{"key":"{labels.CAPACITY_TYPE}","operator":"In","values":["{labels.ON_DEMAND}"]}}'
    patch = f'[{{"op":"add","path":"/spec/template/spec/requirements/-","value":{value}}}]'
    lines = (f"kubectl patch nodepools.karpenter.sh {row.name} --type=json -p '{patch}'" for row in evidence)
    note = "# Nodes launched before will drift where the new requirement does not admit them"
    yield from ordered(by, (*from_source(by, f"add the requirement {value}"), kubectl(note, *lines)))
