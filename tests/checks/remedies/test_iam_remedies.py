"""Every remedy of the checks of permissions parses, and closes what it says it closes."""

import json
import re
import subprocess
from dataclasses import replace

import pytest

from migrations_app.inventory.parts import Seen, Unseen
from migrations_app.samples.karpenter_objects import ON_DEMAND, provisioner
from tests.builders.clusters import PLACE, remedies, result_of
from tests.builders.iam import EVERYTHING, a_node_role, a_role, document, managed, permitted, policy_for
from tests.builders.newest import NEWEST_MINOR

CASES = [
    ("controller_permitted", "1.0", "0.37.8", policy_for("0.37")),
    ("controller_permitted", "0.31", "0.30.0", document()),
    ("controller_permitted", NEWEST_MINOR, "1.0.14", document()),
    ("role_profiles_permitted", "0.32", "0.31.4", policy_for("0.31")),
    ("role_profiles_permitted", NEWEST_MINOR, "1.0.14", policy_for("1.0")),
    ("legacy_permissions_kept", "0.32", "0.31.4", policy_for("0.33")),
    ("legacy_permissions_kept", "0.33+", "0.32.10", policy_for("0.33")),
]
PAIRS = ("{}", "()", "[]")
PREFIXED = "KarpenterController-20260801120000123400000001"


def cluster_of(version, *texts, **more):
    role = a_role(*texts, **more)
    return permitted(version, role).with_docs(provisioner("web", ON_DEMAND, template="default"))


def documents(found):
    """The remedies that are policies, by their text."""
    return [one.text for one in found if one.text.startswith('{\n  "Version"')]


def parses(remedy):
    if remedy.how == "terraform":
        return balanced(remedy.text)
    if remedy.text.startswith("{"):
        return isinstance(json.loads(remedy.text), dict)
    return subprocess.run(["bash", "-n"], input=remedy.text, text=True, check=False).returncode == 0


