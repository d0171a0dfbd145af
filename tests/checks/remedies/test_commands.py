import subprocess

import hcl2
import pytest
import yaml
from msgspec.structs import replace

from migrations_app.checks.base import Evidence, Remedy
from migrations_app.checks.changes import ChangeTarget, HelmValue, leaves
from migrations_app.checks.remedies.commands import (
    FIRST,
    chart_values,
    crd_chart_remedies,
    deletion_remedies,
    merge_patch_word,
    names,
    ordered,
    source_remedies,
)
from migrations_app.checks.render.charts import as_code
from migrations_app.checks.render.helm import Upgrade, crd_upgrade, upgrade_lines
from migrations_app.checks.render.sources import TERRAFORM as APPLIED
from migrations_app.inventory.facts.managers import BY_HAND, MANAGERS, Managed
from migrations_app.inventory.objects.karpenter import Metadata, Provisioner
from migrations_app.karpenter.versions import release
from migrations_app.samples.kubernetes_objects import doc, meta
from tests.builders.clusters import a_cluster, case_at, without_changes

THINGS = ChangeTarget("Thing", "", resource="things")
EVERY = tuple(Remedy(how=how, text="x") for how in ("kubectl", "helm", "terraform", "flux", "argocd"))


@pytest.mark.parametrize("manager", MANAGERS)
def test_the_tool_that_keeps_the_object_comes_first_and_none_is_lost(manager):
    found = ordered(Managed(manager), EVERY)
    assert found[0].how == FIRST[manager]
    assert sorted(found, key=str) == sorted(EVERY, key=str)


def test_names_are_told_once_and_cut():
    rows = [Evidence(kind="Node", name=f"n{number % 25}") for number in range(60)]
    assert names(rows).split() == [f"n{number}" for number in range(20)] + ["..."]
    assert names(rows[:2]) == "n0 n1"
    assert names(rows[:20]).split() == [f"n{number}" for number in range(20)]


def test_a_merge_patch():
    assert merge_patch_word("a.b", [1]) == '\'{"a":{"b":[1]}}\''


def test_values_as_a_tree():
    case = case_at("1.0", a_cluster())
    given = {"settings.b": "x y", "settings.a.c": "1s", "serviceAccount.annotations.a\\.b/c": "d", "old.key": ""}
    text = next(one.text for one in chart_values(case, given) if one.how == "flux")
    assert text.splitlines()[1:] == [
        "serviceAccount:",
        "  annotations:",
        "    a.b/c: d",
        "settings:",
        "  a:",
        "    c: 1s",
        '  b: "x y"',
        "# without old.key",
    ]


def test_values_are_quoted_for_the_shell():
    value = HelmValue("settings.a", '"$(reboot); x\'"')
    text = upgrade_lines(Upgrade(release="kp", namespace="ops", chart="karpenter", version="1.0.14", changes=(value,)))
    assert text.splitlines() == [
        "helm get values kp --namespace ops -o yaml > kp.values.yaml &&",
        "# What changes; null takes a value out",
        "printf '%s\\n' \\",
        "  settings: \\",
        """  '  a: "$(reboot); x'"'"'"' \\""",
        "  > kp.changes.yaml &&",
        "helm upgrade kp oci://public.ecr.aws/karpenter/karpenter --version 1.0.14 --namespace ops \\",
        "  -f kp.values.yaml -f kp.changes.yaml",
    ]


HELM = """#!/bin/sh
case "$MODE:$1" in
  there:get) echo 'a: 1' ;;
  missing:get | missing:status) echo 'Error: release: not found' >&2; exit 1 ;;
  *:get | *:status) echo 'Error: Kubernetes cluster unreachable' >&2; exit 1 ;;
  *) cat ./*.values.yaml ;;
esac
"""


@pytest.mark.parametrize(
    ("mode", "upgraded", "installed"), [("there", "a: 1\n", "a: 1\n"), ("missing", "", "{}\n"), ("unreachable", "", "")]
)
def test_no_upgrade_where_the_values_could_not_be_read(tmp_path, mode, upgraded, installed):
    helm = tmp_path / "helm"
    helm.write_text(HELM)
    helm.chmod(0o700)
    value = HelmValue("a", "2")
    plain = Upgrade(release="kp", namespace="ops", chart="karpenter", version="1.0.14", changes=(value,))
    for upgrade, output in ((plain, upgraded), (crd_upgrade("crds", namespace="ops", version="1.0.14"), installed)):
        folder = tmp_path / upgrade.release
        folder.mkdir()
        env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "MODE": mode}
        words = ["bash", "-c", upgrade_lines(upgrade)]
        done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False)
        assert (upgrade.release, done.stdout) == (upgrade.release, output)


