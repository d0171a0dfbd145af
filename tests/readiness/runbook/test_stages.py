import re
import subprocess

import hcl2
import pytest
import yaml
from msgspec import structs

from migrations_app.checks.base import Finding, Remedy
from migrations_app.checks.registry import all_checks
from migrations_app.karpenter.hops import every_hop
from migrations_app.karpenter.release_facts import DESTRUCTIVE_FIXES, NO_RETURN
from migrations_app.readiness.report import InstallationFacts
from migrations_app.readiness.runbook.helm_upgrade import controller_commands, crd_commands
from migrations_app.readiness.runbook.stages import RunbookStage, stages
from migrations_app.readiness.runbook.work_order import CRDS_INSTALLED_CHECK
from tests.builders.newest import NEWEST
from tests.readiness.outputs.reports import finding, report_hop

KUBE_SYSTEM = InstallationFacts(namespace="kube-system", release="karpenter", kept_by="helm", crds_kept_by="helm")


BY_HELM = ": the revision of the Helm release that had it"


def made(*asked: Finding, **more: object) -> tuple[RunbookStage, ...]:
    given = {"hop": "1.0", "release": "1.0.14", "rollback_to": ("0.37.8",)} | more
    return stages(asked, report_hop(**given), start="0.37.8", installed=KUBE_SYSTEM)  # type: ignore[arg-type]  # as a hop takes them


def shown(found: tuple[RunbookStage, ...]) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(one.part, one.phase, one.checks) for one in found]


def test_blockers_are_cleared_before_the_landing_wherever_they_stand() -> None:
    asked = (
        finding("gone", "fail", phase="cleanup"),
        finding("care", "fail", phase="rollout", severity="warning"),
        finding("pools", "unknown", phase="resources"),
        finding("fits", "pass", phase="preflight"),
    )
    assert shown(made(*asked)) == [
        ("before", "preflight", ()),
        ("before", "resources", ("pools",)),
        ("before", "cleanup", ("gone",)),
        ("land", "crds", ()),
        ("land", "controller", ()),
        ("after", "resources", ()),
        ("after", "rollout", ("care",)),
        ("verify", "cleanup", ()),
    ]


def test_open_ones_come_first_by_severity_and_what_is_settled_is_counted() -> None:
    asked = (
        finding("d", "manual", phase="iam", severity="info"),
        finding("c", "fail", phase="iam", severity="warning"),
        finding("b", "unknown", phase="iam"),
        finding("a", "fail", phase="iam"),
        finding("z", "pass", phase="iam"),
        finding("y", "waived", phase="iam"),
        finding("x", "not_applicable", phase="iam"),
    )
    first = made(*asked)[0]
    assert (first.checks, first.settled) == (("a", "b", "c", "d"), 2)


def test_what_the_new_crds_bring_stands_where_they_are_installed() -> None:
    ours = Remedy(how="action", text="Action upgrade_crds", action="upgrade_crds")
    told = finding(
        CRDS_INSTALLED_CHECK, "fail", phase="crds", severity="info", remedies=(Remedy(how="helm", text="h"), ours)
    )
    (land,) = [one for one in made(told) if (one.part, one.phase) == ("land", "crds")]
    assert land.checks == (CRDS_INSTALLED_CHECK,)
    assert land.commands == (*crd_commands("1.0.14", KUBE_SYSTEM), ours)
    assert [one.checks for one in made(told) if one.part == "before"] == []


def test_the_line_of_no_return_stands_after_what_draws_it() -> None:
    drawn = [(one.part, one.phase, lost.what[:30]) for one in made() for lost in one.no_return]
    assert drawn == [
        ("land", "crds", "Whatever is written from now o"),
        ("after", "resources", "Fields that only v1 has are lo"),
    ]


def test_a_release_that_cannot_take_over_again_draws_the_line_at_the_controller() -> None:
    found = made(rollback_to=("0.36.9",), hop="1.4", release="1.4.0")
    (lost,) = [lost for one in found for lost in one.no_return]
    assert (lost.what, lost.back) == (
        "0.37.8 is not known to be able to take over again from 1.4.0",
        "Back to 0.36.9",
    )
    closed = made(rollback_to=(), hop="1.4", release="1.4.0")
    assert [lost.back for one in closed for lost in one.no_return] == ["No release is known that could take over"]


def test_kubernetes_is_not_lowered_again() -> None:
    first = made(kubernetes_fits=False)[0]
    assert (first.phase, [lost.what for lost in first.no_return]) == (
        "preflight",
        ["A Kubernetes version that was raised for the upgrade cannot be lowered again"],
    )


