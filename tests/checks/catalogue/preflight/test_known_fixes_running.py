import pytest

from migrations_app.checks.base import Evidence
from migrations_app.karpenter.releases import RELEASES
from migrations_app.karpenter.tables.fix_rows import FIX_ROWS, FixRow, missing_fixes
from migrations_app.karpenter.versions import release
from tests.builders.clusters import a_cluster, an_empty_cluster, reads, remedies, result_of, result_without
from tests.builders.newest import NEWEST_MINOR, NEXT_MINOR

CHECK = "known_fixes_running"
GOOD = ("pass", "The running version has all known fixes", ())
FAULT = "lookups of subnets, security groups and images may give one selector the result of another"


@pytest.mark.parametrize(
    ("version", "hop"), [("0.37.8", "1.0"), ("1.0.14", "1.1+"), ("1.8.6", NEWEST_MINOR), ("1.9.0", NEWEST_MINOR)]
)
def test_patches_that_have_the_fix(version, hop):
    assert result_of(CHECK, hop, a_cluster(version)) == GOOD


@pytest.mark.parametrize(
    ("version", "hop", "wanted"),
    [
        ("0.37.7", "1.0", "0.37.8"),
        ("0.32.10", "0.33+", "0.37.8"),
        ("1.0.9", "1.1+", "1.0.12"),
        ("1.7.2", NEWEST_MINOR, "1.7.3"),
    ],
)
def test_patches_without_it(version, hop, wanted):
    row = Evidence(
        kind="Deployment",
        namespace="kube-system",
        name="karpenter",
        path="spec.template.spec.containers[].image",
        seen=f"{version}: {FAULT}",
        wanted=f"{wanted} or later",
    )
    found = result_of(CHECK, hop, a_cluster(version))
    assert found == ("fail", "1 known bug is not fixed in the running version", (row,))


def test_without_a_controller_there_is_nothing_to_ask():
    assert result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8")[0] == "not_applicable"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_is_the_hop_itself():
    """A command that only upgraded the controller would take the hop before its CRDs."""
    assert [(one.how, one.text) for one in remedies(CHECK, "1.0", a_cluster("0.37.7"))] == [
        (
            "kubectl",
            (
                "# For a person: take the upgrade\n"
                "# its target version 1.0.14 has the fix: CRDs first, then the controller"
            ),
        )
    ]


def test_a_row_of_tomorrow_and_the_rows_of_today():
    row = FixRow("forgets its nodes", (f"{NEWEST_MINOR}.99", f"{NEXT_MINOR}.1"), "tomorrow")
    assert list(missing_fixes(release(f"{NEXT_MINOR}.0"), table=(row,))) == [(row, release(f"{NEXT_MINOR}.1"))]
    assert list(missing_fixes(release("9.0.0"), table=(row,))) == []
    known = {str(patch) for one in RELEASES for patch in one.releases}
    assert {patch for row in FIX_ROWS for patch in row.since} <= known
