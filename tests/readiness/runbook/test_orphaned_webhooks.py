"""The upgrade that ends admission webhooks deletes those that no tool deletes."""

import subprocess
from typing import Any

import pytest
from msgspec import UNSET, structs

from migrations_app.checks.base import Remedy
from migrations_app.checks.changes import HelmChange, HelmValue
from migrations_app.karpenter.release_facts import ADMISSION_WEBHOOKS
from migrations_app.karpenter.versions import release
from migrations_app.readiness.report import InstallationFacts
from migrations_app.readiness.runbook.helm_upgrade import HelmWalk, controller_commands
from migrations_app.readiness.runbook.orphaned_webhooks import orphaned_webhooks
from migrations_app.readiness.runbook.runbook import RunbookHop, runbook
from migrations_app.readiness.runbook.stages import stages
from migrations_app.readiness.stage import installed
from migrations_app.samples.installation import admission_webhook
from tests.acceptance.clusters import find, objects
from tests.acceptance.deliveries import TOOLS, delivered
from tests.acceptance.judging import judged
from tests.builders.clusters import a_cluster
from tests.readiness.outputs.reports import finding, report_hop

NAMES = tuple(row.name for row in ADMISSION_WEBHOOKS if row.last)
RENDERED = InstallationFacts(
    namespace="ops", release="kp", controller="kp-karpenter", chart_deletes=False, kept_webhooks=NAMES
)
BY_ARGO = structs.replace(RENDERED, kept_by="argocd", keeper="argocd/kp")
BY_HELM = InstallationFacts(namespace="ops", release="kp", kept_by="helm", chart_deletes=True, kept_webhooks=())


def left(facts: InstallationFacts | None, *, to: str = "1.0.14", start: str = "0.37.8", before: bool = False) -> Any:
    return tuple(row.name for row in orphaned_webhooks(release(to), facts, start=start, applied_before=before))


def commands(facts: InstallationFacts, *values: HelmValue) -> list[Remedy]:
    rows = orphaned_webhooks(release("1.0.14"), facts, start="0.37.8", applied_before=False)
    return list(controller_commands("1.0.14", facts, values=values, left=rows))


def test_only_the_release_that_ends_them_leaves_them() -> None:
    assert left(RENDERED) == NAMES
    assert left(RENDERED, start="") == NAMES
    for start, to in (("0.36.9", "0.37.8"), ("1.0.14", "1.1.10"), ("1.0.9", "1.0.14"), ("0.31.5", "0.32.10")):
        assert left(RENDERED, start=start, to=to) == ()
    assert left(RENDERED, start="0.36.9", to="1.3.8") == NAMES


def test_only_those_in_the_cluster_are_named() -> None:
    assert left(structs.replace(RENDERED, kept_webhooks=NAMES[:1])) == NAMES[:1]
    assert left(structs.replace(RENDERED, kept_webhooks=())) == ()
    assert left(structs.replace(RENDERED, kept_webhooks=("policies.example.com",))) == ()


def test_all_are_named_where_they_were_not_read_or_the_plan_applies_their_chart_before() -> None:
    assert left(structs.replace(RENDERED, kept_webhooks=UNSET)) == NAMES
    assert left(structs.replace(RENDERED, kept_webhooks=()), before=True) == NAMES


def test_helm_deletes_its_own_but_not_those_of_another_tool() -> None:
    assert left(BY_HELM) == left(BY_HELM, before=True) == left(structs.replace(BY_HELM, kept_webhooks=UNSET)) == ()
    assert left(structs.replace(BY_HELM, kept_webhooks=NAMES[:2])) == NAMES[:2]
    assert left(None) == ()


@pytest.mark.parametrize(
    ("tool", "wanted"),
    [("helm", ()), ("flux", ()), ("terraform", ()), ("eksctl", ()), ("argocd", NAMES), ("hand", NAMES)],
)
def test_a_report_from_before_goes_by_the_tool(tool: str, wanted: tuple[str, ...]) -> None:
    assert left(InstallationFacts(namespace="ops", release="kp", kept_by=tool)) == wanted


def test_argo_cd_prunes_them_and_nothing_else_right_at_the_sync() -> None:
    facts = structs.replace(BY_ARGO, kept_webhooks=(NAMES[0], NAMES[1]))
    first, *_, synced = commands(facts)
    assert (first.how, synced.how) == ("argocd", "argocd")
    lines = [line for line in synced.text.splitlines() if not line.startswith("#")]
    group = "--resource admissionregistration.k8s.io"
    mutating, validating = (
        f"{group}:MutatingWebhookConfiguration:{NAMES[0]}",
        f"{group}:ValidatingWebhookConfiguration:{NAMES[1]}",
    )
    assert lines == [
        "argocd app sync argocd/kp",
        f"argocd app sync argocd/kp --prune {mutating} {validating} &&",
        "argocd app wait argocd/kp --health",
    ]


