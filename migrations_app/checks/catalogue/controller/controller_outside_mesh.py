"""No service mesh stands between the API server and the conversion webhook."""

from collections.abc import Iterator

from migrations_app.checks.base import (
    Check,
    CheckContext,
    Evidence,
    JudgeResult,
    ManualCheck,
    NotApplicable,
    Remedy,
    SeverityCap,
)
from migrations_app.checks.evidence import at, at_deployment
from migrations_app.checks.remedies.controller_network import without_sidecars
from migrations_app.inventory.facts import controller_network as network
from migrations_app.inventory.facts.controller import Installation, installation
from migrations_app.karpenter.hops import BETA_LEFT, CONVERTED
from migrations_app.karpenter.tables.port_rows import WEBHOOK_PORT

check = Check(
    __name__,
    title="No mesh keeps the API server from the webhook",
    phase="controller",
    severity="warning",
    why="A sidecar that asks for the mesh's certificates refuses the API server: every conversion fails.",
    how=(
        "What an injector leaves on the controller's pods or is asked for by their template, and exempted ports; "
        "labels of Namespaces are not read, so outside kube-system a person looks at them."
    ),
    reads=("controller", "controller_pods"),
    says=("{count} pod of the controller is part of a mesh", "{count} pods of the controller are part of a mesh"),
    hops=(CONVERTED, BETA_LEFT),
    sources=(
        "istio/istio.io@master:content/en/docs/reference/config/annotations/index.html",
        "aws/karpenter-provider-aws@v1.0.14:charts/karpenter/templates/service.yaml",
    ),
    remedy_tools=("kubectl",),
)
WANTED = f"{WEBHOOK_PORT} excluded, or no sidecar"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    if not case.inventory.controller_pods.items:
        yield NotApplicable("no pod of a controller was found")
    meshed = 0
    for pod in case.inventory.controller_pods.items:
        for mesh in network.meshes_of_pod(pod.metadata):
            meshed += 1
            path = f"metadata.annotations[{mesh.exclusion}]"
            yield at(pod, path, seen=f"{mesh.name} takes every port", wanted=WANTED)
    found = installation(case.inventory)
    if found is not None and not meshed:
        asked = tuple(_asked_for(found))
        yield from asked
        if not asked and network.may_get_sidecars(found):
            told = ", ".join(network.MESH_LABELS)
            yield ManualCheck(f"Namespaces are not read: look whether {found.namespace} carries one of {told}")
            yield SeverityCap("info")


def _asked_for(found: Installation) -> Iterator[JudgeResult]:
    """A sidecar that the next pods will get."""
    for mesh, what in network.meshes_asked_for(found.workload.template.metadata):
        key, value = mesh.asking
        path = f"spec.template.metadata.{what}[{key}]"
        yield at_deployment(found, path, seen=f"{value}: {mesh.name} takes every port", wanted=WANTED)


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    found = installation(case.inventory)
    if found is not None:
        yield without_sidecars(found)
