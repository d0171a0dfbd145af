"""What the chart's ClusterRoles grant the controller, by release.

Source: clusterrole.yaml and clusterrole-core.yaml below charts/karpenter/templates in aws/karpenter-provider-aws,
every tag v0.28.0 .. v1.14.1. Rights on admission webhooks are left out: without them a webhook fails with a clear
error.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from migrations_app.karpenter.versions import Release, within

CORE, AWS, EXTENSIONS, STORAGE = "karpenter.sh", "karpenter.k8s.aws", "apiextensions.k8s.io", "storage.k8s.io"
READ = ("get", "list", "watch")
FOLLOW = ("list", "watch")
"""What the cache of a controller asks for; objects are then read from the cache."""
WRITE = ("create", "delete", "update", "patch")
CHANGE = ("update", "patch")


@dataclass(frozen=True, slots=True, kw_only=True)
class RightRow:
    """Verbs on resources and the releases that need them, both ends included; an empty end is open.

    `webhooks`: only while the controller runs its webhooks. `named`: the grant may be limited to the CRDs that it
    converts.
    """

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    first: str = ""
    last: str = ""
    why: str
    webhooks: bool = False
    named: bool = False


@dataclass(frozen=True, slots=True)
class RbacRight:
    """One verb on one resource, and why it is needed."""

    group: str
    resource: str
    verb: str
    why: str = ""
    named: bool = False

    @property
    def target(self) -> str:
        """The resource in kubectl's spelling: nodeclaims.karpenter.sh/status."""
        name, slash, part = self.resource.partition("/")
        return f"{name}{'.' if self.group else ''}{self.group}{slash}{part}"

    def __str__(self) -> str:
        return f"{self.verb} {self.target}"


def _rows(first: str, last: str, *rights: tuple[str, str, tuple[str, ...], str]) -> tuple[RightRow, ...]:
    return tuple(
        RightRow(group=group, resources=tuple(resources.split()), verbs=verbs, first=first, last=last, why=why)
        for group, resources, verbs, why in rights
    )


ALPHA_RIGHTS = _rows(
    "",
    "0.32",
    (CORE, "provisioners machines", READ, "sees its alpha objects"),
    (CORE, "machines", ("create", "delete", "patch"), "launches and removes nodes"),
    (AWS, "awsnodetemplates", READ, "sees its node templates"),
)
BETA_RIGHTS = _rows(
    "0.32",
    "",
    (CORE, "nodepools nodepools/status nodeclaims nodeclaims/status", READ, "sees its own objects"),
    (CORE, "nodeclaims nodeclaims/status", WRITE, "launches and removes nodes"),
    (CORE, "nodepools nodepools/status", CHANGE, "writes the hash and the status of pools"),
    (AWS, "ec2nodeclasses", READ, "sees its node classes"),
    (AWS, "ec2nodeclasses ec2nodeclasses/status", CHANGE, "writes the hash and the status of node classes"),
)
CLUSTER_RIGHTS = _rows(
    "",
    "",
    ("", "pods nodes persistentvolumes persistentvolumeclaims replicationcontrollers namespaces", READ, "schedules"),
    (STORAGE, "storageclasses csinodes", READ, "schedules pods with volumes"),
    ("apps", "daemonsets deployments replicasets statefulsets", ("list", "watch"), "counts what each node carries"),
    ("policy", "poddisruptionbudgets", READ, "drains within the budgets"),
    ("", "events", ("create", "patch"), "tells what it does"),
    ("", "nodes", ("patch", "delete"), "taints and removes nodes"),
    ("", "pods/eviction", ("create",), "drains nodes"),
)
V1_RIGHTS = (
    *_rows(
        "1.0",
        "",
        ("", "nodes", ("update",), "takes its taints and finalizers off nodes"),
        ("", "pods", ("delete",), "ends pods when terminationGracePeriod is over"),
        (STORAGE, "volumeattachments", READ, "waits for volumes to detach before it ends an instance"),
    ),
    *_rows("1.1", "", ("", "events", READ, "follows the events of its pods")),
    *_rows(
        "1.7",
        "",
        (CORE, "nodeoverlays nodeoverlays/status", READ, "sees NodeOverlays"),
        (CORE, "nodeoverlays/status", CHANGE, "writes the status of NodeOverlays"),
    ),
    *_rows(
        "1.14",
        "",
        ("", "podtemplates", READ, "reads the templates of CapacityBuffers"),
        ("autoscaling.x-k8s.io", "capacitybuffers capacitybuffers/status", READ, "sees CapacityBuffers"),
        ("autoscaling.x-k8s.io", "capacitybuffers/status", CHANGE, "writes the status of CapacityBuffers"),
    ),
)
_BRIDGES = (("0.33.6", "0.33"), ("0.34.7", "0.34"), ("0.35.6", "0.35"), ("0.36.3", "0.36"), ("0.37.1", "1.0"))
CONVERSION_RIGHTS = (
    *(
        row
        for first, last in _BRIDGES
        for row in (
            RightRow(
                group=EXTENSIONS,
                resources=("customresourcedefinitions",),
                verbs=("list", "watch"),
                first=first,
                last=last,
                why="finds the CRDs that it converts",
                webhooks=True,
            ),
            RightRow(
                group=EXTENSIONS,
                resources=("customresourcedefinitions",),
                verbs=("update",),
                first=first,
                last=last,
                why="writes its certificate into the CRDs",
                webhooks=True,
                named=True,
            ),
        )
    ),
    RightRow(
        group=EXTENSIONS,
        resources=("customresourcedefinitions",),
        verbs=("get",),
        first="1.0.5",
        last="1.0",
        why="reads which versions are stored",
        webhooks=True,
        named=True,
    ),
    RightRow(
        group=EXTENSIONS,
        resources=("customresourcedefinitions/status",),
        verbs=("patch",),
        first="1.0.4",
        last="1.0",
        why="takes v1beta1 off status.storedVersions",
        webhooks=True,
        named=True,
    ),
)
RIGHT_ROWS: tuple[RightRow, ...] = (*ALPHA_RIGHTS, *BETA_RIGHTS, *CLUSTER_RIGHTS, *V1_RIGHTS, *CONVERSION_RIGHTS)

