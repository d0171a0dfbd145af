"""Faults of alpha objects, and of what is left of them."""

from tests.acceptance.own_objects import ALPHA_IS_LEFT, PROVISIONER, TEMPLATE, alpha_left, of, without_requirement
from tests.acceptance.planting import Fault, all_of, cut, put

ALPHA_FAULTS = (
    Fault(
        of="restricted-tags-alpha",
        on="alpha-028",
        plant=put(TEMPLATE, "default", "spec/tags", {"karpenter.sh/managed-by": "me"}),
        check="reserved_tags_left_alone",
        **of(TEMPLATE, "spec.tags[karpenter.sh/managed-by]"),
    ),
    Fault(
        of="selector-id-exclusive",
        on="alpha-030",
        plant=put(TEMPLATE, "default", "spec/subnetSelector", {"aws-ids": "subnet-1", "team": "a"}),
        check="alpha_behaviour_kept",
        **of(TEMPLATE, "spec.subnetSelector"),
        hop="0.32",
    ),
    Fault(
        of="ami-family-required",
        on="alpha-031",
        plant=cut(TEMPLATE, "default", "spec/amiFamily"),
        check="alpha_behaviour_kept",
        **of(TEMPLATE, "spec.amiFamily"),
    ),
    Fault(
        of="launch-template-removed",
        on="alpha-031",
        plant=put(TEMPLATE, "default", "spec/launchTemplate", "my-template"),
        check="alpha_objects_convert",
        **of(TEMPLATE, "spec.launchTemplate"),
    ),
    Fault(
        of="provider-block-removed",
        on="alpha-031",
        plant=all_of(
            put(
                PROVISIONER,
                "default",
                "spec/provider",
                {"subnetSelector": {"a": "b"}, "securityGroupSelector": {"a": "b"}},
            ),
            cut(PROVISIONER, "default", "spec/providerRef"),
        ),
        check="inline_providers_gone",
        **of(PROVISIONER, "spec.provider"),
    ),
    Fault(
        of="CONV-08",
        on="alpha-031",
        plant=put(TEMPLATE, "default", "spec/subnetSelector", {"Name": "one,two"}),
        check="selector_values_hold_no_comma",
        **of(TEMPLATE, "spec.subnetSelector[Name]"),
    ),
    Fault(
        of="container-runtime-dropped",
        on="alpha-031",
        plant=put(PROVISIONER, "default", "spec/kubeletConfiguration", {"containerRuntime": "dockerd"}),
        check="alpha_behaviour_kept",
        **of(PROVISIONER, "spec.kubeletConfiguration.containerRuntime"),
    ),
    Fault(
        of="disruption-defaults-beta",
        on="alpha-031",
        plant=all_of(
            cut(PROVISIONER, "default", "spec/consolidation"),
            cut(PROVISIONER, "default", "spec/ttlSecondsUntilExpired"),
        ),
        check="alpha_behaviour_kept",
        **of(PROVISIONER, "spec.consolidation"),
    ),
    Fault(
        of="capacity-type-default",
        on="alpha-031",
        plant=without_requirement(PROVISIONER, "karpenter.sh/capacity-type"),
        check="pools_state_capacity_type",
        **of(PROVISIONER, "spec.requirements"),
    ),
    Fault(
        of="instance-profile-to-role",
        on="alpha-031",
        plant=put(TEMPLATE, "default", "spec/instanceProfile", "MyProfile"),
        check="instance_profiles_have_roles",
        **of(TEMPLATE, ""),
        status="manual",
    ),
    Fault(
        of="alpha-kinds-replaced",
        on="finished-032",
        plant=alpha_left,
        check="legacy_provisioners_gone",
        **of(PROVISIONER, ""),
        beside=tuple(sorted(ALPHA_IS_LEFT - {"legacy_provisioners_gone"})),
    ),
    Fault(
        of="CRD-12",
        on="finished-032",
        plant=alpha_left,
        check="alpha_crds_outlive_chart",
        kind="CustomResourceDefinition",
        object="provisioners.karpenter.sh",
        path="metadata",
        beside=tuple(sorted(ALPHA_IS_LEFT - {"alpha_crds_outlive_chart"})),
    ),
)
