"""Fails for each Helm record or label that names another version than the controller's image."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.changes import Observation, group
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.checks.remedies.observations import read_command
from migrations_app.checks.shell import no_option
from migrations_app.inventory.facts.controller import helm_release, installation

check = Check(
    __name__,
    title="The Helm record and the labels match the running image",
    phase="preflight",
    severity="warning",
    why=(
        "The image is what runs. If record or labels name another version, an upgrade kept the old image (it reused "
        "the values of the old chart, or a tag is pinned), and the next one may keep it again."
    ),
    how="Compares the tag of the controller's image with the Helm record and with the labels of the Deployment.",
    reads=("controller",),
    says=("{count} record does not match the running image", "{count} records do not match the running image"),
    sources=(
        "helm/helm@v3.19.0:pkg/action/upgrade.go",
        "aws/karpenter-provider-aws@v1.14.1:charts/karpenter/templates/deployment.yaml",
    ),
    remedy_tools=("kubectl",),
)


HELM = ("helm", "-n")


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    controller = installation(case.inventory)
    if controller is None:
        yield NotApplicable("there is no Karpenter Deployment")
        return
    for sentence in case.running.misrecorded:
        yield Evidence(
            kind="Deployment",
            namespace=controller.namespace,
            name=controller.name,
            path="spec.template.spec.containers[].image",
            seen=sentence,
            wanted=str(case.running.release),
            data={"release": controller.release_name},
        )


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    row, record = evidence[0], helm_release(case.inventory)
    home, release = no_option(row.namespace), no_option(row.value("release"))
    if record is not None and record.unfinished:
        note = "The last run of Helm did not succeed: the record may not be what runs (helm_runs_finished)"
        yield in_cluster(read_command(*HELM, home, "history", release, "--max", "5", notes=(note,)))
        return
    note = "Look for the image's tag or digest among the values, and take it out of the file of the next upgrade:"
    values_pipe = ((*HELM, home, "get", "values", release, "--all"), ("grep", "-nE", "tag:|digest:"))
    get_deployment = ("kubectl", "-n", home, "get", "deployment", no_option(row.name), "-o", "yaml")
    runs = Observation(pipe=(get_deployment, ("grep", "-E", "image:|/version:")))
    yield in_cluster(group(Observation(pipe=values_pipe), runs, notes=(note,)))
