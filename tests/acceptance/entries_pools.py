"""Entries of the coverage that show in pools, node classes, claims and workloads."""

from tests.acceptance.own_objects import (
    ALPHA_IS_LEFT,
    CLASS,
    POOL,
    PROVISIONER,
    TEMPLATE,
    alpha_left,
    of,
    without_requirement,
)
from tests.acceptance.planted_entries import PlantedEntry, rebuilt
from tests.acceptance.planting import Document, all_of, cut, every, first, put, template_of, variable

ALPHA = frozenset(ALPHA_IS_LEFT)
WEB = {"kind": "Deployment", "object": "web", "namespace": "shop"}
GRACE = "spec.template.spec.terminationGracePeriod"
RESERVED = [{"tags": {"team": "shop"}}]


def _volumes_in_another_zone(documents: list[Document]) -> None:
    """The node of old stands in a zone that no NodePool reaches, and a pod with a claim runs on it."""
    alpha_left(documents)
    old = next(n for n in every(documents, "Node") if "karpenter.sh/provisioner-name" in n["metadata"]["labels"])
    old["metadata"]["labels"]["topology.kubernetes.io/zone"] = "us-west-2d"
    pod = every(documents, "Pod", "ledger-0")[0]
    pod["spec"]["nodeName"] = old["metadata"]["name"]
    pod["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "data-ledger-0"}}]


POOL_ENTRIES = (
    PlantedEntry(
        of=("ami-tag-requirements-dropped",),
        on="alpha-031",
        plant=put(TEMPLATE, "default", "spec/amiSelector", {"team": "shop"}),
        check="alpha_behaviour_kept",
        **of(TEMPLATE, "spec.amiSelector"),
    ),
    PlantedEntry(
        of=("do-not-disrupt-annotation",),
        on="alpha-031",
        plant=template_of("Deployment", "web", "metadata/annotations", {"karpenter.sh/do-not-evict": "true"}),
        check="retired_annotations_replaced",
        hop="0.32",
        path="spec.template.metadata.annotations[karpenter.sh/do-not-evict]",
        **WEB,
    ),
    PlantedEntry(
        of=("forced-deletion-drains-at-once", "ROLL-03"),
        on="finished-032",
        plant=alpha_left,
        check="provisioners_hold_no_nodes",
        **of(PROVISIONER, "metadata.name"),
        beside=ALPHA - {"provisioners_hold_no_nodes"},
    ),
    PlantedEntry(
        of=("alpha-apis-dropped",),
        on="finished-032",
        plant=alpha_left,
        check="legacy_machines_gone",
        **of("Machine", "", "default-pbj6v"),
        beside=ALPHA - {"legacy_machines_gone"},
    ),
    PlantedEntry(
        of=("ROLL-02",),
        on="finished-032",
        plant=alpha_left,
        check="old_provisioners_fenced",
        **of(PROVISIONER, "spec.taints"),
        beside=ALPHA - {"old_provisioners_fenced"},
    ),
    PlantedEntry(
        of=("limits-flattened",),
        on="finished-032",
        plant=put(POOL, "default", "spec/limits", {"resources": {"cpu": 1000}}),
        check="limits_and_weights_valid",
        **of(POOL, "spec.limits.resources"),
    ),
    PlantedEntry(
        of=("CONV-03",),
        on="finished-032",
        plant=without_requirement(POOL, "kubernetes.io/arch"),
        check="pools_replace_provisioners_alike",
        **of(POOL, "spec.template.spec.requirements"),
        says="kubernetes.io/arch",
    ),
    PlantedEntry(
        of=("CONV-06",),
        on="finished-032",
        plant=variable("ISOLATED_VPC", "true"),
        check="isolated_vpc_needs_no_iam",
        **of(CLASS, "spec.role"),
    ),
    PlantedEntry(
        of=("WL-10",),
        on="finished-032",
        plant=_volumes_in_another_zone,
        check="zones_of_volumes_served",
        kind="StatefulSet",
        object="ledger",
        namespace="shop",
        path="spec.volumes",
        says="us-west-2d",
        beside=ALPHA,
    ),
    PlantedEntry(
        of=("hash-version-hydration",),
        on="beta-033",
        plant=first(
            "NodeClaim",
            "status/conditions",
            [{"type": one, "status": "True"} for one in ("Launched", "Registered", "Initialized", "Drifted")],
        ),
        check="hashes_carry_over",
        **of(POOL, "metadata.annotations[karpenter.sh/nodepool-hash-version]"),
        says="have drifted",
        beside=frozenset({"claims_not_drifted"}),
    ),
    PlantedEntry(
        of=("ROLL-11",),
        on="beta-037-read-as-beta",
        plant=cut(POOL, "default", "spec/disruption/budgets"),
        check="disruption_paced",
        **of(POOL, "spec.disruption.budgets"),
    ),
    PlantedEntry(
        of=("consolidation-policy-renamed",),
        on="beta-037-read-as-beta",
        plant=put(POOL, "default", "spec/disruption/consolidateAfter", "Never"),
        check="consolidation_stated",
        **of(POOL, "spec.disruption.consolidateAfter"),
        says="WhenUnderutilized",
    ),
    PlantedEntry(
        of=("expireafter-moved",),
        on="beta-037-read-as-beta",
        plant=cut(POOL, "default", "spec/disruption/expireAfter"),
        check="expiry_stated",
        **of(POOL, "spec.disruption.expireAfter"),
    ),
    PlantedEntry(
        of=("PATH-03",),
        on="beta-037",
        plant=put(POOL, "default", "spec/disruption/budgets", [{"nodes": "10%", "reasons": ["Drifted"]}]),
        check="rollback_loses_nothing",
        **of(POOL, "spec.disruption.budgets[0].reasons"),
    ),
    PlantedEntry(
        of=("WL-08",),
        on="v1-10",
        plant=all_of(
            put(POOL, "default", "spec/template/spec/terminationGracePeriod", "30s"),
            template_of("Deployment", "web", "metadata/annotations", {"karpenter.sh/do-not-disrupt": "true"}),
        ),
        check="grace_period_spares_protected_pods",
        path=GRACE,
        says="do-not-disrupt, against 30s",
        **WEB,
    ),
    PlantedEntry(
        of=("reserved-capacity-type",),
        on="v1-13",
        plant=put(CLASS, "default", "spec/capacityReservationSelectorTerms", RESERVED),
        check="reserved_capacity_reachable",
        **of(POOL, "spec.template.spec.requirements"),
        says="on-demand",
    ),
    PlantedEntry(
        of=("open-odcr-selection",),
        on="v1-13",
        ready=put(CLASS, "default", "spec/capacityReservationSelectorTerms", RESERVED),
        plant=cut(CLASS, "default", "spec/capacityReservationSelectorTerms"),
        check="open_reservations_selected",
        kind="",
        object="",
        says="describe-capacity-reservations",
        status="manual",
    ),
    PlantedEntry(
        of=("ca-bundle-drift",),
        on="v1-18",
        other={"version": "1.12.1"},
        plant=rebuilt("v1-18", version="1.11.2"),
        check="hashes_carry_over",
        **of(CLASS, "metadata.annotations[karpenter.k8s.aws/ec2nodeclass-hash-version]"),
        says="CA bundle",
    ),
)
