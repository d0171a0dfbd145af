"""Everything that tells the running release says the same."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy, Unknown
from migrations_app.checks.changes import Observation, group
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.checks.remedies.observations import shown
from migrations_app.checks.shell import no_option
from migrations_app.inventory.facts.controller import installation

check = Check(
    __name__,
    title="Every source names the same running release",
    phase="preflight",
    severity="warning",
    why=(
        "Where labels, Helm record, CRDs and variables disagree, an upgrade stopped half-way, "
        "and the path may start elsewhere."
    ),
    how="CRDs and variables are compared with the running release, and where the image names none, record and labels.",
    reads=("controller",),
    says=(
        "{count} source contradicts the release that was told",
        "{count} sources contradict the release that was told",
    ),
    sources=("aws/karpenter-provider-aws@v1.14.1:charts/karpenter/templates/deployment.yaml",),
    remedy_tools=("kubectl",),
)


HELM = ("helm", "-n")


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    controller = installation(case.inventory)
    if case.running.certainty != "exact" or controller is None:
        yield Unknown(f"no source names the running release exactly: {case.running.how}")
        return
    for sentence in case.running.disagreements:
        if sentence in case.running.misrecorded:
            continue  # image_matches_records asks about those
        yield Evidence(
            kind="Deployment",
            namespace=controller.namespace,
            name=controller.name,
            path="spec.template.spec.containers[].image",
            seen=sentence,
            wanted=str(case.running.release),
        )


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    found = evidence[0]
    home = no_option(found.namespace)
    whole = ("kubectl", "-n", home, "get", "deployment", no_option(found.name), "-o", "yaml")
    runs = Observation(pipe=(whole, ("grep", "-E", "image:|/version:")))
    yield in_cluster(group(runs, shown(*HELM, home, "history", "karpenter")))
