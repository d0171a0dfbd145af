"""Detects the running Karpenter release, the stage of the cluster and what is left of alpha, from an inventory."""

from msgspec import UNSET, UnsetType

from migrations_app.actions.base import refuse_unread
from migrations_app.actions.changes import ObjectTarget
from migrations_app.actions.running_controller import PlannedController
from migrations_app.actions.targets.pools import reverting_tool
from migrations_app.inventory.facts.controller import CHART, CRD_CHART, helm_release, installation
from migrations_app.inventory.facts.conversion_webhook import webhook_service
from migrations_app.inventory.facts.delivery_sources import comes_from, git_sources
from migrations_app.inventory.facts.managers import (
    BY_HAND,
    DELIVERERS,
    IMMEDIATE_WRITERS,
    Managed,
    chart_delivery,
    delivered,
)
from migrations_app.inventory.facts.node_pools import REFERENCE, text
from migrations_app.inventory.facts.ownership import Ownership
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import (
    CRD,
    Container,
    GitOpsDelivery,
    NamedObject,
    Workload,
)
from migrations_app.inventory.parts import Part, Seen, is_whole, item_count
from migrations_app.karpenter import kinds, labels
from migrations_app.karpenter.detection import CrdSeen, DetectedRelease, ReleaseEvidence, detect
from migrations_app.readiness.delivery_diff import carriers
from migrations_app.readiness.given_charts import given_charts
from migrations_app.readiness.kept_webhooks import chart_deletes, kept_webhooks, without_release
from migrations_app.readiness.report import InstallationFacts, LegacyObject, Stage

LEGACY_PARTS = {"Provisioner": "provisioners", "AWSNodeTemplate": "awsnodetemplates", "Machine": "machines"}


def detect_running_release(inventory: Inventory) -> DetectedRelease:
    """Returns the running release, the source of that fact and its certainty."""
    workload = next(iter(inventory.controller.items), None)
    container = controller_container(workload) if workload else None
    chart = helm_release(inventory)
    labels = (workload.metadata.labels or {}) if workload else {}
    return detect(
        ReleaseEvidence(
            helm_app_version=chart.app_version if chart else "",
            helm_chart_version=chart.chart_version if chart else "",
            deployment_version=labels.get("app.kubernetes.io/version", ""),
            chart_label=labels.get("helm.sh/chart", ""),
            image=(container.image if container else None) or "",
            crds=_crds(inventory),
            env_names=[variable.name for variable in container.env or ()] if container else None,
            feature_gates=_feature_gates(container),
            global_settings=bool(inventory.settings.items) if isinstance(inventory.settings, Seen) else None,
            controller_seen=workload is not None if isinstance(inventory.controller, Seen) else None,
            node_class_groups=[text(pool, f"{REFERENCE}.group") for pool in inventory.nodepools.items],
            other_provider=other_provider(inventory),
        )
    )


def other_provider(inventory: Inventory) -> str:
    """Returns the sign that Karpenter for another cloud provider runs here, such as Azure or kwok; empty if there is
    none.

    A CRD or reference of the AWS group outweighs every other sign.
    """
    groups = {text(pool, f"{REFERENCE}.group") for pool in inventory.nodepools.items} - {"", kinds.AUTO_MODE_GROUP}
    crds = {crd.spec.group for crd in inventory.crds.items}
    if kinds.AWS_GROUP in groups | crds:
        return ""
    if groups:
        return f"its NodePools name node classes of {', '.join(sorted(groups))}"
    clouds = {(node.spec.provider_id or "").partition("://")[0] for node in inventory.nodes.items} - {""}
    if is_whole(inventory.crds) and kinds.CORE_GROUP in crds and clouds and "aws" not in clouds:
        return f"its CRDs are without {kinds.AWS_GROUP} and its nodes are of {', '.join(sorted(clouds))}"
    return ""


