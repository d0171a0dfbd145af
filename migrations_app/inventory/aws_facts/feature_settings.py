"""Finds the features that decide which AWS requests the controller sends: assumed defaults, corrected by what the
inventory shows.
"""

from collections.abc import Callable, Iterator, Mapping

from migrations_app.iam.requirements.features import ASSUMED, Feature
from migrations_app.inventory.aws_facts.names import setting
from migrations_app.inventory.facts.controller import installation
from migrations_app.inventory.facts.node_pools import FAMILIES, spot_possible
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import EC2NodeClass, NodeClaim
from migrations_app.inventory.parts import Unseen, is_whole
from migrations_app.karpenter import kinds, labels
from migrations_app.karpenter.controller_settings import setting_row
from migrations_app.karpenter.release_facts import AL2023

QUEUE = "aws.interruptionQueueName"
ASSUME_ROLE = "aws.assumeRoleARN"
ENDPOINT = "aws.clusterEndpoint"
ISOLATED = "aws.isolatedVPC"
DRY_RUN_OFF = "DISABLE_DRY_RUN"
CONTROL_PLANE = "EKS_CONTROL_PLANE"
ZONAL_SHIFT = "ENABLE_ZONAL_SHIFT"
TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
"""The values that Go's strconv.ParseBool reads as true; the controller parses its variables with it."""
OTHER_FAMILIES = frozenset(FAMILIES.values()) - {AL2023}
"""Families whose nodes need no service CIDR, so that the controller sends no DescribeCluster for them."""

FeatureAnswer = bool | None
"""What the inventory shows; None if it does not show that."""


def applicable_features(inventory: Inventory) -> frozenset[Feature]:
    """The features assumed for any cluster, plus those seen to be on, minus those seen to be off."""
    answers = {feature: read_answer(inventory) for feature, read_answer in _ANSWERED_BY.items()}
    on = {feature for feature, answer in answers.items() if answer}
    return (ASSUMED | on) - {feature for feature, answer in answers.items() if answer is False}


def guessed_features(inventory: Inventory) -> frozenset[Feature]:
    """The features that apply only because what would show them was not read."""
    return frozenset({Feature.SNAPSHOTS} if not _names_snapshot(inventory) and _hides_snapshot(inventory) else ())


def _every_class(inventory: Inventory, holds: Callable[[EC2NodeClass], bool]) -> bool:
    """Whether the predicate holds for each node class and all were seen. False without any class: nothing is known of
    future ones.
    """
    classes = inventory.ec2nodeclasses
    return is_whole(classes) and bool(classes.items) and all(map(holds, classes.items))


def _no_template(inventory: Inventory) -> bool:
    return is_whole(inventory.awsnodetemplates) and not inventory.awsnodetemplates.items


def _spec_role(inventory: Inventory) -> FeatureAnswer:
    def by_profile(ec2_node_class: EC2NodeClass) -> bool:
        return bool(ec2_node_class.get("spec.instanceProfile")) and not ec2_node_class.get("spec.role")

    return False if _no_template(inventory) and _every_class(inventory, by_profile) else None


def _ami_alias(inventory: Inventory) -> FeatureAnswer:
    def by_term(ec2_node_class: EC2NodeClass) -> bool:
        terms = _terms(ec2_node_class)
        return bool(terms) and not any("alias" in term or "ssmParameter" in term for term in terms)

    return False if _no_template(inventory) and _every_class(inventory, by_term) else None


def _terms(ec2_node_class: EC2NodeClass) -> list[Mapping[str, object]]:
    """The AMI selector terms; empty if they are malformed, which decides nothing."""
    terms = ec2_node_class.get("spec.amiSelectorTerms", [])
    readable = isinstance(terms, list) and all(isinstance(term, dict) for term in terms)
    return terms if readable else []


def _queue(inventory: Inventory) -> FeatureAnswer:
    return _has_setting(inventory, QUEUE)


def _has_setting(inventory: Inventory, key: str) -> FeatureAnswer:
    """Whether the setting is given; None if some source that could give it was not read completely."""
    values = setting(inventory, key)
    if isinstance(values, Unseen):
        return None
    if values.items:
        return True
    whole = bool(inventory.controller.items) and is_whole(inventory.controller) and is_whole(inventory.settings)
    return False if whole and not any(_flag(key) in argument for argument in _arguments(inventory)) else None


def _flag(key: str) -> str:
    row = setting_row(key)
    return "--" + (row.env if row else key).lower().replace("_", "-")


def _arguments(inventory: Inventory) -> Iterator[str]:
    for workload in inventory.controller.items:
        for container in workload.template.spec.containers or ():
            yield from container.args or ()


def _spot(inventory: Inventory) -> FeatureAnswer:
    """Whether spot is possible; None without any pool, since nothing is known of future ones."""
    pools = inventory.nodepools.items or inventory.provisioners.items
    return spot_possible(inventory) if pools else None


def _in_place(inventory: Inventory) -> FeatureAnswer:
    """False once the tagging controller of 1.0 has marked every claim and AWS shows no instance without its tag."""
    claims, machines = inventory.nodeclaims, inventory.machines
    if not (is_whole(claims) and is_whole(machines)) or machines.items:
        return None
    own = [claim for claim in claims.items if _is_own(claim)]
    marked = all(claim.metadata.annotation(labels.CLUSTER_NAME_TAGGED) == "true" for claim in own)
    untagged = any(labels.CLUSTER_NAME_TAG not in dict(instances.tags) for instances in inventory.aws.instances.items)
    return False if own and marked and not untagged else None


