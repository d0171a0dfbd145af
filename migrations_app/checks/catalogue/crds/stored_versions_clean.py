"""Fails for each CRD whose status.storedVersions still lists v1beta1."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.changes import ObjectPatch, Observation, group
from migrations_app.checks.remedies.commands import in_cluster, names_shown
from migrations_app.checks.remedies.crd_upgrade import crd_target
from migrations_app.checks.remedies.stored_versions import all_rewritten
from migrations_app.checks.shell import no_option
from migrations_app.karpenter import kinds
from migrations_app.karpenter.hops import BETA_LEFT, hops_from
from migrations_app.karpenter.versions import minor_order

check = Check(
    __name__,
    title="Only v1 objects are stored",
    phase="crds",
    severity="blocker",
    why=(
        "The API server refuses CRDs without v1beta1 while it is listed as stored, and could not read objects stored "
        "as v1beta1."
    ),
    how="Reads status.storedVersions of each converted CRD.",
    reads=("crds",),
    says=("{count} CRD still lists v1beta1 as stored", "{count} CRDs still list v1beta1 as stored"),
    hops=hops_from(BETA_LEFT),
    resolved_by=("rewrite_stored_versions",),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "aws/karpenter-provider-aws#8320",
        "kubernetes-sigs/karpenter@v1.0.9:pkg/controllers/migration/crd/controller.go",
    ),
    remedy_tools=("kubectl",),
)
COLUMNS = "custom-columns=NAME:.metadata.name,STORED:.status.storedVersions"
WATCH = "1.0.6 and later rewrite every object and then trim the list by themselves, with webhooks on. Watch it:"
LATER = "Releases from 1.1 on rewrite nothing: roll the controller back to the latest 1.0. What is stored:"
BY_HAND = (
    "By hand only after every object carries karpenter.sh/stored-version-migrated=true: each line looks first, and "
    "patches nothing where one lacks it or there is none"
)
CONVERTED = tuple(kind.crd_name for kind in kinds.CURRENT_KINDS)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    crds = [crd for crd in case.inventory.crds.items if crd.name in CONVERTED]
    if not crds:
        yield NotApplicable("none of the CRDs that 1.0 converts is installed yet")
    for crd in crds:
        if not crd.stored:
            yield Unknown(f"{crd.name}: status.storedVersions is empty")
        elif crd.stored != ("v1",):
            yield Evidence(
                kind="CustomResourceDefinition",
                name=crd.name,
                path="status.storedVersions",
                seen=", ".join(crd.stored),
                wanted="v1",
            )


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    names, running = map(no_option, names_shown(evidence)), case.running.release
    note = LATER if running and minor_order(running.minor) > (1, 0) else WATCH
    look = Observation(pipe=(("kubectl", "get", "crd", *names, "-o", COLUMNS),), notes=(note,))
    stored = {crd.name: list(crd.stored) for crd in case.inventory.crds.items}
    steps = (
        ObjectPatch(
            target=crd_target(row.name), subresource="status", body={"status": {"storedVersions": ["v1"]}},
            seen={"status": {"storedVersions": stored[row.name]}},
            notes=(BY_HAND,), needs=("stored_versions_can_be_rewritten",), done="status.storedVersions is [v1]",
            final="objects of another version could not be read any more", guard=all_rewritten(row.name),
        )
        for row in evidence
    )  # fmt: skip
    yield in_cluster(group(look, *steps))