def test_the_way_back_changes_with_the_landing() -> None:
    assert [one.back for one in made(finding("fits", "pass", phase="iam"))] == [
        "still on 0.37.8, which is not changed yet",
        "0.37.8 still runs; apply its own CRDs again",
        f"Back to 0.37.8, which ran before{BY_HELM}",
        f"Back to 0.37.8, which ran before{BY_HELM}",
        "",
    ]


@pytest.mark.parametrize(("release", "start", "said"), [("1.14.1", "1.11.2", True), ("1.12.0", "1.11.2", True),
    ("1.11.2", "1.9.0", False), ("1.14.1", "1.12.2", False)])  # fmt: skip
def test_the_way_back_below_1_12_loses_protection_by_a_duration(release: str, start: str, said: bool) -> None:
    hop = report_hop(hop=release.rpartition(".")[0], release=release, rollback_to=(start,))
    found = stages((), hop, start=start, installed=KUBE_SYSTEM)
    words = "; before 1.12, do-not-disrupt with a duration such as 8h protects no pod: write true there first"
    (controller,) = [one.back for one in found if (one.part, one.phase) == ("land", "controller")]
    assert controller.endswith(words) == said


def test_with_the_crds_alone_nobody_goes_back_to_a_release_that_never_ran() -> None:
    crds = next(one for one in made(rollback_to=("0.36.9",)) if (one.part, one.phase) == ("land", "crds"))
    assert crds.back == "0.37.8 still runs; whether its own CRDs can come back is not known"


def test_every_row_of_no_return_is_at_a_hop_and_after_a_stage_that_is_there() -> None:
    for row in NO_RETURN:
        assert row.hop in every_hop()
        held = [one.phase for one in made(hop=row.hop) for lost in one.no_return if lost.what == row.what]
        assert (row.what, held) == (row.what, [row.after])


def lost(found: tuple[RunbookStage, ...]) -> list[tuple[str, str, str]]:
    return [(one.part, one.phase, loss.what) for one in found for loss in one.no_return]


def test_what_a_fix_destroys_is_said_in_the_stage_that_makes_the_fix() -> None:
    """Whichever hop it is, and before the upgrade as well as after it."""
    templates = finding("legacy_node_templates_gone", "fail", phase="cleanup")
    provisioners = finding("legacy_provisioners_gone", "fail", phase="cleanup")
    crds = finding("alpha_crds_gone", "fail", phase="cleanup", severity="info")
    deleted, crd_deleted = (row.what for row in DESTRUCTIVE_FIXES)
    for hop, release in (("0.32", "0.32.10"), ("0.33+", "0.37.8")):
        found = lost(made(templates, provisioners, crds, hop=hop, release=release))
        assert [one for one in found if one[2] in (deleted, crd_deleted)] == [
            ("before", "cleanup", deleted),
            ("after", "cleanup", crd_deleted),
        ]


@pytest.mark.parametrize("status", ["pass", "waived", "not_applicable"])
def test_where_nothing_is_left_to_delete_no_line_is_drawn(status) -> None:  # type: ignore[no-untyped-def]  # parametrized
    for hop in ("0.32", "0.33+"):
        settled = [finding(check, status, phase="cleanup") for row in DESTRUCTIVE_FIXES for check in row.checks]
        found = made(*settled, hop=hop, release="0.37.8")
        assert [one for one in lost(found) if one[1] == "cleanup"] == []


def test_every_destructive_fix_is_that_of_a_check() -> None:
    known = {check.id for check in all_checks()}
    assert [check for row in DESTRUCTIVE_FIXES for check in row.checks if check not in known] == []


def test_a_release_that_does_not_support_the_kubernetes_is_no_rollback_target() -> None:
    both = made(rollback_to=("0.37.8", "0.36.9"), rollback_unsupported=("0.36.9",))
    assert next(one.back for one in both if (one.part, one.phase) == ("land", "controller")) == (
        f"Back to 0.37.8, which ran before{BY_HELM}"
    )
    others = made(rollback_to=("0.37.8", "0.36.9", "0.35.12"))
    assert next(one.back for one in others if (one.part, one.phase) == ("land", "controller")) == (
        f"Back to 0.37.8, which ran before{BY_HELM}; 0.36.9, 0.35.12 can take over too"
    )
    none = made(rollback_to=("0.37.8", "0.36.9"), rollback_unsupported=("0.36.9", "0.37.8"))
    back = next(one.back for one in none if (one.part, one.phase) == ("land", "controller"))
    assert back == "Back to 0.37.8, 0.36.9, outside the Kubernetes that they support"


