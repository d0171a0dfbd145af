"""Values of a chart in the HelmRelease or the Application that delivers it."""

import pytest

from migrations_app.checks.base import Remedy
from migrations_app.checks.changes import HelmChange, HelmValue, group
from migrations_app.errors import InvalidInput
from migrations_app.manifests import edits
from migrations_app.readiness.pull_requests.object_edits import change_of, is_object, object_edits
from migrations_app.readiness.pull_requests.proposal import RequestSubject, may_hold, propose
from tests.builders.rows import a_finding

SUBJECT = RequestSubject(key="1", cluster="shop", check="settings_known", hop="0.32", title="Settings are known")
FLUX = """\
# Ours.
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: karpenter
  namespace: flux-system
spec:
  chart:
    spec:
      chart: karpenter
      version: 0.31.4  # pinned
      sourceRef: {kind: HelmRepository, name: karpenter}
  values:
    settings:
      aws:
        clusterName: shop  # the name
        defaultInstanceProfile: x
    replicas: 2
"""
ARGO = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: karpenter, namespace: argocd}
spec:
  source:
    repoURL: public.ecr.aws/karpenter
    chart: karpenter
    targetRevision: v0.31.4
    helm:
      values: |
        # keep this
        settings:
          aws:
            clusterName: shop  # the name
        replicas: 2
