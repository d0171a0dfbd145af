"""All changes of a Helm release in a hop are one upgrade, made once in a plan and never at an older release."""

from pathlib import Path

import migrations_app
from migrations_app.checks.base import Finding, Remedy
from migrations_app.checks.changes import ChangeTime, HelmChange, HelmValue
from migrations_app.readiness.report import InstallationFacts
from migrations_app.readiness.runbook.helm_upgrade import HelmWalk, with_upgrade_notes
from tests.readiness.outputs.reports import finding

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