def test_without_its_application_kubectl_deletes_them_as_a_command_of_argo_cd() -> None:
    last = commands(structs.replace(BY_ARGO, keeper=""))[-1]
    assert (last.how, "kubectl delete" in last.text) == ("argocd", True)


def test_after_a_rendered_chart_kubectl_deletes_them_once_the_controller_is_rolled_out() -> None:
    deleted = [one.text for one in commands(RENDERED) if one.how == "helm"][1]
    assert deleted.splitlines() == [
        "# 1.0.14 does not answer these: until they are deleted, every write that they cover is refused",
        "kubectl rollout status deployment/kp-karpenter --namespace ops &&",
        f"kubectl delete mutatingwebhookconfigurations {NAMES[0]} --ignore-not-found &&",
        f"kubectl delete validatingwebhookconfigurations {' '.join(NAMES[1:])} --ignore-not-found",
    ]


@pytest.mark.parametrize("facts", [RENDERED, BY_ARGO, structs.replace(BY_ARGO, keeper="")])
def test_no_name_leaves_its_word(facts: InstallationFacts) -> None:
    odd = "$(reboot); x\n'y"
    keeper = facts.keeper and f"{odd}/{odd}"
    hostile = structs.replace(facts, namespace=odd, release=odd, controller=odd, keeper=keeper)
    for one in commands(hostile, HelmValue("a", '"$(reboot)"', odd)):
        bare = [line for line in one.text.splitlines() if not line.startswith("#")]
        if one.how == "helm" or any(line.startswith(("argocd", "kubectl")) for line in bare):
            subprocess.run(["bash", "-n"], input=one.text.encode(), check=True)
            assert not any(line.strip().startswith(("x", "reboot")) for line in bare)


def test_the_deployment_is_named_as_the_chart_names_it_where_that_was_not_stored() -> None:
    for name, wanted in (("kp", "kp-karpenter"), ("my-karpenter", "my-karpenter")):
        text = commands(structs.replace(RENDERED, controller=UNSET, release=name))[-1].text
        assert f"kubectl rollout status deployment/{wanted} --namespace ops" in text


def test_an_upgrade_before_that_of_the_hop_may_make_them() -> None:
    facts = structs.replace(RENDERED, kept_webhooks=())
    value = HelmValue("webhook.enabled", "true")
    change = HelmChange(chart="karpenter", release="kp", namespace="ops", when="before", values=(value,))
    asked = finding("a", "fail", remedies=(Remedy(how="helm", text="x", change=change),))
    for findings, wanted in (((asked,), NAMES), ((), ())):
        taken = HelmWalk(facts).next_hop(findings, start="0.37.8", target_release="1.0.14")
        assert tuple(row.name for row in taken.orphaned_webhooks) == wanted
    walk = HelmWalk(facts)
    assert walk.next_hop((), start="0.36.9", target_release="0.37.8").orphaned_webhooks == ()
    later = walk.next_hop((), start="0.37.8", target_release="1.0.14").orphaned_webhooks
    assert tuple(row.name for row in later) == NAMES
    assert walk.next_hop((), start="1.0.14", target_release="1.1.10").orphaned_webhooks == ()


def test_the_step_of_the_controller_names_them() -> None:
    cluster = a_cluster(helm=False).with_docs(*(admission_webhook(name, namespace="kube-system") for name in NAMES[1:]))
    facts = installed(cluster.build())
    assert facts is not None
    taken = HelmWalk(facts).next_hop((), start="0.37.8", target_release="1.0.14")
    found = stages([], report_hop(hop="1.0", release="1.0.14"), start="0.37.8", installed=facts, upgrades=taken)
    (upgrade,) = (stage for stage in found if (stage.part, stage.phase) == ("land", "controller"))
    deleting = [one.text for one in upgrade.commands if "kubectl delete" in one.text]
    assert [all(name in text for name in NAMES[1:]) for text in deleting] == [True]


def deleting(hop: RunbookHop) -> list[str]:
    found = [one.text for stage in hop.stages for one in stage.commands]
    return [text for text in found if any(name in text for name in NAMES)]


def test_a_plan_names_them_in_one_hop_with_argo_cd_and_in_none_with_the_other_tools() -> None:
    clean = find("beta-037")
    for tool in TOOLS:
        plan = runbook(judged(clean, delivered(objects(clean), clean, by=tool)))
        wanted = ["1.0"] if tool == "argocd" else []
        assert [hop.path_hop.name for hop in plan.hops if deleting(hop)] == wanted
    assert [hop for hop in runbook(judged(clean, objects(clean))).hops if deleting(hop)] == []
