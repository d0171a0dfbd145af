import pytest

from migrations_app.checks.base import Evidence
from migrations_app.inventory.objects.aws import NamedBy
from migrations_app.inventory.parts import Seen, UnparsableObject, Unseen
from migrations_app.samples.karpenter_objects import node_class, node_template
from migrations_app.samples.kubernetes_objects import config_map
from tests.builders.aws import a_node_role, a_profile, by_class, no_role, parse_all, unread_role
from tests.builders.clusters import a_cluster, asked_hops, finding_of, reads, remedies, result_of, result_without

CHECK = "instance_profiles_named_exist"
GOOD = ("pass", "Every role and instance profile of a node class exists", ())
ONE = "1 role or instance profile cannot be used"
PROFILE = (
    "a profile with one role. "
    "Log: getting instance profile ... NoSuchEntity, or Invalid IAM Instance Profile name from EC2"
)
ROLE = "a role of this account. Log: adding role ... to instance profile ... NoSuchEntity"
NO_AWS = "AWS not connected: give karpdash the"


def with_role():
    return a_cluster().with_docs(node_class("default", cluster="test", version="v1beta1"))


def with_template(**spec):
    cluster = a_cluster("0.31.4", kubernetes="1.27")
    return cluster.with_docs(node_template("default", cluster="test", instanceProfile="nodes", **spec))


def row(kind, path, seen, wanted):
    return Evidence(kind=kind, name="default", path=path, seen=seen, wanted=wanted)


def test_they_are_there():
    assert result_of(CHECK, "1.0", with_role().with_aws(node_roles=(a_node_role(),))) == GOOD
    profile = a_profile("nodes", "KarpenterNodeRole-test")
    assert result_of(CHECK, "0.32", with_template().with_aws(instance_profiles=(profile,))) == GOOD


@pytest.mark.parametrize(
    ("profile", "seen"),
    [
        (a_profile("nodes", exists=False), "nodes: absent in IAM"),
        (a_profile("nodes"), "nodes: 0 roles in it"),
        (a_profile("nodes", "one", "two"), "nodes: 2 roles in it"),
    ],
)
def test_a_profile_is_of_no_use(profile, seen):
    rows = (row("AWSNodeTemplate", "spec.instanceProfile", seen, PROFILE),)
    assert result_of(CHECK, "0.32", with_template().with_aws(instance_profiles=(profile,))) == ("fail", ONE, rows)


def test_the_default_of_the_settings_counts():
    path = "data[aws.defaultInstanceProfile]"
    by = NamedBy(kind="ConfigMap", name="karpenter-global-settings", path=path)
    settings = config_map("karpenter-global-settings", "karpenter", data={"aws.defaultInstanceProfile": "nodes"})
    cluster = a_cluster("0.31.4", kubernetes="1.27").with_docs(settings)
    found = result_of(CHECK, "0.32", cluster.with_aws(instance_profiles=(a_profile("nodes", exists=False, by=by),)))
    wanted = Evidence(
        kind="ConfigMap", name="karpenter-global-settings", path=path, seen="nodes: absent in IAM", wanted=PROFILE
    )
    assert found == ("fail", ONE, (wanted,))


def test_a_role_is_absent():
    rows = (row("EC2NodeClass", "spec.role", "KarpenterNodeRole-test: absent in IAM", ROLE),)
    assert result_of(CHECK, "1.0", with_role().with_aws(node_roles=(no_role(),))) == ("fail", ONE, rows)
    assert finding_of(CHECK, "1.0", with_role().with_aws(node_roles=(no_role(),))).severity == "blocker"


def test_a_role_that_only_a_profile_names_is_told_by_the_profile():
    cluster = with_role().with_aws(node_roles=(a_node_role(),))
    gone = a_node_role("old", role=Seen(()), policies=(), named_by=(by_class(path="spec.instanceProfile"),))
    assert result_of(CHECK, "1.0", cluster.with_aws(node_roles=(a_node_role(), gone))) == GOOD


@pytest.mark.parametrize(
    ("roles", "summary"),
    [
        ((unread_role(),), "role KarpenterNodeRole-test: iam:GetRole is refused"),
        (Unseen("throttled", "AWS throttles"), "aws.node_roles could not be read: throttled (AWS throttles)"),
        (
            Seen((), None, (UnparsableObject("InstanceProfile", "", "nodes", "$.x", "refused"),)),
            "InstanceProfile nodes $.x: refused",
        ),
    ],
)
def test_what_could_not_be_read_is_unknown(roles, summary):
    assert result_of(CHECK, "1.0", with_role().with_aws(node_roles=roles)) == ("unknown", summary, ())


def test_a_name_that_is_none_is_unknown_with_its_field():
    cluster = a_cluster().with_docs(node_class("default", cluster="test", version="v1beta1", role="${ROLE}"))
    summary = "EC2NodeClass default $.spec.role: not a name that IAM could hold"
    assert result_of(CHECK, "1.0", cluster.with_aws()) == ("unknown", summary, ())


@pytest.mark.parametrize("cluster", [a_cluster(), a_cluster().with_aws()])
def test_where_nothing_is_named_there_is_nothing_to_ask(cluster):
    summary = "no node class names an instance profile or a role"
    assert result_of(CHECK, "1.0", cluster) == ("not_applicable", summary, ())


@pytest.mark.parametrize(("hop", "cluster"), [("1.0", with_role()), ("0.32", with_template())])
def test_without_aws_it_says_how_to_give_access(hop, cluster):
    status, summary, _ = result_of(CHECK, hop, cluster)
    assert (status, summary[:36]) == ("unknown", NO_AWS)


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", with_role(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_it_is_asked_at_every_hop():
    assert asked_hops(CHECK) == ("*",)


def test_remedies_make_the_profile_with_the_role_that_is_known():
    profile = a_profile("nodes", exists=False)
    cluster = with_template().with_aws(instance_profiles=(profile,), node_roles=(a_node_role("workers"),))
    found = remedies(CHECK, "0.32", cluster)
    assert found[0].text.splitlines() == [
        "aws iam create-instance-profile --instance-profile-name nodes",
        "aws iam add-role-to-instance-profile --instance-profile-name nodes --role-name workers",
    ]
    block, _, then = found[1].text.partition("\n# Then ")
    assert block == 'resource "aws_iam_instance_profile" "nodes" {\n  name = "nodes"\n  role = "workers"\n}'
    assert then.startswith("terraform plan -out=karpenter.tfplan,")
    assert then.endswith("terraform apply karpenter.tfplan")
    parse_all(found)


def test_remedies_fill_a_profile_and_make_a_role():
    filled = remedies(CHECK, "0.32", with_template().with_aws(instance_profiles=(a_profile("nodes"),)))
    command = "aws iam add-role-to-instance-profile --instance-profile-name nodes --role-name ROLE"
    assert filled[0].text.splitlines()[0] == f"# For a person: put a role into the profile: {command}"
    made = remedies(CHECK, "1.0", with_role().with_aws(node_roles=(no_role(),)))
    assert made[0].text.startswith("aws iam create-role --role-name KarpenterNodeRole-test ")
    assert made[0].text.count("attach-role-policy") == 3
    parse_all((*filled, *made))