@pytest.mark.parametrize(
    ("hop", "start", "release", "gap"),
    [
        ("0.32", "0.31.5", "0.32.10", False),
        ("0.33+", "0.32.10", "0.37.8", True),
        ("0.33+", "0.37.0", "0.37.8", True),
        ("0.33+", "0.37.7", "0.37.8", False),
        ("1.0", "0.37.8", "1.0.14", False),
        ("1.1+", "1.0.14", "1.1.10", False),
        ("0.33+", "", "0.37.8", False),
    ],
)
def test_nobody_stops_between_crds_and_the_controller_that_alone_converts_them(
    hop: str, start: str, release: str, gap: bool
) -> None:
    found = stages((), report_hop(hop=hop, release=release), start=start, installed=KUBE_SYSTEM)
    said = {
        one.phase: f"go on directly: until {release} runs, kubectl and the garbage collector" in one.back
        for one in found
        if one.part == "land"
    }
    assert said == {"crds": gap, "controller": False}


def rollback_of(**more: object) -> tuple[str, tuple[str, ...]]:
    (upgrade,) = [one for one in made(**more) if (one.part, one.phase) == ("land", "controller")]
    return upgrade.back, upgrade.back_commands


def test_the_rollback_is_the_lines_of_helm_where_helm_delivers() -> None:
    assert rollback_of()[1] == (
        "helm history karpenter --namespace kube-system",
        "helm rollback karpenter REVISION --namespace kube-system --wait",
    )
    assert rollback_of(rollback_to=("0.36.9",))[1] == ()
    assert rollback_of(rollback_unsupported=("0.37.8",))[1] == ()


def helm_lines(name: str, namespace: str = "kube-system") -> tuple[str, str]:
    where = f"--namespace {namespace}"
    return f"helm history {name} {where}", f"helm rollback {name} REVISION {where} --wait"


@pytest.mark.parametrize(
    ("hop", "start", "release", "order"),
    [
        ("1.0", "0.37.8", "1.0.14", ("karpenter", "karpenter-crd")),  # the guide: controller first, CRDs second
        ("0.33+", "0.32.10", "0.37.8", ("karpenter-crd", "karpenter")),  # 0.32 does not start without its alpha CRDs
        ("0.32", "0.31.5", "0.32.10", ("karpenter",)),  # Helm would delete every NodePool with its CRD
        ("1.14", "1.13.2", "1.14.1", ("karpenter",)),
    ],
)
def test_crds_of_a_release_of_helm_go_back_where_none_is_lost_by_it(
    hop: str, start: str, release: str, order: tuple[str, ...]
) -> None:
    installed = structs.replace(KUBE_SYSTEM, crds_kept_by="helm", crd_release="kube-system/karpenter-crd")
    given = report_hop(hop=hop, release=release, rollback_to=(start,))
    (upgrade,) = [
        one
        for one in stages((), given, start=start, installed=installed)
        if (one.part, one.phase) == ("land", "controller")
    ]
    assert upgrade.back_commands == tuple(line for name in order for line in helm_lines(name))


@pytest.mark.parametrize(
    ("kept_by", "words"),
    [("flux", "that Flux applies"), ("argocd", "that Argo CD applies"), ("terraform", "and apply")],
)
def test_the_rollback_is_made_in_the_source_where_a_tool_delivers_from_it(kept_by, words) -> None:  # type: ignore[no-untyped-def]  # parametrized
    installed = structs.replace(KUBE_SYSTEM, kept_by=kept_by, keeper="flux-system/kp")
    given = report_hop(hop="1.0", release="1.0.14", rollback_to=("0.37.8",))
    found = stages((), given, start="0.37.8", installed=installed)
    (upgrade,) = [one for one in found if (one.part, one.phase) == ("land", "controller")]
    assert (upgrade.back_commands, upgrade.back.endswith(words)) == ((), True)


