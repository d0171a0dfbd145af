"""A controller without a Helm release is never upgraded by a command that Helm refuses."""

import subprocess
from typing import Any

import pytest
from msgspec import UNSET, structs

from migrations_app.checks.changes import HelmValue
from migrations_app.readiness.report import InstallationFacts
from migrations_app.readiness.runbook.helm_upgrade import controller_commands
from migrations_app.readiness.runbook.runbook import runbook
from tests.acceptance.clusters import find, objects
from tests.acceptance.judging import judged

RENDERED = InstallationFacts(namespace="ops", release="kp", controller="kp-karpenter", without_release=True)
BY_HELM = ("helm get values karpenter ", "helm upgrade karpenter ", "helm rollback karpenter ")


def text(facts: InstallationFacts, *values: HelmValue, to: str = "1.0.14") -> str:
    return next(one.text for one in controller_commands(to, facts, values=values) if one.how == "helm")


def test_the_chart_is_rendered_with_the_values_of_a_person_and_applied() -> None:
    assert text(RENDERED, HelmValue("controller.metrics.port", "8000", "scrapers")).splitlines() == [
        "# There is no Helm release kp to upgrade: its chart is rendered and applied",
        "# For a person: set VALUES to the values file of the running manifests, with the changes of the last upgrade",
        "# Helm has no record of them, and without them the chart's defaults replace the settings in use",
        'test -s "${VALUES:?is not set: the file of the values in use}" &&',
        "# What changes; null takes a value out",
        "#   controller.metrics.port: scrapers",
        "printf '%s\\n' \\",
        "  controller: \\",
        "  '  metrics:' \\",
        "  '    port: 8000' \\",
        "  > kp.changes.yaml &&",
        "helm template kp oci://public.ecr.aws/karpenter/karpenter --version 1.0.14 --namespace ops \\",
        '  -f "$VALUES" -f kp.changes.yaml --no-hooks > kp.manifests.yaml &&',
        "kubectl apply --server-side --force-conflicts -f kp.manifests.yaml &&",
        "kubectl rollout status deployment/kp-karpenter --namespace ops",
        "# Then write kp.changes.yaml into the file of VALUES: the next upgrade is rendered with that file",
    ]


def test_without_changes_only_the_values_of_a_person_are_given() -> None:
    shown = text(RENDERED, to="0.32.10")
    assert '--version v0.32.10 --namespace ops \\\n  -f "$VALUES" --no-hooks >' in shown
    assert ("with the changes of the last upgrade" in shown, "changes.yaml" in shown) == (True, False)


@pytest.mark.parametrize("known", [False, UNSET])
def test_a_release_that_is_there_or_was_not_looked_for_is_upgraded_by_helm(known: Any) -> None:
    shown = text(structs.replace(RENDERED, without_release=known))
    assert ("helm upgrade kp oci://" in shown, "helm template" in shown) == (True, False)


@pytest.mark.parametrize("odd", ["$(reboot); x", "a\nreboot", "it's", "--force"])
def test_no_name_leaves_its_word(odd: str) -> None:
    shown = text(structs.replace(RENDERED, namespace=odd, release=odd, controller=odd), HelmValue("a", '"b"', odd))
    subprocess.run(["bash", "-n"], input=shown.encode(), check=True)
    run = "\n".join(line for line in shown.splitlines() if not line.startswith("#"))
    assert [sign for sign in (" $(reboot)", "\nreboot", " --force ") if sign in run] == []


def test_nothing_is_applied_before_a_person_has_given_the_values() -> None:
    stubs = "helm() { echo ran; }; kubectl() { echo ran; }; unset VALUES\n"
    for given, reason in (("", "VALUES: is not set"), ("VALUES=/dev/null\n", "")):
        ran = subprocess.run(
            ["bash"], input=stubs + given + text(RENDERED), capture_output=True, text=True, check=False
        )
        assert (ran.stdout, ran.returncode != 0, reason in ran.stderr) == ("", True, True)


def rendered() -> list[dict[str, Any]]:
    """The cluster beta-037 as a chart that was rendered and applied: without records and marks of Helm."""
    documents = [one for one in objects(find("beta-037")) if one.get("type") != "helm.sh/release.v1"]
    for one in documents:
        metadata = one["metadata"]
        for field in metadata.get("managedFields", ()):
            field["manager"] = field["manager"].replace("helm", "kubectl-client-side-apply")
        marks = metadata.get("annotations", {})
        metadata["annotations"] = {key: mark for key, mark in marks.items() if not key.startswith("meta.helm.sh/")}
    return documents


def test_no_command_of_a_plan_asks_helm_for_a_release_that_is_not_there() -> None:
    plan = runbook(judged(find("beta-037"), rendered()))
    for hop in plan.hops:
        shown = [one.text for stage in hop.stages for one in stage.commands]
        shown += [line for stage in hop.stages for line in stage.back_commands]
        assert [line for line in shown if any(start in line for start in BY_HELM)] == []
    (first,) = (hop for hop in plan.hops if hop.path_hop.name == "1.0")
    *_, upgrade = (stage for stage in first.stages if (stage.part, stage.phase) == ("land", "controller"))
    shown = [one.text for one in upgrade.commands if one.how == "helm"]
    assert ["helm template karpenter" in one for one in shown] == [True, False]
    assert "kubectl delete validatingwebhookconfigurations" in shown[1]


def test_a_plan_of_a_release_of_helm_is_as_before() -> None:
    plan = runbook(judged(find("beta-037"), objects(find("beta-037"))))
    shown = [one.text for hop in plan.hops for stage in hop.stages for one in stage.commands]
    assert [line for line in shown if "helm template" in line or "kubectl delete" in line] == []
    assert any("helm upgrade karpenter " in line for line in shown)
