"""The order of the work inside a hop: what has to be there comes before what goes."""

import copy
import re
from collections.abc import Iterator
from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from migrations_app.checks.base import Finding, Phase, Remedy
from migrations_app.checks.changes import HelmChange
from migrations_app.checks.registry import all_checks
from migrations_app.inventory.facts.controller import service_of
from migrations_app.karpenter.hops import ALPHA_LEFT, BETA_LEFT
from migrations_app.karpenter.labels import KUBELET_COMPATIBILITY
from migrations_app.readiness.report import InstallationFacts, Report
from migrations_app.readiness.runbook.runbook import RunbookHop, runbook
from migrations_app.readiness.runbook.stages import RunbookStage, stages
from migrations_app.readiness.runbook.work_order import (
    ALPHA_OBJECT_CHECKS,
    ALPHA_TO_BETA_CHECKS,
    BEFORE_NODES_ROLL,
    CRDS_INSTALLED_CHECK,
    DRIFT_HOLD_CHECKS,
    OPEN_STATUSES,
    SUCCESSORS_CHECK,
    WITH_UPGRADE,
    in_stage_order,
    parts_by_check,
)
from tests.acceptance.clusters import CLEAN, objects
from tests.acceptance.judging import judged
from tests.builders.clusters import without_changes
from tests.readiness.outputs.reports import finding, report_hop

PHASE_OF: dict[str, Phase] = {check.id: check.phase for check in all_checks()}
ALPHA_WORK = (
    *ALPHA_TO_BETA_CHECKS,
    *DRIFT_HOLD_CHECKS,
    "pdbs_allow_disruption",
    "removed_helm_keys_unused",
    CRDS_INSTALLED_CHECK,
)
BY_HELM = InstallationFacts(namespace="kube-system", release="karpenter", kept_by="helm", crds_kept_by="helm")


def made(*asked: Finding, **more: object) -> tuple[RunbookStage, ...]:
    given_hop = {"hop": ALPHA_LEFT, "release": "0.37.8", "rollback_to": ("0.32.10",)} | more
    installed = given_hop.pop("installed", BY_HELM)
    return stages(asked, report_hop(**given_hop), start="0.32.10", installed=installed)  # type: ignore[arg-type]  # as a hop takes them


def of(name: str, status: str = "fail", **more: object) -> Finding:
    return finding(name, status, phase=PHASE_OF[name], **more)  # type: ignore[arg-type]  # as a finding takes them


def work(found: tuple[RunbookStage, ...]) -> list[str]:
    """What is done in order: ids of checks, the parts of the landing, and the step that makes NodePools."""
    told: list[str] = []
    for one in found:
        told += one.checks
        told += [remedy.action for remedy in one.commands if remedy.action]
        told += [f"{one.part} {one.phase}"] if one.part == "land" and one.commands else []
    return told


def test_every_check_that_the_order_names_is_there() -> None:
    named = {
        *ALPHA_TO_BETA_CHECKS,
        *ALPHA_OBJECT_CHECKS,
        *DRIFT_HOLD_CHECKS,
        *BEFORE_NODES_ROLL,
        *WITH_UPGRADE,
        CRDS_INSTALLED_CHECK,
    }
    assert named - set(PHASE_OF) == set()


def test_from_alpha_to_beta_node_pools_are_made_before_anything_goes() -> None:
    asked = [of(name) for name in reversed(ALPHA_TO_BETA_CHECKS)]
    assert work(made(*asked)) == [
        SUCCESSORS_CHECK,
        "convert_and_apply",
        *ALPHA_TO_BETA_CHECKS[1:],
        "land crds",
        "land controller",
    ]


def test_the_step_is_named_while_the_check_that_asks_does_not_apply_yet() -> None:
    asked = (of(SUCCESSORS_CHECK, "not_applicable"), of("legacy_provisioners_gone"), of("legacy_machines_gone"))
    found = made(*asked)
    assert work(found)[:3] == ["convert_and_apply", "legacy_machines_gone", "legacy_provisioners_gone"]
    (convert,) = [one for one in found if one.commands and one.part == "before"]
    commands, action = convert.commands
    assert [line.split()[0:2] for line in commands.text.splitlines() if not line.startswith("#")] == [
        ["kubectl", "get"],
        ["karpdash", "convert"],
        ["grep", "-nF"],
        ["kubectl", "create"],
        ["kubectl", "get"],
        ["kubectl", "describe"],
    ]
    told = Remedy(how="action", text="Action convert_and_apply of karpdash", action="convert_and_apply")
    assert without_changes([action]) == (told,)
    assert action.change == commands.change != UNSET