def installed(inventory: Inventory) -> InstallationFacts | None:
    """Returns where the controller is and which tools keep it and the CRDs; None if no controller was seen."""
    running_controller = installation(inventory)
    if running_controller is None:
        return None
    keeper, crd_release = running_controller.managed, helm_release(inventory, chart=CRD_CHART)
    crd_keeper = _crd_manager(inventory)
    has_own_keeper = crd_keeper.by in IMMEDIATE_WRITERS and crd_keeper.name != keeper.name
    webhooks, unrecorded = kept_webhooks(inventory), without_release(inventory)
    return InstallationFacts(
        namespace=running_controller.namespace,
        release=running_controller.release_name,
        kept_by=keeper.by,
        keeper=f"{keeper.namespace}/{keeper.name}".strip("/") if keeper.by in ("flux", "argocd") else "",
        source=_source(inventory, keeper),
        crds_kept_by=crd_keeper.by,
        crd_keeper=f"{crd_keeper.namespace}/{crd_keeper.name}".strip("/") if has_own_keeper else "",
        crd_release=f"{crd_release.namespace}/{crd_release.name}" if crd_release else "",
        controller=service.name if (service := webhook_service(inventory)) else running_controller.name,
        given=given_charts(inventory),
        carriers=carriers(inventory),
        git=git_sources(inventory) or UNSET,
        chart_deletes=chart_deletes(inventory),
        kept_webhooks=UNSET if webhooks is None else webhooks,
        without_release=UNSET if unrecorded is None else unrecorded,
    )


def _crd_manager(inventory: Inventory) -> Managed:
    """Returns the tool that keeps the CRDs, with its object if that delivers the chart of the CRDs."""
    crd = next(iter(inventory.crds.items), None)
    if crd is None:
        return BY_HAND
    by = delivered(crd.metadata, inventory.deliveries.items, charts=(CRD_CHART, CHART))
    if by.by not in IMMEDIATE_WRITERS:
        return by
    named = chart_delivery(inventory.deliveries.items, CRD_CHART)
    if named is not None and named.by == by.by:
        return named
    return by if by.told_by == f"label {labels.FLUX_HELM_NAME}" else Managed(by.by)


def _source(inventory: Inventory, by: Managed) -> str:
    """Returns the source of the Flux or Argo CD object that delivers the controller; empty without one."""
    sources = (
        comes_from(inventory, delivery) for delivery in inventory.deliveries.items if _is_same_delivery(delivery, by)
    )
    return next(sources, "")


def _is_same_delivery(delivery: GitOpsDelivery, by: Managed) -> bool:
    """Returns whether both are the same delivery; Argo CD's labels do not hold the namespace."""
    return (
        DELIVERERS.get(delivery.kind) == by.by and delivery.name == by.name and by.namespace in ("", delivery.namespace)
    )


def controller_container(workload: Workload) -> Container | None:
    """Returns the container named controller, else the first one: from 1.1 on the name can be changed."""
    containers = workload.template.spec.containers or []
    return next((c for c in containers if c.name == "controller"), containers[0] if containers else None)


def planned_controllers(inventory: Inventory) -> tuple[PlannedController, ...]:
    """Each Deployment of the controller with its image; empty if there is none. Raises Unavailable `not_seen` if they
    could not be read: nothing could tell at the start whether another release runs."""
    refuse_unread(inventory.controller, "controller")
    row = kinds.DEPLOYMENT
    return tuple(
        PlannedController(
            deployment=ObjectTarget(row.group, "v1", row.plural, row.kind, workload.name, namespace=workload.namespace),
            container=container.name or "",
            image=container.image or "",
        )
        for workload in inventory.controller.items
        if (container := controller_container(workload)) is not None
    )


def legacy(inventory: Inventory, owned: Ownership) -> dict[str, int | None]:
    """Returns the number of alpha objects by kind; None for a kind that could not be read, and for nodes if some were
    set aside.

    An alpha object that was set aside counts; the owner of a node that was set aside is not known.
    """
    counts: dict[str, int | None] = {kind: item_count(inventory.part(name)) for kind, name in LEGACY_PARTS.items()}
    whole = isinstance(inventory.nodes, Seen) and not inventory.nodes.quarantined
    return counts | {"Node": owned.by_owner.get("karpenter_alpha", 0) if whole else None}


