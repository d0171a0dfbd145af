"""Every command of a hop is one of the tool that keeps what it changes, and stands where that tool can make it."""

import pytest
from msgspec import structs

from migrations_app.checks.base import Finding, Phase, Remedy
from migrations_app.checks.changes import ChangeTarget, HelmChange, HelmValue, ObjectPatch
from migrations_app.checks.registry import all_checks
from migrations_app.karpenter.hops import BETA_LEFT
from migrations_app.readiness.report import InstallationFacts
from migrations_app.readiness.runbook.helm_upgrade import HelmWalk, HopUpgrades
from migrations_app.readiness.runbook.runbook import Runbook, RunbookHop, runbook
from migrations_app.readiness.runbook.stages import RunbookStage, stages
from tests.acceptance.clusters import find, objects
from tests.acceptance.deliveries import delivered
from tests.acceptance.judging import judged
from tests.readiness.outputs.reports import finding, report_hop

PHASE_OF: dict[str, Phase] = {check.id: check.phase for check in all_checks()}
BY_TERRAFORM = InstallationFacts(namespace="ops", release="kp", kept_by="terraform", crds_kept_by="hand")
BY_ARGO = InstallationFacts(namespace="ops", release="kp", kept_by="argocd", keeper="argocd/kp", crds_kept_by="argocd")


def of(name: str, status: str = "fail", **more: object) -> Finding:
    return finding(name, status, phase=PHASE_OF[name], **more)  # type: ignore[arg-type]  # as a finding takes them


def first_tool(stage: RunbookStage) -> tuple[str, str]:
    """The tool whose commands a person is shown, and the first of them."""
    return stage.commands[0].how, stage.commands[0].text


def upgraded(installed: InstallationFacts) -> HopUpgrades:
    change = HelmChange(
        chart="karpenter", release="kp", namespace="ops", when="before", version="1.1.10",
        values=(HelmValue("logLevel", '"debug"'),),
    )  # fmt: skip
    asked = of("controller_off_bad_patches", remedies=(Remedy(how="helm", text="x", change=change),))
    return HelmWalk(installed).next_hop([asked], start="1.1.1", target_release="1.14.1")


def test_crds_that_nobody_keeps_do_not_make_helm_the_tool_of_a_controller_that_terraform_keeps() -> None:
    taken = upgraded(BY_TERRAFORM)
    landing = report_hop(hop="1.14", release="1.14.1")
    found = stages([], landing, start="1.1.1", installed=BY_TERRAFORM, upgrades=taken)
    early = [one for one in found if one.part == "before"]
    assert [(one.phase, first_tool(one)[0]) for one in early] == [("crds", "helm"), ("controller", "terraform")]
    assert [one.text for one in early[1].commands if one.how == "terraform"][1].startswith("terraform plan -out=")


def test_a_chart_of_crds_that_the_plan_has_made_is_changed_and_not_made_again() -> None:
    taken = upgraded(BY_ARGO)
    landing = report_hop(hop="1.14", release="1.14.1")
    found = stages([], landing, start="1.1.1", installed=BY_ARGO, upgrades=taken)
    new, edited = (first_tool(one)[1] for one in found if one.phase == "crds" and len(one.commands) > 1)
    assert ("kind: Application" in new, "targetRevision: 1.1.10" in new) == (True, True)
    assert edited == "# Application argocd/karpenter-crd, spec.source\ntargetRevision: 1.14.1"


def argo(name: str) -> Runbook:
    clean = find(name)
    documents = [
        one for one in delivered(objects(clean), clean, by="argocd")
        if (one["kind"], one["metadata"]["name"]) != ("Application", "karpenter-crd")
    ]  # fmt: skip
    for one in documents:
        if one["kind"] == "CustomResourceDefinition":
            mark = {"argocd.argoproj.io/tracking-id": "karpenter:apiextensions.k8s.io/CustomResourceDefinition:/x"}
            one["metadata"]["annotations"] = {**one["metadata"].get("annotations", {}), **mark}
    return runbook(judged(clean, documents))


def texts(hop: RunbookHop, how: str) -> list[str]:
    return [one.text for stage in hop.stages for one in stage.commands if one.how == how]


def test_argo_cd_leaves_the_static_crds_out_once_they_are_marked_and_is_told_so_once() -> None:
    first, *later = argo("beta-037").hops
    assert later
    assert first.stages[0].does == "Mark the CRDs so that no sync of Argo CD deletes them"
    skips = [text for text in texts(first, "argocd") if "  skipCrds: true" in text.splitlines()]
    new = [text for text in texts(first, "argocd") if "kind: Application" in text]
    assert (len(skips), len(new)) == (1, 1)
    for hop in later:
        assert [text for text in texts(hop, "argocd") if "skipCrds" in text or "kind: Application" in text] == []
        assert any(text.startswith("# Application argocd/karpenter-crd, spec.source") for text in texts(hop, "argocd"))
        assert "one_owner_of_crds" not in [one.id for one in hop.steps]


HELD = ObjectPatch(target=ChangeTarget("NodePool", "web", resource="nodepools.karpenter.sh"), body={"a": 1})
BACK = structs.replace(HELD, body={"a": None}, when="after", what="of NodePool web set '{}'")


@pytest.mark.parametrize(
    ("tool", "shown"), [("terraform", "terraform"), ("argocd", "argocd"), ("flux", "flux"), ("kubectl", "kubectl")]
)
def test_what_is_held_in_a_source_is_taken_back_there(tool: str, shown: str) -> None:
    hold = structs.replace(HELD, undo=BACK)
    asked = of("hashes_carry_over", remedies=(Remedy(how=tool, text="x", change=hold),))  # type: ignore[arg-type]  # parametrized
    found = stages([asked], report_hop(hop="1.14", release="1.14.1"), start="1.1.1", installed=BY_TERRAFORM)
    (released,) = [one for one in found if one.part == "after" and one.phase == "rollout" and one.commands]
    assert first_tool(released)[0] == shown


def test_what_is_applied_in_v1beta1_is_written_anew_while_that_is_served() -> None:
    asked = [of(name, severity="warning") for name in ("gitops_applies_current_versions", "crd_conversion_cleared")]
    asked += [of("compatibility_annotations_gone"), of("controller_permitted")]
    found = stages(asked, report_hop(hop=BETA_LEFT, release="1.1.10"), start="1.0.14", installed=BY_TERRAFORM)
    order = [name for one in found if one.part == "before" for name in one.checks]
    assert "gitops_applies_current_versions" in order
    assert order[-1] == "crd_conversion_cleared", "nothing converts from then on"