@pytest.mark.parametrize("status", ["pass", "waived"])
def test_ready_node_pools_are_not_made_again(status: str) -> None:
    assert "convert_and_apply" not in work(made(of(SUCCESSORS_CHECK, status), of("legacy_provisioners_gone")))


def test_at_other_hops_nothing_is_converted_from_alpha() -> None:
    found = made(of("legacy_provisioners_gone", severity="warning"), hop="1.0", release="1.0.14")
    assert "convert_and_apply" not in work(found)


def test_drift_is_held_last_before_the_landing() -> None:
    asked = (
        of("hashes_carry_over", severity="warning"),
        of("claims_not_drifted", severity="warning"),
        of("drift_not_held_off"),
        of("image_terms_valid"),
    )
    assert work(made(*asked, hop="1.0", release="1.0.14")) == [
        "image_terms_valid",
        "claims_not_drifted",
        "drift_not_held_off",
        "hashes_carry_over",
        "land crds",
        "land controller",
    ]


def test_values_for_the_new_chart_stand_between_its_crds_and_the_controller() -> None:
    asked = (of("removed_helm_keys_unused", severity="warning"), of(CRDS_INSTALLED_CHECK, severity="info"))
    assert work(made(*asked)) == [CRDS_INSTALLED_CHECK, "land crds", "removed_helm_keys_unused", "land controller"]


@pytest.mark.parametrize(
    ("version", "part"), [("0.37.8", "land"), ("0.37.1", "before"), ("0.32.10", "before"), ("", "before")]
)
def test_whatever_brings_the_controller_to_the_new_chart_does_so_with_the_landing(version: str, part: str) -> None:
    change = HelmChange(chart="karpenter", release="kp", namespace="ops", when="before", version=version)
    remedy = Remedy(how="helm", text="x", change=change)
    one = of("controller_off_bad_patches", remedies=(remedy,))
    assert parts_by_check([one], release="0.37.8") == {one.id: part}


@pytest.mark.parametrize("kept", ["kept_by", "crds_kept_by"])
def test_where_argo_cd_delivers_the_crds_are_marked_before_a_chart_leaves_them_out(kept: str) -> None:
    installed = InstallationFacts(namespace="kube-system", release="karpenter", **{kept: "argocd"})
    first, second, third, *_ = made(installed=installed)
    assert [(one.part, one.phase, one.does[:8]) for one in (first, second, third)] == [
        ("before", "crds", "Mark the"),
        ("land", "crds", "Install "),
        ("land", "controller", "Upgrade "),
    ]
    assert 'argocd.argoproj.io/sync-options=${options:+$options,}Prune=false" --overwrite' in first.commands[0].text
    (leaves,) = [one.text for one in second.commands if "skipCrds" in one.text]
    assert "Prune=false" in leaves


@pytest.mark.parametrize(
    ("release", "name"),
    [("karpenter", "karpenter"), ("my-karpenter", "my-karpenter"), ("kp", "kp-karpenter"), ("x" * 62, "x" * 62)],
)
def test_the_chart_names_its_service_after_the_release(release: str, name: str) -> None:
    assert service_of(release) == name


@st.composite
def any_findings(draw: st.DrawFn) -> tuple[Finding, ...]:
    names = draw(st.lists(st.sampled_from(ALPHA_WORK), unique=True))
    statuses = st.sampled_from(("fail", "unknown", "manual", "pass", "not_applicable", "waived"))
    weights = st.sampled_from(("blocker", "warning", "info"))
    return tuple(of(name, draw(statuses), severity=draw(weights)) for name in names)


@settings(max_examples=300)
@given(any_findings())
def test_nothing_goes_before_its_successor_is_there(asked: tuple[Finding, ...]) -> None:
    told = work(made(*asked))
    chain = [name for name in told if name in ALPHA_TO_BETA_CHECKS]
    assert chain == sorted(chain, key=ALPHA_TO_BETA_CHECKS.index)
    assert sorted(name for name in told if name in PHASE_OF) == sorted(
        one.id for one in asked if one.status in OPEN_STATUSES
    )
    status = {one.id: one.status for one in asked}
    alpha = any(status.get(name) in OPEN_STATUSES for name in ALPHA_OBJECT_CHECKS)
    if SUCCESSORS_CHECK in status and status[SUCCESSORS_CHECK] not in ("pass", "waived") and alpha:
        convert = told.index("convert_and_apply")
        assert all(told.index(name) > convert for name in told if name in ALPHA_TO_BETA_CHECKS[1:])


