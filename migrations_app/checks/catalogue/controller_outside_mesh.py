"""No service mesh stands between the API server and the conversion webhook."""

from collections.abc import Iterator

from migrations_app.checks.base import Case, Check
from migrations_app.checks.causes import at
from migrations_app.checks.remedies import kubectl
from migrations_app.checks.values import Evidence, NotApplicable, Remedy, Word
from migrations_app.inventory.installation import installation
from migrations_app.karpenter.hop_spans import BETA_LEFT, CONVERTED
from migrations_app.karpenter.port_rows import MESHES, WEBHOOK_PORT

check = Check(
    __name__,
    title="No mesh keeps the API server from the webhook",
    phase="controller",
    severity="warning",
    why="A sidecar that asks for the mesh's certificates refuses the API server: every conversion fails.",
    how="The annotation that an injector leaves on the controller's pods, and the one that exempts a port.",
    reads=("controller", "controller_pods"),
    says=("{count} pod of the controller is part of a mesh", "{count} pods of the controller are part of a mesh"),
    hops=(CONVERTED, BETA_LEFT),
    sources=(
        "istio/istio.io@master:content/en/docs/reference/config/annotations/index.html",
        "aws/karpenter-provider-aws@v1.0.14:charts/karpenter/templates/service.yaml",
    ),
)


@check.judge
def judge(case: Case) -> Iterator[Word]:
    if not case.inventory.controller_pods.items:
        yield NotApplicable("no pod of a controller was found")
    for pod in case.inventory.controller_pods.items:
        for mesh in MESHES:
            exempt = (pod.metadata.annotation(mesh.exclusion) or "").replace(" ", "").split(",")
            if pod.metadata.annotation(mesh.mark) is not None and WEBHOOK_PORT not in exempt:
                path, wanted = f"metadata.annotations[{mesh.exclusion}]", f"{WEBHOOK_PORT}, or no sidecar"
                yield at(pod, path, seen=f"{mesh.name} takes every port", wanted=wanted)


@check.advise
def advise(case: Case, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    found = installation(case.inventory)
    if found is not None:
        patch = (
            '{"spec":{"template":{"metadata":{"annotations":{"sidecar.istio.io/inject":"false",'
            '"linkerd.io/inject":"disabled"}}}}}'
        )
        yield kubectl(
            "# Replaces the controller's pods by some without a sidecar; in the chart: podAnnotations",
            f"kubectl -n {found.namespace} patch deployment {found.name} --type=merge -p '{patch}'",
        )
