"""What an inventory says about the running Karpenter, put as evidence for `detection`, and what is left of alpha.

Where a cluster stands on the road: its stage, told from CRDs, objects and the running release.
"""

from msgspec import UNSET, UnsetType

from migrations_app.actions.targets.pools import reverting_tool
from migrations_app.inventory.facts.controller import CRD_CHART, helm_release, installation
from migrations_app.inventory.facts.conversion_webhook import webhook_service
from migrations_app.inventory.facts.delivery_sources import comes_from, git_sources
from migrations_app.inventory.facts.managers import AT_ONCE, BY_HAND, DELIVERERS, Managed, chart_delivery, delivered
from migrations_app.inventory.facts.node_pools import REFERENCE, text
from migrations_app.inventory.facts.ownership import Ownership
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import (
    CRD,
    Container,
    GitOpsDelivery,
    HelmRelease,
    NamedObject,
    Workload,
)
from migrations_app.inventory.parts import Part, Seen, is_whole
from migrations_app.karpenter import kinds, labels
from migrations_app.karpenter.detection import CrdSeen, DetectedRelease, ReleaseEvidence, detect
from migrations_app.readiness.delivery_diff import carriers
from migrations_app.readiness.given_charts import given_charts
from migrations_app.readiness.report import Installed, LegacyObject, Stage

LEGACY_PARTS = {"Provisioner": "provisioners", "AWSNodeTemplate": "awsnodetemplates", "Machine": "machines"}


def detect_running_release(inventory: Inventory) -> DetectedRelease:
    """The release that runs, how it was told and how sure that is."""
    workload = next(iter(inventory.controller.items), None)
    container = controller_container(workload) if workload else None
    chart = karpenter_release(inventory)
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
    """What shows that Karpenter of another cloud provider runs here, such as Azure or kwok; empty where nothing does.

    A CRD or a reference of the AWS group outweighs every other sign.
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


def installed(inventory: Inventory) -> Installed | None:
    """Where the controller is and who looks after it and the CRDs; None where no controller was seen."""
    running_controller = installation(inventory)
    if running_controller is None:
        return None
    by, crds = running_controller.managed, helm_release(inventory, chart=CRD_CHART)
    crd_by = _crds_kept(inventory)
    apart = crd_by.by in AT_ONCE and crd_by.name != by.name
    return Installed(
        namespace=running_controller.namespace,
        release=running_controller.release_name,
        kept_by=by.by,
        keeper=f"{by.namespace}/{by.name}".strip("/") if by.by in ("flux", "argocd") else "",
        source=_source(inventory, by),
        crds_kept_by=crd_by.by,
        crd_keeper=f"{crd_by.namespace}/{crd_by.name}".strip("/") if apart else "",
        crd_release=f"{crds.namespace}/{crds.name}" if crds else "",
        controller=called.name if (called := webhook_service(inventory)) else running_controller.name,
        given=given_charts(inventory),
        carriers=carriers(inventory),
        git=git_sources(inventory) or UNSET,
    )


def _crds_kept(inventory: Inventory) -> Managed:
    """Who keeps the CRDs; with the name of its object where that delivers the chart of the CRDs."""
    crd = next(iter(inventory.crds.items), None)
    if crd is None:
        return BY_HAND
    by = delivered(crd.metadata, inventory.deliveries.items)
    if by.by not in AT_ONCE:
        return by
    named = chart_delivery(inventory.deliveries.items, CRD_CHART)
    if named is not None and named.by == by.by:
        return named
    return by if by.told_by == f"label {labels.FLUX_HELM_NAME}" else Managed(by.by)


def _source(inventory: Inventory, by: Managed) -> str:
    """Where the Flux or Argo CD object comes from that delivers the controller; empty without one."""
    sources = (comes_from(inventory, delivery) for delivery in inventory.deliveries.items if _is_of(delivery, by))
    return next(sources, "")


def _is_of(delivery: GitOpsDelivery, by: Managed) -> bool:
    """Whether it is that delivery; Argo CD's marks do not tell the namespace."""
    return (
        DELIVERERS.get(delivery.kind) == by.by and delivery.name == by.name and by.namespace in ("", delivery.namespace)
    )


def karpenter_release(inventory: Inventory) -> HelmRelease | None:
    """The deployed Helm release of the controller's chart, if its record was seen."""
    return next((release for release in inventory.helm_releases.items if release.chart == "karpenter"), None)


def controller_container(workload: Workload) -> Container | None:
    """The container named controller; its name can be changed from 1.1 on, then the first one."""
    containers = workload.template.spec.containers or []
    return next((c for c in containers if c.name == "controller"), containers[0] if containers else None)


def legacy(inventory: Inventory, owned: Ownership) -> dict[str, int | None]:
    """Alpha objects left, by kind; None for a kind whose list could not be read, and for nodes set aside.

    An alpha object that was set aside is left all the same; of such a node nobody knows whose it is.
    """
    counts: dict[str, int | None] = {kind: _left(inventory.part(name)) for kind, name in LEGACY_PARTS.items()}
    whole = isinstance(inventory.nodes, Seen) and not inventory.nodes.quarantined
    return counts | {"Node": owned.by_owner.get("karpenter_alpha", 0) if whole else None}


def legacy_objects(inventory: Inventory) -> tuple[LegacyObject, ...] | UnsetType:
    """The alpha objects that are deleted at the end, and the CRDs of their kinds; unset where not all of them was read.

    Machines are not among them: they go with their nodes.
    """
    parts = (inventory.provisioners, inventory.awsnodetemplates, inventory.crds)
    if not all(map(is_whole, parts)):
        return UNSET
    names = {kind.crd_name for kind in kinds.ALPHA_KINDS}
    every: list[tuple[str, NamedObject]] = [
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
        for kind, named_object in every
    ]
    return tuple(objects) if all(legacy_object.uid for legacy_object in objects) else UNSET


def _left(part: Part[object]) -> int | None:
    return len(part.items) + len(part.quarantined) if isinstance(part, Seen) else None


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
    """`unknown` whenever what decides between two stages could not be read, and for another provider's Karpenter."""
    if running.other_provider:
        return "unknown"
    # A CRD that was set aside may be the one that decides.
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
    old, new = _living(inventory, ALPHA_PARTS), _living(inventory, CURRENT_PARTS)
    if old is None or new is None:
        return "unknown"
    if old and new:
        return "mixed"
    if old:
        return "alpha"
    crds = {crd.name: crd for crd in inventory.crds.items}
    if not new and (_older_than_beta(running) or "nodepools.karpenter.sh" not in crds):
        return "alpha"
    # Alpha CRDs without objects are left-overs; the rest of the road decides.
    return _without_alpha(inventory, crds)


def _older_than_beta(running: DetectedRelease) -> bool:
    if running.release is not None:
        return (running.release.major, running.release.minor_number) < (0, 32)
    return bool(running.minors) and all(minor in ("0.28", "0.29", "0.30", "0.31") for minor in running.minors)


def _living(inventory: Inventory, parts: tuple[str, ...]) -> bool | None:
    """Whether any object of the parts is there; None when none was seen and a part could not be read."""
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
