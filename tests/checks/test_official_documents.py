"""The published documents: each is enough for its release, and lacks for the next exactly what is known to change."""

import pytest

from migrations_app.samples.karpenter_objects import SPOT, provisioner
from tests import upstream
from tests.builders.clusters import finding_of
from tests.builders.iam import a_role, permitted

OF_CAPACITY = [
    "ec2:CreateFleet on fleet, instance, volume",
    "ec2:CreateLaunchTemplate on launch-template",
    "ec2:CreateTags on fleet, instance, launch-template, network-interface, volume",
    "ec2:DeleteLaunchTemplate on launch-template",
    "ec2:RunInstances on instance, network-interface, volume",
    "ec2:TerminateInstances on instance",
]
OF_PROFILES = [
    f"iam:{verb}InstanceProfile on instance-profile"
    for verb in ("AddRoleTo", "Create", "Delete", "Get", "RemoveRoleFrom", "Tag")
]
ROWS = [
    ("v0.30.0", "0.30.0", "0.31", {}),
    (
        "v0.31.4",
        "0.31.4",
        "0.32",
        {
            "controller_permitted": OF_CAPACITY,
            "policy_size_fits": ["policy KarpenterControllerPolicy-test"],  # 6,559 characters of 6,144
            "role_profiles_permitted": OF_PROFILES,
        },
    ),
    ("v0.32.10", "0.31.4", "0.32", {"legacy_permissions_kept": OF_CAPACITY}),
    (
        "v0.32.10",
        "0.32.10",
        "0.33+",
        {"controller_permitted": ["ec2:CreateTags on spot-instances-request"], "legacy_permissions_kept": OF_CAPACITY},
    ),
    ("v0.37.8", "0.37.8", "1.0", {"controller_permitted": ["ec2:CreateTags on instance"]}),
    ("v1.0.14", "0.37.8", "1.0", {}),
    (
        "v1.0.14",
        "1.0.14",
        "1.14",
        {
            "controller_permitted": ["ec2:DescribeInstanceStatus on *"],
            "role_profiles_permitted": ["iam:ListInstanceProfiles on *"],
        },
    ),
    ("v1.14.1", "1.0.14", "1.14", {}),
]


@pytest.mark.parametrize(("tag", "running", "hop", "lacking"), ROWS)
def test_a_published_document_lacks_what_is_known_to_change(tag, running, hop, lacking):
    cluster = permitted(running, a_role(upstream.policy(tag))).with_docs(provisioner("web", SPOT, template="default"))
    checks = ["controller_permitted", "role_profiles_permitted", "legacy_permissions_kept", "policy_size_fits"]
    found = {check: finding_of(check, hop, cluster) for check in checks if asked(check, hop)}
    assert {
        check: [row.path for row in one.evidence] for check, one in found.items() if one.status != "pass"
    } == lacking


def asked(check, hop):
    return {"role_profiles_permitted": hop != "0.31", "legacy_permissions_kept": hop in ("0.32", "0.33+")}.get(
        check, True
    )
