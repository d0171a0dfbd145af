"""Fails for each source (CRDs, variables, Helm record, labels) that contradicts the running version."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy, Unknown
from migrations_app.checks.changes import Observation, group
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.checks.remedies.observations import read_command
from migrations_app.checks.shell import no_option
from migrations_app.inventory.facts.controller import installation

check = Check(
    __name__,
    title="Every source agrees on the running version",
    phase="preflight",
    severity="warning",
    why=(
        "If labels, Helm record, CRDs and variables disagree, an upgrade stopped half-way, and the path may start "
        "elsewhere."
    ),
    how=(
        "Compares CRDs and variables with the running version, and, if the image has no version, the Helm record and "
        "the labels; asks where the image has a tag that is no version."
    ),
    reads=("controller",),
    says=("{count} source contradicts the running version", "{count} sources contradict the running version"),
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
    if tag := case.running.odd_tag:
        told = f"the {case.running.how} says {case.running.release}"
        yield Unknown(f"what runs is not known: the image's tag {tag} names no release, and {told}")
    for sentence in case.running.disagreements:
        if sentence in case.running.misrecorded:
            continue  # image_matches_records reports those
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
    row = evidence[0]
    home = no_option(row.namespace)
    get_deployment = ("kubectl", "-n", home, "get", "deployment", no_option(row.name), "-o", "yaml")
    runs = Observation(pipe=(get_deployment, ("grep", "-E", "image:|/version:")))
    yield in_cluster(group(runs, read_command(*HELM, home, "history", "karpenter")))