def legacy_objects(inventory: Inventory) -> tuple[LegacyObject, ...] | UnsetType:
    """Returns the alpha objects that the clean-up deletes, and the CRDs of their kinds; unset if not all were read.

    Machines are not among them: they are deleted with their nodes.
    """
    parts = (inventory.provisioners, inventory.awsnodetemplates, inventory.crds)
    if not all(map(is_whole, parts)):
        return UNSET
    names = {kind.crd_name for kind in kinds.ALPHA_KINDS}
    named_objects: list[tuple[str, NamedObject]] = [
        *((kinds.PROVISIONER.kind, provisioner) for provisioner in inventory.provisioners.items),
        *((kinds.AWS_NODE_TEMPLATE.kind, awsnodetemplate) for awsnodetemplate in inventory.awsnodetemplates.items),
        *((kinds.CRD.kind, crd) for crd in inventory.crds.items if crd.name in names),
    ]
    objects = [
        LegacyObject(
            kind=kind,
            name=named_object.name,
            uid=named_object.metadata.uid or "",
            manager=reverting_tool(named_object.metadata),
        )
        for kind, named_object in named_objects
    ]
    return tuple(objects) if all(legacy_object.uid for legacy_object in objects) else UNSET


def _crds(inventory: Inventory) -> dict[str, CrdSeen] | None:
    if not isinstance(inventory.crds, Seen):
        return None
    return {crd.name: CrdSeen(crd.served, crd.storage) for crd in inventory.crds.items}


def _feature_gates(container: Container | None) -> str:
    variables = (container.env if container else None) or []
    return next((variable.value or "" for variable in variables if variable.name == "FEATURE_GATES"), "")


ALPHA_PARTS = ("provisioners", "awsnodetemplates", "machines")
CURRENT_PARTS = ("nodepools", "ec2nodeclasses", "nodeclaims")
STORED_CRDS = ("nodepools.karpenter.sh", "nodeclaims.karpenter.sh", "ec2nodeclasses.karpenter.k8s.aws")


def stage_of(inventory: Inventory, running: DetectedRelease) -> Stage:
    """Returns the stage; `unknown` if a deciding fact could not be read, and for Karpenter of another provider."""
    if running.other_provider:
        return "unknown"
    # A CRD that was set aside may be the deciding one.
    if not is_whole(inventory.crds) or not is_whole(inventory.controller):
        return "unknown"
    crds = {crd.name: crd for crd in inventory.crds.items}
    if not crds and not inventory.controller.items:
        return "no_karpenter"
    alpha = any(name.startswith(ALPHA_PARTS) for name in crds)
    if alpha:
        return _with_alpha(inventory, running)
    return _without_alpha(inventory, crds)


def _with_alpha(inventory: Inventory, running: DetectedRelease) -> Stage:
    has_alpha, has_current = _have_objects(inventory, ALPHA_PARTS), _have_objects(inventory, CURRENT_PARTS)
    if has_alpha is None or has_current is None:
        return "unknown"
    if has_alpha and has_current:
        return "mixed"
    if has_alpha:
        return "alpha"
    crds = {crd.name: crd for crd in inventory.crds.items}
    if not has_current and (_older_than_beta(running) or "nodepools.karpenter.sh" not in crds):
        return "alpha"
    # Alpha CRDs without objects are left-overs: the other CRDs decide.
    return _without_alpha(inventory, crds)


def _older_than_beta(running: DetectedRelease) -> bool:
    if running.release is not None:
        return (running.release.major, running.release.minor_number) < (0, 32)
    return bool(running.minors) and all(minor in ("0.28", "0.29", "0.30", "0.31") for minor in running.minors)


def _have_objects(inventory: Inventory, parts: tuple[str, ...]) -> bool | None:
    """Returns whether any object of the parts exists; None if none was seen and a part could not be read."""
    read_parts: list[Part[object]] = [inventory.part(name) for name in parts]
    if any(part.count or (isinstance(part, Seen) and part.quarantined) for part in read_parts):
        return True
    return False if all(isinstance(part, Seen) for part in read_parts) else None


def _without_alpha(inventory: Inventory, crds: dict[str, CRD]) -> Stage:
    pools = crds.get("nodepools.karpenter.sh")
    if pools is None:
        return "no_karpenter" if not inventory.controller.items else "unknown"
    served = set(pools.served)
    stored = {version for name in STORED_CRDS if name in crds for version in crds[name].stored}
    if "v1" in served:
        if "v1beta1" not in served and any(not crds[name].stored for name in STORED_CRDS if name in crds):
            return "unknown"
        return "beta_v1" if "v1beta1" in served | stored else "v1"
    return "beta" if "v1beta1" in served else "unknown"
