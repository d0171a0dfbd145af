import pytest

from migrations_app.checks.values import Evidence
from tests.builders import a_cluster, blind, reads, remedies, told

CHECK = "deliveries_spell_versions"
GOOD = ("pass", "Deliveries spell the chart's version as the hop needs it", ())


def flux(version, chart="karpenter"):
    spec = {"chart": {"spec": {"chart": chart, "version": version}}}
    return {
        "apiVersion": "helm.toolkit.fluxcd.io/v2",
        "kind": "HelmRelease",
        "metadata": {"name": chart, "namespace": "flux-system"},
        "spec": spec,
    }


def argo(version, chart="karpenter"):
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": chart, "namespace": "argocd"},
        "spec": {"source": {"chart": chart, "targetRevision": version}},
    }


def delivered(*docs, version="0.32.10"):
    return a_cluster(version).with_docs(*docs)


@pytest.mark.parametrize("version", [">=0.32", "0.32.x", "*"])
def test_a_range_has_no_spelling(version):
    assert told(CHECK, "0.33+", delivered(flux(version))) == GOOD


def test_the_letter_has_to_go():
    rows = (
        Evidence(
            kind="HelmRelease",
            namespace="flux-system",
            name="karpenter-crd",
            path="spec.chart.spec.version",
            seen="v0.32.10",
            wanted="0.37.8",
        ),
        Evidence(
            kind="Application",
            namespace="argocd",
            name="karpenter",
            path="spec.source.targetRevision",
            seen="v0.32.x",
            wanted="0.37.8",
        ),
    )
    found = told(CHECK, "0.33+", delivered(flux("v0.32.10", "karpenter-crd"), argo("v0.32.x")))
    assert found == ("fail", "2 deliveries spell their version in the old way", rows)


def test_from_0_35_on_the_spelling_stays():
    assert told(CHECK, "0.33+", delivered(flux("v0.35.0"), version="0.36.1"))[0] == "not_applicable"
    assert told(CHECK, "0.33+", delivered())[0] == "not_applicable"


def test_a_version_that_is_no_text():
    assert told(CHECK, "0.33+", delivered(flux(0.32)))[:2] == (
        "unknown",
        "HelmRelease flux-system/karpenter: spec.chart.spec.version is no text",
    )


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    found = blind(CHECK, "0.33+", a_cluster("0.32.10"), part=part)
    assert found == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_is_for_the_tool_that_names_it():
    found = remedies(CHECK, "0.33+", delivered(argo("v0.32.10"), flux("v0.32.10")))
    assert [(remedy.how, remedy.text) for remedy in found] == [
        ("argocd", "# Application argocd/karpenter, together with the hop\ntargetRevision: 0.37.8"),
        ("flux", "# HelmRelease flux-system/karpenter, together with the hop\nversion: 0.37.8"),
    ]