@pytest.mark.parametrize("commands", [crd_commands, controller_commands])
@pytest.mark.parametrize("release", ["0.31.5", "0.32.10", "0.37.8", "1.0.14", NEWEST])
@pytest.mark.parametrize("kept_by", ["helm", "terraform", "flux", "argocd", "eksctl", "hand"])
def test_commands_parse_and_name_the_release(commands, release, kept_by):  # type: ignore[no-untyped-def]  # parametrized
    installed = InstallationFacts(
        namespace="ops", release="kp", kept_by=kept_by, keeper="flux-system/kp", crds_kept_by=kept_by
    )
    whole = commands(release, installed)
    found = [one for one in whole if not APPLIES.search(one.text)]
    applied = [one.how for one in whole if one not in found]
    assert applied == ([kept_by] if kept_by in ("terraform", "flux", "argocd") else [])
    assert [one for one in found if release not in one.text] == []
    first = kept_by if kept_by in ("terraform", "flux", "argocd") else "helm"
    assert found[0].how == first
    for one in found:
        parse(one)


APPLIES = re.compile(r"^(argocd app sync|flux reconcile|terraform plan) ")


def parse(remedy: Remedy) -> None:
    match remedy.how:
        case "helm":
            subprocess.run(["bash", "-n"], input=remedy.text.encode(), check=True)
        case "terraform":
            hcl2.loads(f"{remedy.text}\n")
        case _:
            yaml.safe_load(remedy.text)


def test_a_delivery_is_applied_by_its_own_tool_where_its_object_is_known() -> None:
    texts = {}
    assert controller_commands("1.0.14", InstallationFacts(namespace="ops", release="kp", kept_by="terraform"))[
        -1
    ].text == (
        "terraform plan -out=karpenter.tfplan  # see that helm_release kp changes, and nothing else\n"
        "terraform apply karpenter.tfplan"
    )
    for tool in ("flux", "argocd"):
        here = InstallationFacts(namespace="ops", release="kp", kept_by=tool, keeper="team/kp's")
        texts[tool] = controller_commands("1.0.14", here)[-1].text.partition("  # ")[0]
        assert controller_commands("1.0.14", structs.replace(here, keeper=""))[-1].how != tool
    assert texts == {
        "flux": """flux reconcile helmrelease 'kp'"'"'s' --namespace team --with-source""",
        "argocd": """argocd app sync team/'kp'"'"'s' && argocd app wait team/'kp'"'"'s' --health""",
    }


@pytest.mark.parametrize(
    ("tool", "edit", "applied"),
    [
        (
            "argocd",
            "# Application argocd/crds, spec.source\ntargetRevision: 1.0.14",
            "argocd app sync argocd/crds && argocd app wait argocd/crds --health",
        ),
        (
            "flux",
            "# HelmRelease argocd/crds, spec\nchart:\n  spec:\n    version: 1.0.14",
            "flux reconcile helmrelease crds --namespace argocd --with-source",
        ),
    ],
)
def test_crds_with_a_delivery_of_their_own_are_changed_there_and_applied_before_the_controller(
    tool: str, edit: str, applied: str
) -> None:
    here = InstallationFacts(
        namespace="ops", release="kp", kept_by=tool, keeper="argocd/kp", crds_kept_by=tool, crd_keeper="argocd/crds"
    )
    texts = [one.text for one in crd_commands("1.0.14", here) if one.how == tool]
    assert texts[0] == edit
    assert texts[1].partition("  # ")[0] == applied
    fresh = [one.text for one in crd_commands("1.0.14", structs.replace(here, crd_keeper="")) if one.how == tool]
    assert ("karpenter-crd" in fresh[0], "karpenter-crd" in fresh[1]) == (True, True)


def test_charts_of_old_are_spelled_with_a_v_and_crds_call_the_controller_where_it_is() -> None:
    away = InstallationFacts(namespace="karpenter", release="karpenter")
    assert "--version v0.32.10 " in crd_commands("0.32.10", away)[0].text
    kept = "--version 0.37.8 --namespace karpenter \\\n  -f karpenter-crd.values.yaml"
    assert kept in crd_commands("0.37.8", away)[0].text
    told = crd_commands("0.37.1", away)[0].text.splitlines()
    assert told[4:7] == ["  webhook: \\", "  '  enabled: true' \\", "  '  serviceNamespace: karpenter' \\"]
    assert "helm upgrade karpenter oci://" in controller_commands("1.0.14", None)[0].text
    assert "--namespace NAMESPACE" in controller_commands("1.0.14", None)[0].text


def test_no_name_of_an_installation_leaves_its_word() -> None:
    odd = InstallationFacts(namespace="a; reboot", release="$(reboot)")
    text = controller_commands("1.0.14", odd)[0].text
    assert "'a; reboot'" in text
    assert "'$(reboot)'" in text
