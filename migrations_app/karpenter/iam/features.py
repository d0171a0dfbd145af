"""On which settings of a cluster a request depends, and what is assumed when nobody says otherwise."""

from enum import StrEnum


class Feature(StrEnum):
    """A setting without which the controller never sends the request."""

    SPEC_ROLE = "spec-role"
    AMI_ALIAS = "ami-alias"
    QUEUE = "queue"
    SPOT = "spot"
    IN_PLACE = "in-place"
    ENDPOINT_LOOKUP = "endpoint-lookup"
    OPEN_NETWORK = "open-network"
    DRY_RUN = "dry-run"
    RESERVATIONS = "capacity-reservations"
    PLACEMENT_GROUPS = "placement-groups"
    ZONAL_SHIFT = "zonal-shift"
    ASSUME_ROLE = "assume-role"
    BEFORE_MACHINES = "instances-of-0.27"
    TAGS_ON_CREATE = "tags-on-create"


MEANING = {
    Feature.SPEC_ROLE: "a node class uses spec.role",
    Feature.AMI_ALIAS: "AMIs come from an AMI family or an alias",
    Feature.QUEUE: "an interruption queue is configured",
    Feature.SPOT: "spot capacity is allowed",
    Feature.IN_PLACE: "upgrade in place: instances, launch templates and profiles of 0.37 or older still exist",
    Feature.ENDPOINT_LOOKUP: (
        "clusterEndpoint is not set, or AL2023 nodes (0.35 on), eksControlPlane (1.1 on) or zonal shift (1.12 on)"
    ),
    Feature.OPEN_NETWORK: "isolated-VPC mode is off",
    Feature.DRY_RUN: "the launch rehearsal of node classes is not switched off (can be from 1.6.2)",
    Feature.RESERVATIONS: "a node class selects capacity reservations",
    Feature.PLACEMENT_GROUPS: "a node class selects a placement group",
    Feature.ZONAL_SHIFT: "the zonal shift option is on",
    Feature.ASSUME_ROLE: "an assume-role ARN is configured; all other needs then fall on that role",
    Feature.BEFORE_MACHINES: "instances launched by 0.27 or older still run",
    Feature.TAGS_ON_CREATE: (
        "advised: AWS may ask for it when a profile is created with tags (not proven); only 1.0 calls it by itself"
    ),
}

# All but the four rare options, the instances of 0.27 and the unproven advice.
ASSUMED = frozenset(
    {
        Feature.SPEC_ROLE,
        Feature.AMI_ALIAS,
        Feature.QUEUE,
        Feature.SPOT,
        Feature.IN_PLACE,
        Feature.ENDPOINT_LOOKUP,
        Feature.OPEN_NETWORK,
        Feature.DRY_RUN,
    }
)