def test_values_name_the_gitops_object():
    release_doc = doc("helm.toolkit.fluxcd.io/v2", "HelmRelease", metadata=meta("karpenter", "flux-system"), spec={})
    found = chart_values(case_at("1.0", a_cluster().with_docs(release_doc)), {"replicas": "2"})
    assert (found[0].how, found[0].text) == ("flux", "# HelmRelease flux-system/karpenter, spec.values\nreplicas: 2")


def test_removal_of_what_a_hand_keeps():
    found = deletion_remedies(THINGS, [Provisioner(metadata=Metadata(name="a"))], needs=("crds_served",))
    assert without_changes(found) == (Remedy(how="kubectl", text="kubectl delete things a"),)
    (change,) = leaves(found[0].change)
    assert (change.target, change.when, change.needs) == (replace(THINGS, name="a"), "after", ("crds_served",))


def test_removal_of_what_terraform_may_bring_back():
    kept = Metadata(name="a", labels={"app.kubernetes.io/managed-by": "terraform"})
    found = deletion_remedies(THINGS, [Provisioner(metadata=Metadata(name="b")), Provisioner(metadata=kept)])
    assert [one.how for one in found] == ["terraform", "kubectl"]
    assert found[0].text == f"# In the Terraform code that holds it: take things b a out\n# {APPLIED}"


def test_from_source_of_a_hand_is_nothing():
    assert source_remedies(Managed("hand"), "x") == ()
    assert source_remedies(Managed("eksctl"), "x") == ()


def test_a_version_is_told_where_each_tool_reads_it():
    case = case_at("1.0", a_cluster())
    found = {one.how: one.text for one in chart_values(case, {"a.b": "c"}, to=release("1.0.14"), about="why")}
    assert found["terraform"].splitlines() == [
        "# helm_release of karpenter",
        "# why",
        'version = "1.0.14"',
        "# At the end of the values that are there:",
        "values = [<<-YAML",
        "  a:",
        "    b: c",
        "  YAML",
        "]",
        f"# {APPLIED}",
    ]
    assert found["flux"].splitlines()[2:] == ["chart:", "  spec:", "    version: 1.0.14", "values:", "  a:", "    b: c"]
    assert found["argocd"].splitlines()[1:] == [
        "# Are the values text in helm.values, change them there: beside valuesObject that text is left out",
        "# why",
        "targetRevision: 1.0.14",
        "helm:",
        "  valuesObject:",
        "    a:",
        "      b: c",
    ]
    bare = {one.how: one.text for one in chart_values(case, {})}
    assert bare["terraform"] == f"# helm_release of karpenter\n# {APPLIED}"


def test_the_chart_of_the_crds_in_each_tool():
    found = {one.how: one.text for one in crd_chart_remedies(case_at("1.0", a_cluster()), release("1.0.14"))}
    (made,) = hcl2.loads(f"{found['terraform']}\n")["resource"]
    told = made['"helm_release"']['"karpenter-crd"']
    assert [told[key].strip('"') for key in ("name", "namespace", "chart", "version")] == [
        "karpenter-crd", "kube-system", "karpenter-crd", "1.0.14",
    ]  # fmt: skip
    flux = yaml.safe_load(found["flux"])
    inner = flux["spec"]["chart"]["spec"]
    assert (flux["kind"], flux["spec"]["targetNamespace"], inner["chart"], inner["version"]) == (
        "HelmRelease", "kube-system", "karpenter-crd", "1.0.14",
    )  # fmt: skip
    argo = yaml.safe_load(found["argocd"])
    source = argo["spec"]["source"]
    assert (argo["kind"], argo["spec"]["destination"]["namespace"], source["chart"], source["targetRevision"]) == (
        "Application", "kube-system", "karpenter-crd", "1.0.14",
    )  # fmt: skip
    assert "argocd.argoproj.io/sync-options: Prune=false" in found["argocd"]


def test_a_key_of_which_all_is_taken_out_does_not_stand_there_empty():
    """Empty it would be null, which takes the defaults of the chart below it away."""
    case = case_at("1.0", a_cluster())
    found = {one.how: one.text for one in chart_values(case, {"settings.featureGates.drift": "", "logLevel": ""})}
    gone = ["# without logLevel", "# without settings.featureGates.drift"]
    for how in ("flux", "argocd", "terraform"):
        lines = [line for line in found[how].splitlines() if "Then terraform" not in line]
        assert (lines[1:], how) == (gone, how)
    landing = as_code(BY_HAND, release="kp", tree="\n".join(gone), version="1.0.14", about="", skips_crds=True)
    told = {one.how: yaml.safe_load(one.text) for one in landing if one.how != "terraform"}
    assert told == {
        "flux": {"chart": {"spec": {"version": "1.0.14"}}},
        "argocd": {"targetRevision": "1.0.14", "helm": {"skipCrds": True}},
    }
