import pytest

from migrations_app.checks.base import Evidence, Remedy
from tests.builders import a_cluster, blind, reads, remedies, told
from tests.newest import NEWEST_MINOR, NEWEST_ROW

WINDOW = str(NEWEST_ROW.kubernetes[-1].value)
CHECK = "kubernetes_inside_window"
GOOD = ("pass", "Kubernetes is inside the release's window", ())


def outside(seen: str, wanted: str):
    evidence = Evidence(kind="Cluster", name="test", path="gitVersion", seen=seen, wanted=wanted)
    return "fail", "Kubernetes is outside the window of the hop's release", (evidence,)


@pytest.mark.parametrize("kubernetes", ["1.25", "1.29", "1.31"])
def test_inside_the_window_both_ends_included(kubernetes):
    assert told(CHECK, "1.0", a_cluster(kubernetes=kubernetes)) == GOOD


@pytest.mark.parametrize(
    ("kubernetes", "hop", "wanted"),
    [
        ("1.24", "1.0", "1.25 to 1.31"),
        ("1.32", "1.0", "1.25 to 1.31"),
        ("1.25", NEWEST_MINOR, WINDOW),
    ],
)
def test_outside_the_window(kubernetes, hop, wanted):
    assert told(CHECK, hop, a_cluster(kubernetes=kubernetes)) == outside(kubernetes, wanted)


def test_minors_are_compared_as_numbers():
    assert told(CHECK, "1.0", a_cluster(kubernetes="1.9")) == outside("1.9", "1.25 to 1.31")


@pytest.mark.parametrize("text", ["", "latest", "v1", "v1.29.\u0661", "x" * 300])
def test_a_version_that_names_no_minor_is_unknown(text):
    status, summary, evidence = told(CHECK, "1.0", a_cluster().with_kubernetes(text), start="0.37.8")
    assert (status, evidence) == ("unknown", ())
    assert summary == f"the server's version {text[:40]!r} names no Kubernetes minor"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert blind(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_below_the_window_the_control_plane_is_raised():
    assert remedies(CHECK, "1.0", a_cluster(kubernetes="1.24")) == (
        Remedy(
            how="kubectl",
            text="# Raise the control plane to 1.25, one minor at a time, and its node groups after it:\n"
            "aws eks update-cluster-version --name test --kubernetes-version 1.25",
        ),
    )


def test_above_the_window_there_is_only_passing_through():
    assert remedies(CHECK, "1.0", a_cluster(kubernetes="1.32")) == (
        Remedy(
            how="kubectl",
            text="# A control plane cannot be taken back below 1.32: "
            "pass through this hop quickly: no patch of it reaches higher",
        ),
    )
