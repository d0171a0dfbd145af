"""What an inventory says about the running Karpenter, put as evidence for `detection`, and what is left of alpha."""

from migrations_app.inventory.installation import installation
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.managers import delivered
from migrations_app.inventory.objects import Container, HelmRelease, Workload
from migrations_app.inventory.ownership import Ownership
from migrations_app.inventory.pools import REFERENCE, text
from migrations_app.inventory.seen import Part, Seen
from migrations_app.karpenter.detection import CrdSeen, Detected, Evidence, detect
from migrations_app.readiness.report import Installed

LEGACY_PARTS = {"Provisioner": "provisioners", "AWSNodeTemplate": "awsnodetemplates", "Machine": "machines"}


def running(inventory: Inventory) -> Detected:
    """The release that runs, how it was told and how sure that is."""
    workload = next(iter(inventory.controller.items), None)
    container = controller_container(workload) if workload else None
    chart = karpenter_release(inventory)
    labels = (workload.metadata.labels or {}) if workload else {}
    return detect(
        Evidence(
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
        )
    )


def installed(inventory: Inventory) -> Installed | None:
    """Where the controller is and who looks after it and the CRDs; None where no controller was seen."""
    found = installation(inventory)
    if found is None:
        return None
    crd = next(iter(inventory.crds.items), None)
    by = found.managed
    return Installed(
        namespace=found.namespace,
        release=found.release_name,
        kept_by=by.by,
        keeper=f"{by.namespace}/{by.name}".strip("/") if by.by in ("flux", "argocd") else "",
        crds_kept_by=delivered(crd.metadata, inventory.deliveries.items).by if crd else "hand",
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
    found: dict[str, int | None] = {kind: _left(inventory.part(name)) for kind, name in LEGACY_PARTS.items()}
    whole = isinstance(inventory.nodes, Seen) and not inventory.nodes.quarantined
    return found | {"Node": owned.by_owner.get("karpenter_alpha", 0) if whole else None}


def _left(part: Part[object]) -> int | None:
    return len(part.items) + len(part.quarantined) if isinstance(part, Seen) else None


def _crds(inventory: Inventory) -> dict[str, CrdSeen] | None:
    if not isinstance(inventory.crds, Seen):
        return None
    return {crd.name: CrdSeen(crd.served, crd.storage) for crd in inventory.crds.items}


def _feature_gates(container: Container | None) -> str:
    variables = (container.env if container else None) or []
    return next((variable.value or "" for variable in variables if variable.name == "FEATURE_GATES"), "")