DEVICES = "resource.k8s.io"
DEVICE_RIGHTS = _rows(
    "1.13",
    "",
    (DEVICES, "resourceclaims", FOLLOW, "waits at its start until it has read them"),
) + _rows(
    "1.14",
    "",
    (DEVICES, "resourceslices", FOLLOW, "lists them before it launches any node"),
    (DEVICES, "deviceclasses", FOLLOW, "looks up the classes that claims name"),
)
"""What a controller needs that does not ignore ResourceClaims; no chart grants it. It reads devices from its cache.

kubernetes-sigs/karpenter@v1.13.0:pkg/controllers/dynamicresources/deviceallocation/controller.go and
@v1.14.1:pkg/controllers/provisioning/dra.go, pkg/scheduling/dynamicresources/request.go.
"""

SURPLUS: tuple[RightRow, ...] = (
    RightRow(group="", resources=("nodes",), verbs=("create",), last="0.33", why="0.34 and later create no nodes"),
    RightRow(
        group=CORE,
        resources=("provisioners", "machines"),
        verbs=WRITE,
        last="0.32",
        why="no release from 0.33 on reads alpha objects",
    ),
    RightRow(
        group=AWS, resources=("awsnodetemplates",), verbs=CHANGE, last="0.32", why="no release from 0.33 on reads them"
    ),
    RightRow(
        group=EXTENSIONS,
        resources=("customresourcedefinitions", "customresourcedefinitions/status"),
        verbs=CHANGE,
        last="1.0",
        why="no release from 1.1 on converts",
    ),
)
"""Rights that may be removed after the release in the row; keeping them does no harm by itself."""


def rights_needed(running: Release, *, webhooks: bool) -> tuple[RbacRight, ...]:
    """What a controller of that release needs, in row order."""
    return tuple(
        right
        for row in RIGHT_ROWS
        if within(running, first=row.first, last=row.last) and (webhooks or not row.webhooks)
        for right in _each(row)
    )


def device_rights(running: Release) -> tuple[RbacRight, ...]:
    """What a controller of that release needs that does not ignore ResourceClaims."""
    rows = [row for row in DEVICE_RIGHTS if within(running, first=row.first, last=row.last)]
    return tuple(right for row in rows for right in _each(row))


def outlived(running: Release) -> tuple[RbacRight, ...]:
    """What no controller of that release needs any more."""
    return tuple(right for row in SURPLUS if not within(running, first="", last=row.last) for right in _each(row))


def _each(row: RightRow) -> Iterator[RbacRight]:
    for resource in row.resources:
        for verb in row.verbs:
            yield RbacRight(row.group, resource, verb, row.why, row.named)