def balanced(text):
    """HCL without its strings and comments closes what it opens."""
    plain = re.sub(r"#[^\n]*", "", re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', text))
    return '"' not in plain.replace('""', "") and all(plain.count(one) == plain.count(other) for one, other in PAIRS)


@pytest.mark.parametrize(("check", "hop", "version", "text"), CASES)
@pytest.mark.parametrize("name", ["KarpenterController", PREFIXED])
def test_every_remedy_parses(check, hop, version, text, name):
    found = remedies(check, hop, cluster_of(version, text, name=name))
    assert len(found) >= 4
    assert [one.text for one in found if not parses(one)] == []


@pytest.mark.parametrize(("check", "hop", "version", "text"), CASES)
def test_with_what_is_proposed_the_check_passes(check, hop, version, text):
    proposed = documents(remedies(check, hop, cluster_of(version, text)))
    assert proposed != []
    added = [managed(one, name=f"n{n}") for n, one in enumerate(proposed)]
    assert result_of(check, hop, cluster_of(version, managed(text, name="old"), *added))[0] == "pass"


def test_the_same_documents_stand_in_every_form():
    steps, body, template, code = remedies("controller_permitted", "1.0", cluster_of("0.37.8", policy_for("0.37")))
    whole = json.loads(body.text)
    (resource,) = json.loads(template.text)["Resources"].values()
    assert resource["Properties"]["PolicyDocument"] == whole
    assert resource["Properties"]["Roles"] == ["KarpenterController"]
    assert json.loads(code.text.split("jsonencode(")[1].split(")\n}")[0]) == whole
    assert '  role = "KarpenterController"\n' in code.text
    names = {
        resource["Properties"]["ManagedPolicyName"],
        code.text.split('"')[3],
        steps.text.split("--policy-name ")[1].split()[0],
    }
    assert names == {"karpenter-test-eu-central-1-1-0-14-needs-1"}
    assert [one.how for one in (steps, body, template, code)] == ["iam", "iam", "iam", "terraform"]


def named_policies(found):
    return set(re.findall(r"create-policy --policy-name (\S+)", found[0].text))


def test_clusters_of_one_name_in_two_regions_get_policies_of_their_own():
    """An account has one policy of a name: the second cluster would get that of the first, which is for its region."""
    elsewhere = permitted("0.37.8", a_role(policy_for("0.37")), place=replace(PLACE, region="us-east-1"))
    found = remedies("controller_permitted", "1.0", elsewhere)
    assert named_policies(found) == {"karpenter-test-us-east-1-1-0-14-needs-1"}
    assert "eu-central-1" not in found[0].text.split("--policy-document")[1].split("aws iam")[0]


def test_names_of_policies_are_the_same_in_capital_letters():
    taken = managed(policy_for("0.37"), name="Karpenter-TEST-eu-central-1-1-0-14-needs-1")
    found = remedies("controller_permitted", "1.0", cluster_of("0.37.8", taken))
    assert named_policies(found) == {"karpenter-test-eu-central-1-1-0-14-needs-2"}


def test_where_terraform_keeps_the_role_it_comes_first_with_the_modules_variable():
    found = remedies("controller_permitted", "1.0", cluster_of("0.37.8", policy_for("0.37"), name=PREFIXED))
    assert [one.how for one in found] == ["terraform", "terraform", "terraform", "iam", "iam", "iam"]
    resources, newest, before = (one.text for one in found[:3])
    assert f'role = "{PREFIXED}"' in resources
    assert newest.startswith("# terraform-aws-modules/eks/aws//modules/karpenter 21.19\n")
    assert "iam_policy_statements = [" in newest
    assert "\niam_policy_statements = [" in before
    assert "\n# Only after the hop, when no release before 1.0 runs and no rollback to one is wanted: " in before
    assert "\n#   enable_v1_permissions = true\n" in before
    assert "\nenable_v1_permissions" not in before


def test_a_policy_of_terraform_tells_it_too():
    mine = managed(policy_for("0.37"), name=PREFIXED)
    found = remedies("controller_permitted", "1.0", cluster_of("0.37.8", mine))
    assert found[0].how == "terraform"


def test_what_no_statement_lifts_is_said():
    deny = {"Sid": "No", "Effect": "Deny", "Action": "ec2:DescribeSubnets", "Resource": "*"}
    (steps,) = remedies("controller_permitted", "1.0", cluster_of("0.37.8", document(EVERYTHING, deny)))
    assert steps.text == (
        "# ec2:DescribeSubnets: no added statement helps, KarpenterControllerPolicy-test: Statement[1] (No) denies it"
    )


def test_a_boundary_is_for_somebody_else():
    edge = Seen((managed(policy_for("1.0", without=("ec2:DescribeSubnets",)), name="edge"),))
    (steps,) = remedies("controller_permitted", "1.0", cluster_of("0.37.8", document(EVERYTHING), boundary=edge))
    assert steps.text == (
        "# ec2:DescribeSubnets: no added statement helps, the permissions boundary does not let it through: "
        "no statement allows the action"
    )


BOUNDED = "the permissions boundary has to be extended as well, it does not let through ec2:DescribeSubnets"


def test_a_boundary_that_refuses_what_the_policy_lacks_is_said_with_the_policy():
    mine = policy_for("1.0", without=("ec2:DescribeSubnets",))
    limited = Seen((managed(mine, name="edge"),))
    status, _, (row,) = result_of("controller_permitted", "1.0", cluster_of("0.37.8", mine, boundary=limited))
    assert (status, row.path) == ("fail", "ec2:DescribeSubnets on *")
    assert "The permissions boundary refuses it and has to be extended as well." in row.wanted
    found = remedies("controller_permitted", "1.0", cluster_of("0.37.8", mine, boundary=limited))
    assert f"# {BOUNDED}\naws iam create-policy " in found[0].text
    assert found[-1].text.startswith(f"# {BOUNDED}\n")
    assert [one.text for one in found if not parses(one)] == []
    wide = cluster_of("0.37.8", mine, boundary=Seen((managed(document(EVERYTHING), name="edge"),)))
    assert "boundary" not in "".join(one.text for one in remedies("controller_permitted", "1.0", wide))
    assert "boundary" not in str(result_of("controller_permitted", "1.0", wide))


def test_names_in_documents_never_begin_a_line():
    """A Sid is other people's text: in a comment it stays in the comment."""
    body = json.loads(policy_for("0.37"))
    for one in body["Statement"]:
        one["Sid"] = "x\nrm -rf /\r; $(reboot)"
    steps = remedies("controller_permitted", "1.0", cluster_of("0.37.8", json.dumps(body)))[0].text
    lines = [line for line in steps.splitlines() if not line.startswith(("#", "aws iam "))]
    assert lines == []
    assert "rm -rf" in steps


def test_documents_handed_in_leave_the_role_open():
    given = managed(policy_for("0.37"), name="mine.json")
    cluster = cluster_of("0.37.8", given, found_by="given", arn="", role=Unseen("not_asked"))
    steps, _, template, code = remedies("controller_permitted", "1.0", cluster)
    made = "make the policy karpenter-test-eu-central-1-1-0-14-needs-1 of this document"
    assert f"# For a person: {made} and attach it to the role of the controller" in steps.text.splitlines()
    assert all(line.startswith("#") for line in steps.text.splitlines())
    assert "Default" not in json.loads(template.text)["Parameters"]["ControllerRoleName"]
    assert code.text.startswith('variable "karpenter_controller_role_name" {\n  type = string\n}\n')


def test_names_nobody_told_are_to_be_put_right():
    given = managed(document(), name="mine.json")
    cluster = cluster_of("0.37.8", given, found_by="given", arn="", role=Unseen("not_asked"))
    steps = remedies("role_profiles_permitted", "1.0", cluster.with_aws(node_roles=()))[0].text
    assert steps.startswith(
        "# nothing tells the role of the nodes: put it right in the documents before they are used\n"
    )


def test_more_than_one_document_where_one_would_be_too_large():
    roles = tuple(f"KarpenterNodeRole-{'x' * 40}-{n}" for n in range(60))
    cluster = cluster_of("1.0.14", document())
    cluster.with_aws(node_roles=tuple(map(a_node_role, roles)))
    found = remedies("role_profiles_permitted", NEWEST_MINOR, cluster)
    sizes = [len("".join(json.dumps(json.loads(one)).split())) for one in documents(found)]
    assert len(sizes) == 2
    assert max(sizes) <= 6144


def test_a_statement_that_fits_nowhere_is_said():
    roles = tuple(f"KarpenterNodeRole-{'x' * 40}-{n}" for n in range(150))
    cluster = cluster_of("1.0.14", document()).with_aws(node_roles=tuple(map(a_node_role, roles)))
    (only,) = remedies("role_profiles_permitted", NEWEST_MINOR, cluster)
    assert only.text.startswith(
        "# no document can be proposed: closing policy (PassNodeRole): alone exceeds the 6,144 "
    )
    assert result_of("policy_size_fits", NEWEST_MINOR, cluster)[0] == "unknown"
