import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import HelmChange, PersonTask
from migrations_app.inventory.facts.controller import installation
from migrations_app.readiness.runbook.effects.effect import effect
from migrations_app.readiness.runbook.effects.unknown_effect import NotShown
from tests.builders.clusters import a_cluster, an_empty_cluster, finding_of, reads, remedies, result_of, result_without

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


OWN = "arn:aws:iam::111122223333:role/karpenter"
CHAIN = "by an AWS config profile or a Pod Identity target role"


def assuming(role=OWN):
    """A cluster whose service account has that role, and whose controller assumes another one."""
    return a_cluster(env={"ASSUME_ROLE_ARN": ROLE}, role=role)


def changes(hop, *, role=OWN):
    """The changes by tool, in their order."""
    by_tool = {}
    for remedy in remedies(CHECK, hop, assuming(role)):
        by_tool.setdefault(remedy.how, []).append(remedy.change)
    return by_tool


def test_a_person_gives_the_permissions_before_the_value_is_taken_out():
    by_tool = changes("1.0")
    assert set(by_tool) == {"helm", "terraform", "flux", "argocd"}
    assert len({tuple(pair) for pair in by_tool.values()}) == 1
    task, removal = by_tool["helm"]
    assert task == PersonTask(
        what=f"chain {OWN} to {ROLE} {CHAIN}",
        why="1.0.14 ignores the setting, and without the permissions launches and terminates nothing",
        where="karpdash iam --policy FILE --to 1.0.14",
        done="the role that the controller acts as without the setting may do what 1.0.14 asks for",
        aws=True,
    )
    assert (task.when, removal.when, removal.given) == ("before", "landing", {"settings.assumeRoleARN": ""})


@pytest.mark.parametrize(
    ("role", "own"), [("arn:aws:iam::444455556666:role/own",) * 2, ("", "the role of the service account")]
)
def test_a_role_of_the_same_account_may_be_given_the_permissions(role, own):
    task = changes("1.0", role=role)["helm"][0]
    assert task.what == f"give {own} the permissions of {ROLE}, or chain to it {CHAIN}"


def test_the_task_stands_first_with_every_tool():
    found = remedies(CHECK, "1.0", assuming())
    assert [one.how for one in found] == [how for how in ("helm", "terraform", "flux", "argocd") for _ in "ab"]
    task = f"# For a person: chain {OWN} to {ROLE} {CHAIN}"
    assert [one.text.startswith(task) for one in found] == [True, False] * 4
    assert all("settings.assumeRoleARN" in one.text for one in found[1::2])


def test_the_removal_lets_the_check_pass():
    cluster = assuming().with_values({"settings": {"assumeRoleARN": ROLE}})
    _, removal = changes("1.0")["helm"]
    after = effect(cluster.build(), removal)
    assert not isinstance(after, NotShown)
    controller = installation(after)
    assert controller is not None
    assert "ASSUME_ROLE_ARN" not in controller.env


def test_where_1_0_runs_nothing_comes_first():
    (removal,) = changes("1.1+")["helm"]
    assert isinstance(removal, HelmChange)
    assert (removal.when, removal.given) == ("landing", {"settings.assumeRoleARN": ""})