def _is_own(claim: NodeClaim) -> bool:
    reference = claim.spec.node_class_ref
    return not reference or reference.group in (None, "", kinds.AWS_GROUP)


def _endpoint_lookup(inventory: Inventory) -> FeatureAnswer:
    lookups = _is_true(inventory, CONTROL_PLANE), _is_true(inventory, ZONAL_SHIFT)
    certain = bool(setting(inventory, ENDPOINT).items) and lookups == (False, False)
    return False if certain and _every_class(inventory, _is_not_al2023) else None


def _is_not_al2023(ec2_node_class: EC2NodeClass) -> bool:
    family, aliases = (
        ec2_node_class.get("spec.amiFamily"),
        [str(term["alias"]) for term in _terms(ec2_node_class) if "alias" in term],
    )
    if any(alias.lower().startswith("al2023") for alias in aliases):
        return False
    return family in OTHER_FAMILIES or (family is None and bool(aliases))


def _open_network(inventory: Inventory) -> FeatureAnswer:
    return False if any(value in TRUE for value in setting(inventory, ISOLATED).items) else None


def _dry_run(inventory: Inventory) -> FeatureAnswer:
    return False if _is_true(inventory, DRY_RUN_OFF) else None


def _is_true(inventory: Inventory, env: str) -> FeatureAnswer:
    """Whether the controller's variable is true; None if it refers to another object, and without a controller."""
    controller = installation(inventory)
    if controller is None or controller.env.get(env) == "" or controller.hides(env):
        return None
    return controller.env.get(env, "false") in TRUE


def _reservations(inventory: Inventory) -> FeatureAnswer:
    return (
        any(
            ec2nodeclass.get("spec.capacityReservationSelectorTerms") for ec2nodeclass in inventory.ec2nodeclasses.items
        )
        or None
    )


def _placement_groups(inventory: Inventory) -> FeatureAnswer:
    return (
        any(ec2nodeclass.get("spec.placementGroupSelector") for ec2nodeclass in inventory.ec2nodeclasses.items) or None
    )


def _snapshots(inventory: Inventory) -> FeatureAnswer:
    """True also if snapshots may be named where nobody looked; None without any, as nothing is known of future ones."""
    return _names_snapshot(inventory) or _hides_snapshot(inventory) or None


def _names_snapshot(inventory: Inventory) -> bool:
    return any(_snapshot_in(spec.get("blockDeviceMappings")) for spec in _class_specs(inventory))


def _hides_snapshot(inventory: Inventory) -> bool:
    """Whether node classes were not read, or use a launch template of their own, which may name snapshots."""
    parts = inventory.ec2nodeclasses, inventory.awsnodetemplates, inventory.provisioners
    return not all(map(is_whole, parts)) or any(spec.get("launchTemplate") for spec in _class_specs(inventory))


def _class_specs(inventory: Inventory) -> Iterator[Mapping[str, object]]:
    """The specs of node classes and node templates, and those within Provisioners; malformed ones are left out."""
    specs = (
        *(found.get("spec", {}) for found in (*inventory.ec2nodeclasses.items, *inventory.awsnodetemplates.items)),
        *(provisioner.get("spec.provider", {}) for provisioner in inventory.provisioners.items),
    )
    yield from (spec for spec in specs if isinstance(spec, dict))


def _snapshot_in(devices: object) -> bool:
    disks = [device.get("ebs") for device in devices if isinstance(device, dict)] if isinstance(devices, list) else []
    return any(disk.get("snapshotID") for disk in disks if isinstance(disk, dict))


def _zonal_shift(inventory: Inventory) -> FeatureAnswer:
    return _is_true(inventory, ZONAL_SHIFT)


def _assume_role(inventory: Inventory) -> FeatureAnswer:
    return bool(setting(inventory, ASSUME_ROLE).items) or None


def _before_machines(inventory: Inventory) -> FeatureAnswer:
    """True if instances of 0.27 or older exist, which have the Provisioner's tag but not the managed-by tag; otherwise
    None.
    """
    every = [dict(instances.tags) for instances in inventory.aws.instances.items]
    return any(labels.PROVISIONER_NAME in tags and labels.MANAGED_BY_CLUSTER not in tags for tags in every) or None


_ANSWERED_BY: Mapping[Feature, Callable[[Inventory], FeatureAnswer]] = {
    Feature.SPEC_ROLE: _spec_role,
    Feature.AMI_ALIAS: _ami_alias,
    Feature.QUEUE: _queue,
    Feature.SPOT: _spot,
    Feature.IN_PLACE: _in_place,
    Feature.ENDPOINT_LOOKUP: _endpoint_lookup,
    Feature.OPEN_NETWORK: _open_network,
    Feature.DRY_RUN: _dry_run,
    Feature.RESERVATIONS: _reservations,
    Feature.PLACEMENT_GROUPS: _placement_groups,
    Feature.SNAPSHOTS: _snapshots,
    Feature.ZONAL_SHIFT: _zonal_shift,
    Feature.ASSUME_ROLE: _assume_role,
    Feature.BEFORE_MACHINES: _before_machines,
}
