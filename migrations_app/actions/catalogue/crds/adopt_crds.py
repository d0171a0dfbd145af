"""Marks existing CRDs so that the chart karpenter-crd takes them over. Deletes nothing."""

from collections.abc import Collection, Iterator, Mapping

from migrations_app.actions.base import Action, Parameter, Parameters, PlanningContext, Unavailable
from migrations_app.actions.patches import patch_step
from migrations_app.actions.plan import Step
from migrations_app.actions.targets.crds import crd_need, target_of
from migrations_app.actions.targets.pools import reverting_tool
from migrations_app.inventory.facts.controller import CRD_CHART, installation
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import CRD
from migrations_app.karpenter import kinds, labels

KEEP = "helm.sh/resource-policy"
ALPHA = frozenset(kind.crd_name for kind in kinds.ALPHA_KINDS)
"""The charts from 0.33 on have no alpha CRDs, so Helm would delete them, with all objects, once it owns them."""

action = Action(
    __name__,
    title="Adopt the CRDs into the Helm release karpenter-crd",
    button="Adopt {count} CRDs into the Helm release karpenter-crd",
    why="Helm refuses to install karpenter-crd over CRDs without its marks, and a CRD that nobody owns stays behind.",
    risk="low",
    parts=("crds",),
    may=(crd_need("patch"),),
    parameters=(
        Parameter("release", "Helm release that adopts them", False, CRD_CHART),
        Parameter("namespace", "Namespace of that release (default: that of the controller)", False, ""),
        Parameter("take_over", "CRDs to take from the release that owns them now", False, of="crds", many=True),
    ),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/troubleshooting.md",
        "helm/helm@main:pkg/action/validate.go",
    ),
)


@action.prepare
def prepare(context: PlanningContext, parameters: Parameters) -> Iterator[Step]:
    release, namespace = _new_owner(context.inventory, parameters)
    unmarked_crds = [crd for crd in context.inventory.crds.items if not _marked(crd, release, namespace=namespace)]
    _refuse_terminating(unmarked_crds)
    _refuse_owned(unmarked_crds, (release, namespace), chosen=parameters.get("take_over") or ())
    for crd in unmarked_crds:
        yield _mark(crd, release, namespace=namespace)


def _new_owner(inventory: Inventory, parameters: Parameters) -> tuple[str, str]:
    controller = installation(inventory)
    namespace = parameters.get("namespace") or (controller.namespace if controller else "")
    if not namespace:
        raise Unavailable("the controller's namespace is not known: name the namespace of the release", code="where")
    return str(parameters.get("release") or CRD_CHART), str(namespace)


def _owner(crd: CRD) -> tuple[str, str]:
    """Name and namespace of the Helm release in the CRD's annotations; empty strings if there is none."""
    metadata = crd.metadata
    name = metadata.annotation(labels.HELM_RELEASE_NAME) or ""
    return name, (metadata.annotation(labels.HELM_RELEASE_NAMESPACE) or "") if name else ""


def _marked(crd: CRD, release: str, *, namespace: str) -> bool:
    return _owner(crd) == (release, namespace) and crd.metadata.label(labels.APP_MANAGED_BY) == "Helm"


def _refuse_terminating(crds: list[CRD]) -> None:
    terminating = [crd.name for crd in crds if crd.metadata.deleting]
    if terminating:
        raise Unavailable(f"being deleted, so they cannot be adopted: {', '.join(terminating)}", code="terminating")


def _refuse_owned(crds: list[CRD], new: tuple[str, str], *, chosen: object) -> None:
    """Raises Unavailable if a CRD belongs to another release, since karpenter-crd takes all CRDs or none."""
    names = chosen if isinstance(chosen, list | tuple) else ()
    owned = [
        f"{crd.name} ({'/'.join(reversed(_owner(crd)))})" for crd in crds if _has_other_owner(crd, new, chosen=names)
    ]
    if owned:
        words = f"another Helm release owns {', '.join(owned)}: choose them to adopt them"
        raise Unavailable(words, code="owned_by_other")


def _has_other_owner(crd: CRD, new: tuple[str, str], *, chosen: Collection[str]) -> bool:
    return bool(_owner(crd)[0]) and _owner(crd) != new and crd.name not in chosen


def _mark(crd: CRD, release: str, *, namespace: str) -> Step:
    metadata = crd.metadata
    before = {"metadata": {"labels": metadata.labels or {}, "annotations": metadata.annotations or {}}}
    patch = {"labels": {labels.APP_MANAGED_BY: "Helm"}, "annotations": _annotations(crd, release, namespace=namespace)}
    return patch_step(
        target_of(crd),
        before,
        patch={"metadata": patch},
        title=f"Mark {crd.name} for the Helm release {namespace}/{release}",
        manager=reverting_tool(metadata),
        note=_note(crd),
    )


def _annotations(crd: CRD, release: str, *, namespace: str) -> Mapping[str, str]:
    owner = {labels.HELM_RELEASE_NAME: release, labels.HELM_RELEASE_NAMESPACE: namespace}
    return owner | ({KEEP: "keep"} if crd.name in ALPHA else {})


def _note(crd: CRD) -> str:
    sentences = ["Marks only: neither the CRD nor its objects change."]
    owner = "/".join(reversed(_owner(crd)))
    if owner:
        sentences.append(
            f"Taken from the Helm release {owner}, which must not be uninstalled with this CRD still in it."
        )
    if crd.name in ALPHA:
        sentences.append(f"{KEEP}: keep stops later charts, which leave it out, from deleting it with its objects.")
    return " ".join(sentences)
