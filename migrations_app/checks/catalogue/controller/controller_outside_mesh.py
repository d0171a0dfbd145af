"""Fails for each controller pod in a service mesh that stops the API server from calling the conversion webhook."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.evidence import at_deployment, at_object
from migrations_app.checks.remedies.aws import could_not_read
from migrations_app.checks.remedies.controller_network import remove_sidecars
from migrations_app.inventory.facts import controller_network as network
from migrations_app.inventory.facts.controller import Installation, installation
from migrations_app.inventory.parts import Unseen
from migrations_app.karpenter.hops import BETA_LEFT, CONVERTED
from migrations_app.karpenter.tables.port_rows import WEBHOOK_PORT

check = Check(
    __name__,
    title="No service mesh blocks the conversion webhook",
    phase="controller",
    severity="warning",
    why="A sidecar that requires the mesh's certificates refuses the API server: every conversion fails.",
    how=(
        "Reads the marks of an injector on the controller's pods, what their template requests and, outside "
        "kube-system, what their Namespace requests by label or annotation; and exempted ports."
    ),
    reads=("controller", "controller_pods"),
    says=("{count} controller pod is in a service mesh", "{count} controller pods are in a service mesh"),
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
            yield at_object(pod, path, seen=f"{mesh.name} takes every port", wanted=WANTED)
    controller = installation(case.inventory)
    if controller is not None and not meshed:
        requested = tuple(_requested_sidecars(controller))
        yield from requested
        if not requested and network.may_get_sidecars(controller):
            yield from _requested_by_namespace(case, controller)


def _requested_by_namespace(case: CheckContext, controller: Installation) -> Iterator[JudgeResult]:
    part = case.inventory.namespaces
    home = next((namespace for namespace in part.items if namespace.name == controller.namespace), None)
    if isinstance(part, Unseen):
        yield could_not_read("namespaces", part)
    elif home is None:
        yield Unknown(f"the Namespace {controller.namespace} was not among those that were read")
    else:
        for mesh, path, value in network.meshes_of_namespace(home.metadata, controller.workload.template.metadata):
            yield at_object(home, path, seen=f"{value}: {mesh.name} takes every port", wanted=WANTED)


def _requested_sidecars(controller: Installation) -> Iterator[JudgeResult]:
    """Evidence for a sidecar that the pod template requests; the next pods will have it."""
    for mesh, what in network.meshes_asked_for(controller.workload.template.metadata):
        key, value = mesh.asking
        path = f"spec.template.metadata.{what}[{key}]"
        yield at_deployment(controller, path, seen=f"{value}: {mesh.name} takes every port", wanted=WANTED)


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    controller = installation(case.inventory)
    if controller is not None:
        yield remove_sidecars(controller)
