"""All changes of a Helm release in a hop are one upgrade, made once in a plan and never at an older release."""

from pathlib import Path

import pytest

import migrations_app
from migrations_app.checks.base import Finding, Remedy
from migrations_app.checks.changes import ChangeTime, HelmChange, HelmValue
from migrations_app.readiness.report import InstallationFacts
from migrations_app.readiness.runbook.helm_upgrade import HelmWalk, with_upgrade_notes
from migrations_app.readiness.runbook.stages import stages
from tests.readiness.outputs.reports import finding, report_hop

HERE = InstallationFacts(namespace="ops", release="kp", kept_by="helm", crds_kept_by="helm", crd_release="ops/crds")
FLAG = "--reuse-" + "values"


def changing(name: str, *values: HelmValue, when: ChangeTime = "landing", version: str = "") -> Finding:
    change = HelmChange(chart="karpenter", release="kp", namespace="ops", when=when, version=version, values=values)
    return finding(name, "fail", remedies=(Remedy(how="helm", text="x", change=change),))


def test_changes_of_several_checks_are_one_upgrade_and_are_made_once() -> None:
    walk = HelmWalk(HERE)
    both = (changing("a", HelmValue("old.key")), changing("b", HelmValue("new.key", "1"), HelmValue("old.key")))
    first, second = walk.next_hop(both, start="0.32.10"), walk.next_hop(both, start="0.37.8")
    assert [one.key for one in first.controller] == ["new.key", "old.key"]
    assert second.controller == ()
    told = with_upgrade_notes(both[0], second).remedies
    assert [one.text for one in told] == ["# Release kp: an earlier upgrade of this plan has made it: old.key"]
    assert "the upgrade to the target version" in with_upgrade_notes(both[0], first).remedies[0].text


def test_an_upgrade_before_the_landing_never_goes_below_what_runs_then() -> None:
    asked = [changing("a", when="before", version="0.37.8")]
    late, taken = HelmWalk(HERE).next_hop(asked, start="1.0.14"), HelmWalk(HERE).next_hop(asked, start="0.37.1")
    assert (late.before_crds, late.before) == ((), ())
    crds, controller = (one.text for one in (*taken.before_crds, *taken.before) if one.how == "helm")
    assert "helm upgrade crds oci://public.ecr.aws/karpenter/karpenter-crd --version 0.37.8" in crds
    assert "--version 0.37.8 --namespace ops" in controller


@pytest.mark.parametrize(
    ("start", "version", "order"),
    [
        ("0.37.0", "0.37.8", ["controller", "crds"]),
        ("0.33.5", "0.33.12", ["controller", "crds"]),
        ("0.37.7", "0.37.8", ["crds", "controller"]),
        ("0.36.4", "0.37.8", ["crds", "controller"]),
        ("1.0.2", "1.0.14", ["crds", "controller"]),
    ],
)
def test_within_a_minor_the_controller_comes_first_where_its_crds_begin_to_convert(
    start: str, version: str, order: list[str]
) -> None:
    """As the guide to 1.0 says: only the new patch serves the webhook that its CRDs ask."""
    taken = HelmWalk(HERE).next_hop([changing("a", when="before", version=version)], start=start)
    found = stages((), report_hop("1.0", "1.0.14"), start=start, installed=HERE, upgrades=taken)
    assert [one.phase for one in found if one.part == "before"] == order


def test_crds_that_a_change_needs_come_before_the_controller() -> None:
    crds = HelmChange(chart="karpenter-crd", release="crds", namespace="ops", when="before", version="0.37.0")
    asked = [
        changing("a", when="before", version="0.37.8"),
        finding("b", "fail", remedies=(Remedy(how="helm", text="x", change=crds),)),
    ]
    assert not HelmWalk(HERE).next_hop(asked, start="0.37.0").controller_first


def test_what_needs_the_release_of_the_landing_is_made_with_it() -> None:
    asked = [changing("a", HelmValue("key", "1"), when="before", version="0.37.8")]
    taken = HelmWalk(HERE).next_hop(asked, start="0.37.1", target_release="0.37.8")
    assert (taken.before, [one.key for one in taken.controller]) == ((), ["key"])
    assert [one.text for one in with_upgrade_notes(asked[0], taken).remedies] == [
        "# Release kp: made by the upgrade to the target version: key"
    ]


def test_what_a_person_fills_in_is_no_part_of_the_upgrade() -> None:
    asked = [changing("a", HelmValue("role", '"<name>"'), when="person")]
    taken = HelmWalk(HERE).next_hop(asked, start="0.37.8")
    assert (taken.before, taken.controller) == ((), ())
    assert with_upgrade_notes(asked[0], taken) == asked[0]


def test_no_source_reuses_values() -> None:
    folder = Path(migrations_app.__file__).parent
    files = [*folder.rglob("*.py"), *folder.parent.joinpath("templates").rglob("*.html")]
    assert len(files) > 300
    assert [str(one) for one in files if FLAG in one.read_text()] == []
