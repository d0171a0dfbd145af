"""Values that delivery tools give to Karpenter's charts, as `karpdash lint` finds them."""

from typing import Any

import pytest

from migrations_app.conversion.source_lint import lint_texts
from migrations_app.conversion.sources.charts import GivenValues, given_values, parameter_tree
from migrations_app.karpenter.versions import release
from migrations_app.manifests.writer import text_of

CHART = "oci://public.ecr.aws/karpenter/karpenter"
VALUES = {"settings": {"aws": {"clusterName": "shop"}}}
TEXT = "settings:\n  aws:\n    clusterName: shop\n"
PARAMETER = {"name": "settings.aws.clusterName", "value": "shop"}
UNREAD = (
    "settings.aws.clusterName is not read by the chart of Karpenter 1.4.0 (read up to 0.32); use settings.clusterName"
)


def body(api_version: str, kind: str, spec: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "karpenter"}, "spec": spec}


def flux(spec: Any) -> dict[str, Any]:
    return body("helm.toolkit.fluxcd.io/v2", "HelmRelease", spec)


def argo(helm: Any, *, chart: str = "karpenter") -> dict[str, Any]:
    return body("argoproj.io/v1alpha1", "Application", {"source": {"chart": chart, "helm": helm}})


def argo_set(helm: Any) -> dict[str, Any]:
    source = {"repoURL": CHART, "helm": helm}
    return body("argoproj.io/v1alpha1", "ApplicationSet", {"template": {"spec": {"sources": [{}, source]}}})


def crossplane(**given: Any) -> dict[str, Any]:
    provider = {"chart": {"name": "karpenter"}, **given}
    return body("helm.crossplane.io/v1beta1", "Release", {"forProvider": provider})


def found(document: dict[str, Any]) -> list[tuple[int, str, str]]:
    findings = lint_texts([("delivery.yaml", text_of(document))], release("1.4.0"))
    return [(finding.line, finding.code, finding.what) for finding in findings]


def files(kind: str, **data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {"name": "values"},
        "data" if kind == "ConfigMap" else "stringData": data,
    }


@pytest.mark.parametrize(
    ("document", "line"),
    [
        (flux({"chart": {"spec": {"chart": "karpenter"}}, "values": VALUES}), 12),
        (flux({"chartRef": {"kind": "OCIRepository", "name": "karpenter"}, "values": VALUES}), 12),
        (flux({"chartRef": {"kind": "OCIRepository", "name": "autoscaler"}, "values": VALUES}), 12),
        (flux({"chart": {"spec": {"chart": "platform"}}, "values": {"karpenter": VALUES}}), 13),
        (argo({"values": TEXT}), 12),
        (argo({"valuesObject": VALUES}), 12),
        (argo({"parameters": [PARAMETER]}), 10),
        (argo_set({"values": TEXT}), 15),
        (argo_set({"parameters": [PARAMETER]}), 13),
        (crossplane(values=VALUES), 12),
        (crossplane(set=[PARAMETER]), 10),
        (body("helm.cattle.io/v1", "HelmChart", {"chart": CHART, "valuesContent": TEXT}), 10),
        (files("ConfigMap", **{"values.yaml": TEXT}), 9),
        (files("Secret", **{"other.json": "{", "values.yml": TEXT}), 10),
        (
            {
                "apiVersion": "kustomize.config.k8s.io/v1beta1",
                "kind": "Kustomization",
                "helmCharts": [{"name": "karpenter", "valuesInline": VALUES}],
            },
            8,
        ),
        ({"helmCharts": [{"name": "karpenter", "valuesInline": VALUES}]}, 6),
        ({"releases": [{"name": "k", "chart": CHART, "values": ["values.yaml", VALUES]}]}, 8),
        ({"releases": [{"name": "k", "chart": CHART, "set": [PARAMETER]}]}, 5),
    ],
)
def test_values_that_the_chart_does_not_read(document: dict[str, Any], line: int) -> None:
    assert found(document) == [(line, "unread-value", UNREAD)]


@pytest.mark.parametrize(
    "document",
    [
        flux({"chart": {"spec": {"chart": "ingress"}}, "values": VALUES}),
        flux({"chartRef": {"kind": "OCIRepository", "name": "ingress"}, "values": {"settings": {"port": 1}}}),
        flux("odd"),
        argo({"values": TEXT}, chart="ingress"),
        argo("odd"),
        crossplane(values="text"),
        {"helmCharts": "odd", "releases": {"a": "b"}},
        {"kind": "Odd", "releases": [{"chart": CHART, "values": [VALUES]}]},
    ],
)
def test_values_of_other_charts(document: dict[str, Any]) -> None:
    assert found(document) == []


def test_a_text_of_values_that_cannot_be_read_is_said() -> None:
    ((line, code, what),) = found(argo({"values": "settings: [\n"}))
    assert (line, code, what.partition(":")[0]) == (11, "not-yaml", "not YAML")
    assert found(argo({"values": "settings: [\n"}, chart="ingress")) == []


def test_parameters() -> None:
    assert parameter_tree({"name": "a.b", "value": "x"}) == {"a": {"b": "x"}}
    assert [parameter_tree(odd) for odd in ({"name": "a[0]", "value": "x"}, {"name": ""}, "a", None)] == [{}] * 4


def test_what_is_given_where() -> None:
    assert list(given_values(argo({"valuesObject": VALUES, "parameters": [PARAMETER]}))) == [
        GivenValues(("spec", "source", "helm", "valuesObject"), "karpenter"),
        GivenValues(("spec", "source", "helm", "parameters", 0), "karpenter"),
    ]


@pytest.mark.parametrize("text", ["settings: {theme: dark}\n", "settings: {{ b\n", TEXT.replace("settings", "values")])
def test_files_of_another_program_are_no_values_of_karpenter(text: str) -> None:
    assert found(files("ConfigMap", **{"app.yaml": text, "values.txt": TEXT})) == []