@settings(max_examples=200)
@given(any_findings())
def test_crds_land_before_the_controller_and_holds_before_both(asked: tuple[Finding, ...]) -> None:
    told = work(made(*asked))
    landed = told.index("land crds")
    assert landed < told.index("land controller")
    assert all(told.index(name) < landed for name in told if name in DRIFT_HOLD_CHECKS)
    if "removed_helm_keys_unused" in told:
        assert landed < told.index("removed_helm_keys_unused") < told.index("land controller")


def hops(report: Report) -> Iterator[RunbookHop]:
    yield from runbook(report).hops


@pytest.mark.parametrize("clean", CLEAN, ids=lambda one: one.name)
def test_no_command_before_the_landing_brings_the_controller_to_the_new_chart(clean) -> None:  # type: ignore[no-untyped-def]  # parametrized
    """Over whole scans: every helm line of what is told before the landing, against the release of the hop."""
    early: list[str] = []
    for hop in hops(judged(clean, objects(clean))):
        pinned = re.compile(rf"/karpenter --.*--version v?{re.escape(hop.path_hop.release)}(?![\w.])")
        for stage in (one for one in hop.stages if one.part == "before"):
            every = (*stage.commands, *(remedy for one in hop.open_in(stage) for remedy in one.remedies))
            texts = [remedy.text for remedy in every if remedy.how == "helm"]
            early += [line for text in texts for line in text.splitlines() if pinned.search(line)]
    assert early == []


def test_an_alpha_cluster_is_told_to_make_node_pools_before_anything_is_deleted() -> None:
    clean = next(one for one in CLEAN if one.name == "alpha-031")
    (hop,) = [one for one in hops(judged(clean, objects(clean))) if one.path_hop.name == ALPHA_LEFT]
    lines: list[str] = []
    for stage in hop.stages:
        own = [remedy for one in hop.open_in(stage) for remedy in one.remedies]
        lines += [line for remedy in stage.commands or own for line in remedy.text.splitlines()]
    goes = re.compile(r"^(?!#).*\b(delete|drain)\b")
    first = next(place for place, line in enumerate(lines) if goes.search(line))
    assert any(line.strip().startswith("kubectl create -f beta.yaml") for line in lines[:first])
    kinds = ("machines.", "provisioners.", "awsnodetemplates.")
    made = [line.partition("; else ")[0] for line in lines if "kubectl delete" in line and "node " not in line]
    ends = [line.rpartition("kubectl delete")[2] for line in made]
    deleted = [next(k for k in kinds if k in end) for end in ends]
    assert [kind for kind, _ in groupby(deleted)] == list(kinds)


def test_classes_are_split_before_the_annotations_that_hold_their_settings_go() -> None:
    clean = next(one for one in CLEAN if one.name == "v1-10")
    docs = copy.deepcopy(list(objects(clean)))
    first = next(doc for doc in docs if doc["kind"] == "NodePool")
    second = copy.deepcopy(first)
    second["metadata"] |= {"name": "batch", "uid": "batch-uid"}
    for doc, text in ((first, '{"maxPods": 42}'), (second, '{"maxPods": 20}')):
        doc["metadata"].setdefault("annotations", {})[KUBELET_COMPATIBILITY] = text
    report = judged(clean, (*docs, second))
    split, removal = "kubelet_settings_in_classes", "compatibility_annotations_gone"
    (hop,) = [one for one in hops(report) if one.path_hop.name == BETA_LEFT]
    order = [name for stage in hop.stages if stage.part == "before" for name in stage.checks]
    assert order.index(split) < order.index(removal)
    assert [one.id for one in hop.steps].index(split) < [one.id for one in hop.steps].index(removal)
    assert hop.next.check == split
    asked = [one for one in report.checks if one.hop == BETA_LEFT]
    shown = [one.id for one in in_stage_order(asked, release=hop.path_hop.release)]
    assert shown.index(split) < shown.index(removal)
    ways = [remedy for one in hop.steps for remedy in one.remedies]
    lines = [line for remedy in ways for line in remedy.text.splitlines()]
    assert [line for line in lines if KUBELET_COMPATIBILITY in line and not line.startswith("#")] == []
