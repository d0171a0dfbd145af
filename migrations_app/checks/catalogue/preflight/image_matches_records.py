"""The Helm record and the labels name the release that the controller's image runs."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.remedies.commands import kubectl
from migrations_app.checks.shell import word
from migrations_app.inventory.facts.controller import installation

check = Check(
    __name__,
    title="The Helm record and the labels name the release that runs",
    phase="preflight",
    severity="warning",
    why=(
        "What runs is the image. Where record or labels name another release, an upgrade kept the old image "
        "(it reused the values of the old chart, or a tag is pinned), and the next one may keep it again."
    ),
    how="The tag of the controller's image is compared with the Helm record and with the labels of the Deployment.",
    reads=("controller",),
    says=(
        "{count} record names another release than the image that runs",
        "{count} records name another release than the image that runs",
    ),
    sources=(
        "helm/helm@v3.19.0:pkg/action/upgrade.go",
        "aws/karpenter-provider-aws@v1.14.1:charts/karpenter/templates/deployment.yaml",
    ),
    remedy_tools=("kubectl",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    found = installation(case.inventory)
    if found is None:
        yield NotApplicable("there is no Karpenter Deployment")
        return
    for sentence in case.running.misrecorded:
        yield Evidence(
            kind="Deployment",
            namespace=found.namespace,
            name=found.name,
            path="spec.template.spec.containers[].image",
            seen=sentence,
            wanted=str(case.running.release),
            data={"release": found.release_name},
        )


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    found = evidence[0]
    yield kubectl(
        "# Look for the image's tag or digest among the values, and take it out of the file of the next landing:",
        f"helm -n {word(found.namespace)} get values {word(found.value('release'))} --all | grep -nE 'tag:|digest:'",
        f"kubectl -n {word(found.namespace)} get deployment {word(found.name)} -o yaml | grep -E 'image:|/version:'",
    )
