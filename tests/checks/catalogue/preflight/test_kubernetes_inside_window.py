import pytest

from migrations_app.checks.base import Evidence, Remedy
from tests.builders.clusters import a_cluster, reads, remedies, result_of, result_without, without_changes
from tests.builders.newest import NEWEST_MINOR, NEWEST_ROW

WINDOW = str(NEWEST_ROW.kubernetes[-1].value)
CHECK = "kubernetes_inside_window"
GOOD = ("pass", "The target version supports this Kubernetes", ())


def outside(seen: str, wanted: str):
    evidence = Evidence(kind="Cluster", name="test", path="gitVersion", seen=seen, wanted=wanted)
    return "fail", f"The target version does not support Kubernetes {seen}", (evidence,)


@pytest.mark.parametrize("kubernetes", ["1.25", "1.29", "1.31"])
def test_inside_the_window_both_ends_included(kubernetes):
    assert result_of(CHECK, "1.0", a_cluster(kubernetes=kubernetes)) == GOOD


@pytest.mark.parametrize(
    ("kubernetes", "hop", "wanted"),
    [
        ("1.24", "1.0", "1.25 to 1.31"),
        ("1.32", "1.0", "1.25 to 1.31"),
        ("1.25", NEWEST_MINOR, WINDOW),
    ],
)
def test_outside_the_window(kubernetes, hop, wanted):
    assert result_of(CHECK, hop, a_cluster(kubernetes=kubernetes)) == outside(kubernetes, wanted)


def test_minors_are_compared_as_numbers():
    assert result_of(CHECK, "1.0", a_cluster(kubernetes="1.9")) == outside("1.9", "1.25 to 1.31")


@pytest.mark.parametrize("text", ["", "latest", "v1", "v1.29.\u0661", "x" * 300])
def test_a_version_that_names_no_minor_is_unknown(text):
    status, summary, evidence = result_of(CHECK, "1.0", a_cluster().with_kubernetes(text), start="0.37.8")
    assert (status, evidence) == ("unknown", ())
    assert summary == f"the server's version {text[:40]!r} names no Kubernetes minor"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def raised(cluster, hop: str = "1.0") -> list[str]:
    (remedy,) = remedies(CHECK, hop, cluster)
    assert remedy.how == "iam"
    return remedy.text.splitlines()[1:]


def test_below_the_window_the_control_plane_is_raised():
    assert raised(a_cluster(kubernetes="1.24", env={"CLUSTER_NAME": "prod"})) == [
        "aws eks update-cluster-version --name prod --kubernetes-version 1.25",
        "aws eks wait cluster-active --name prod",
    ]


def test_it_is_raised_one_minor_at_a_time():
    lines = raised(a_cluster(kubernetes="1.22", env={"CLUSTER_NAME": "prod"}))
    assert [line.rpartition(" ")[2] for line in lines if "update-cluster-version" in line] == ["1.23", "1.24", "1.25"]
    assert [line.split()[2] for line in lines] == ["update-cluster-version", "wait"] * 3


def test_a_name_that_nobody_told_is_to_be_filled_in():
    (remedy,) = remedies(CHECK, "1.0", a_cluster(kubernetes="1.24"))
    assert remedy.text.splitlines() == [
        "# For a person: raise Kubernetes to 1.25, one minor at a time",
        "# nothing that was read tells the name of the cluster in EKS",
    ]


def test_kubernetes_is_not_raised_over_the_head_of_the_running_release():
    lines = raised(a_cluster("0.28.0", kubernetes="1.25", env={"CLUSTER_NAME": "prod"}), NEWEST_MINOR)
    (warned,) = [place for place, line in enumerate(lines) if line.startswith("#")]
    assert lines[warned] == "# 0.28.0 supports Kubernetes 1.23 to 1.25 only: take the upgrades before this one first"
    assert lines[warned + 1].endswith(" 1.26")


def test_above_the_window_there_is_only_passing_through():
    assert without_changes(remedies(CHECK, "1.0", a_cluster(kubernetes="1.32"))) == (
        Remedy(
            how="kubectl",
            text="# For a person: pass through this upgrade quickly: no patch of it reaches higher\n"
            "# a control plane cannot be rolled back below 1.32",
        ),
    )
