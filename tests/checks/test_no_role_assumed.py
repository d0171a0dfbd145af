import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import HelmChange
from tests.builders import a_cluster, an_empty_cluster, finding_of, reads, remedies, result_of, result_without

CHECK = "no_role_assumed"
GOOD = ("pass", "The controller assumes no second IAM role", ())
ROLE = "arn:aws:iam::444455556666:role/cross-account"
ONE = "1 setting makes the controller assume another IAM role"


@pytest.mark.parametrize("values", [{}, {"settings": {"assumeRoleARN": ""}}, {"settings": {"assumeRoleARN": None}}])
def test_no_role_is_set(values):
    assert result_of(CHECK, "1.0", a_cluster().with_values(values)) == GOOD
    assert result_of(CHECK, "1.0", a_cluster(env={"ASSUME_ROLE_ARN": ""})) == GOOD


def test_by_its_variable():
    path = "spec.template.spec.containers[].env[ASSUME_ROLE_ARN]"
    row = Evidence(kind="Deployment", namespace="kube-system", name="karpenter", path=path, seen=ROLE, wanted="absent")
    assert result_of(CHECK, "1.0", a_cluster(env={"ASSUME_ROLE_ARN": ROLE})) == ("fail", ONE, (row,))


@pytest.mark.parametrize(
    ("values", "key"),
    [
        ({"settings": {"assumeRoleARN": ROLE}}, "settings.assumeRoleARN"),
        ({"settings": {"aws": {"assumeRoleARN": ROLE}}}, "settings.aws.assumeRoleARN"),
    ],
)
def test_by_a_helm_value(values, key):
    row = Evidence(
        kind="HelmRelease",
        namespace="kube-system",
        name="karpenter",
        path=f"config.{key}",
        seen=ROLE,
        wanted="absent",
    )
    assert result_of(CHECK, "1.0", a_cluster().with_values(values)) == ("fail", ONE, (row,))


def test_at_1_0_it_blocks_and_later_it_is_long_ignored():
    cluster = a_cluster(env={"ASSUME_ROLE_ARN": ROLE})
    assert [finding_of(CHECK, hop, cluster).severity for hop in ("1.0", "1.1+")] == ["blocker", "warning"]


def test_without_a_controller_there_is_nothing_to_ask():
    assert result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8")[0] == "not_applicable"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_takes_the_value_out():
    first = remedies(CHECK, "1.0", a_cluster(env={"ASSUME_ROLE_ARN": ROLE}))[0]
    assert isinstance(first.change, HelmChange)
    assert (first.change.when, first.change.given) == ("landing", {"settings.assumeRoleARN": ""})