"""
OBJECT = ARGO.replace("values: |", "valuesObject:")


def values(**given: str) -> tuple[HelmValue, ...]:
    return tuple(HelmValue(key.replace("_", "."), text) for key, text in given.items())


def a_change(**more: object) -> HelmChange:
    told = {"chart": "karpenter", "release": "karpenter", "namespace": "karpenter", "when": "before"}
    return HelmChange(**(told | {"values": values(settings_clusterName='"shop"')} | more))  # type: ignore[arg-type]  # any field of the change


def written(text: str, change: HelmChange) -> str:
    (one,) = propose(change, {"a.yaml": text}, subject=SUBJECT).files
    return one.new


def refusal(text: str, change: HelmChange) -> tuple[str, str]:
    with pytest.raises(InvalidInput) as refused:
        propose(change, {"a.yaml": text}, subject=SUBJECT)
    return refused.value.code, refused.value.message


def test_values_of_a_helm_release_are_changed_and_its_comments_stay():
    wanted = values(settings_clusterName='"shop"', settings_aws_defaultInstanceProfile="", replicas="3")
    wanted_text = FLUX.replace("        defaultInstanceProfile: x\n", "      clusterName: shop\n")
    assert written(FLUX, a_change(values=wanted)) == wanted_text.replace("replicas: 2", "replicas: 3")


@pytest.mark.parametrize("text", [ARGO, OBJECT], ids=["text", "object"])
def test_values_of_an_application_are_changed_and_comments_stay(text):
    new = written(text, a_change())
    assert new == text.replace("the name\n", "the name\n          clusterName: shop\n")


def test_an_application_without_values_gets_them():
    bare = ARGO.partition("    helm:")[0]
    assert edits.values(written(bare, a_change()))[0]["spec"]["source"]["helm"] == {
        "valuesObject": {"settings": {"clusterName": "shop"}}
    }


def test_values_that_are_comments_alone_get_a_map():
    bare = ARGO.partition("        settings:")[0]
    assert written(bare, a_change()) == bare + "        settings:\n          clusterName: shop\n"


def test_one_of_several_sources_is_changed():
    text = ARGO.replace("  source:\n    repoURL", "  sources:\n  - repoURL")
    new = written(text, a_change(version="0.32.10"))
    source = edits.values(new)[0]["spec"]["sources"][0]
    assert source["targetRevision"] == "v0.32.10"
    assert "# keep this" in source["helm"]["values"]
    assert "clusterName: shop" in source["helm"]["values"].splitlines()[-2]


@pytest.mark.parametrize(("text", "old"), [(FLUX, "0.31.4"), (ARGO, "v0.31.4")])
def test_the_chart_is_brought_to_the_release_that_is_needed_and_never_back(text, old):
    raised = a_change(version="0.32.10", values=())
    assert written(text, raised).replace('"', "") == text.replace(old, "v0.32.10")
    assert refusal(text.replace(old, "1.0.14"), raised)[0] == "nothing_to_change"


@pytest.mark.parametrize(
    ("text", "change"),
    [
        (FLUX.replace("0.31.4", "0.31.x"), a_change(version="0.32.10")),
        (FLUX.replace("      version: 0.31.4  # pinned\n", ""), a_change(version="0.32.10")),
        (FLUX.replace("chart:\n    spec:\n      chart: karpenter", "chartRef: {name: x}\n  chart:\n    spec:"),
         a_change(version="0.32.10")),
        (FLUX.partition("  values:")[0] + "  values: text\n", a_change()),
        (ARGO.replace("values:", "parameters: [{name: settings.clusterName, value: x}]\n      values:"), a_change()),
        (ARGO.replace("        # keep this", "        - a\n").partition("        settings:")[0], a_change()),
        (ARGO.replace("        # keep this", "        a: {{ b }}"), a_change()),
    ],
)  # fmt: skip
def test_what_is_not_known_to_work_is_left_to_people(text, change):
    code, message = refusal(text, change)
    assert code == "edit_refused"
    assert message.endswith("change it by hand")


@pytest.mark.parametrize(
    "other",
    [
        FLUX.replace("chart: karpenter", "chart: karpenter-crd"),
        FLUX.replace("name: karpenter\n  namespace", "name: other\n  namespace"),
        FLUX.replace("spec:\n  chart", "spec:\n  targetNamespace: a\n  chart", 1),
        FLUX.replace("helm.toolkit.fluxcd.io", "other.io"),
        ARGO.replace("values: |", "releaseName: other\n      values: |"),
        ARGO.replace("chart: karpenter", "path: charts/karpenter"),
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: karpenter}\n",
    ],
)
def test_only_the_delivery_of_that_release_is_meant(other):
    assert refusal(other, a_change())[0] == "not_in_files"


def test_a_release_is_known_by_the_name_that_flux_makes():
    text = FLUX.replace("spec:\n  chart", "spec:\n  targetNamespace: a\n  chart", 1)
    (document,) = edits.values(text)
    assert is_object(document, a_change(release="a-karpenter"))
    assert is_object(*edits.values(FLUX.replace("spec:\n", "spec:\n  releaseName: b\n", 1)), a_change(release="b"))


def test_two_deliveries_of_one_name_are_told():
    with pytest.raises(InvalidInput) as refused:
        propose(a_change(), {"a.yaml": FLUX, "b.yaml": FLUX}, subject=SUBJECT)
    assert refused.value.code == "in_several_files"


def test_the_request_says_what_changes_and_when_it_is_merged():
    value = HelmValue("settings.clusterName", '"shop"', why="the name moved")
    found = propose(a_change(when="landing", values=(value,)), {"a.yaml": FLUX}, subject=SUBJECT)
    assert 'value:   settings.clusterName: "shop" (the name moved)' in found.body
    assert [one.partition(",")[0] for one in found.beside] == ["merge it with the upgrade of this hop"]
    later = propose(a_change(when="after"), {"a.yaml": FLUX}, subject=SUBJECT)
    assert later.beside == ("merge it after the upgrade of this hop",)
    assert propose(a_change(), {"a.yaml": FLUX}, subject=SUBJECT).beside == ()


def test_values_that_a_person_fills_in_are_no_request():
    person = a_change(when="person")
    assert object_edits(group(person, a_change())) == (a_change(),)
    assert change_of(a_finding(remedies=(Remedy(how="flux", text="x", change=person),))) is None
    assert may_hold("a.yaml", FLUX, change=a_change())
