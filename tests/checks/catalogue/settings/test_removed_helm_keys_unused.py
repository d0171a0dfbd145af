import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import HelmChange
from migrations_app.samples.kubernetes_objects import doc, meta
from tests.builders.clusters import a_cluster, an_empty_cluster, reads, remedies, result_of, result_without

CHECK = "removed_helm_keys_unused"
GOOD = ("pass", "The target chart reads every Helm value", ())
OLD = {"settings": {"aws": {"clusterName": "shop", "tags": {"team": "a"}}}}
CURRENT = {"settings": {"clusterName": "shop", "interruptionQueue": "shop"}, "replicas": 2}


def a_row(key: str, seen: str, wanted: str, **more: str) -> Evidence:
    found = {"kind": "HelmRelease", "namespace": "kube-system", "name": "karpenter", "path": f"config.{key}"} | more
    return Evidence(seen=seen, wanted=wanted, **found)


@pytest.mark.parametrize("values", [CURRENT, {}, {"settings": {"aws": {"clusterName": None}}}])
def test_only_values_that_are_read(values):
    assert result_of(CHECK, "1.0", a_cluster().with_values(values)) == GOOD


def test_the_old_names_at_the_hop_that_drops_them():
    cluster = a_cluster("0.32.10", kubernetes="1.28").with_values(OLD, version="0.32.10")
    assert result_of(CHECK, "0.33+", cluster) == (
        "fail",
        "2 Helm values are no longer read",
        (
            a_row("settings.aws.clusterName", "read up to 0.32", "settings.clusterName"),
            a_row("settings.aws.tags", "0.32 reads it for alpha templates only", "EC2NodeClass spec.tags"),
        ),
    )


def test_the_spelling_that_no_chart_reads():
    cluster = a_cluster().with_values({"settings": {"interruptionQueueName": "shop"}})
    seen = "no chart reads this spelling: interruption handling is off without a word"
    row = a_row("settings.interruptionQueueName", seen, "settings.interruptionQueue")
    assert result_of(CHECK, "1.0", cluster) == ("fail", "1 Helm value is no longer read", (row,))


def test_a_key_with_a_dot_is_not_the_value_of_that_path():
    """As `aws.clusterName: shop` below settings: no template looks it up, in no release."""
    cluster = a_cluster("0.32.10", kubernetes="1.28").with_values({"settings": {"aws.clusterName": "shop"}})
    row = a_row(r"settings.aws\.clusterName", "no chart of a known release reads it", "absent")
    assert result_of(CHECK, "0.33+", cluster) == ("fail", "1 Helm value is no longer read", (row,))
    given = remedies(CHECK, "0.33+", cluster)[0]
    assert isinstance(given.change, HelmChange)
    assert [value.key for value in given.change.values] == [r"settings.aws\.clusterName"]


def test_a_value_of_a_flux_release():
    chart = {"spec": {"chart": "karpenter"}}
    spec = {"chart": chart, "values": {"logConfig": {"logEncoding": "json"}}}
    release = doc("helm.toolkit.fluxcd.io/v2", "HelmRelease", metadata=meta("karpenter", "flux-system"), spec=spec)
    row = a_row(
        "", "gone at 1.0: always json", "absent", namespace="flux-system", path="spec.values.logConfig.logEncoding"
    )
    found = result_of(CHECK, "1.0", a_cluster().with_docs(release))
    assert found == ("fail", "1 Helm value is no longer read", (row,))


@pytest.mark.parametrize("odd", [{"settings": "all"}, {"settings": []}, {"settings": {"aws": "x"}}])
def test_odd_values_do_not_break_it(odd):
    assert result_of(CHECK, "1.0", a_cluster().with_values(odd))[0] in ("pass", "fail")


def test_without_any_record_the_values_are_unknown():
    why = "Helm values of chart karpenter not found: no Helm record and no Flux or Argo CD object has them"
    assert result_of(CHECK, "1.0", a_cluster()) == ("unknown", why, ())


def test_values_from_elsewhere_are_unknown():
    spec = {"source": {"chart": "karpenter", "helm": {"valueFiles": ["prod.yaml"], "valuesObject": CURRENT}}}
    application = doc("argoproj.io/v1alpha1", "Application", metadata=meta("karpenter", "argocd"), spec=spec)
    assert result_of(CHECK, "1.0", a_cluster().with_docs(application))[0] == "unknown"


def test_records_that_could_not_be_read_are_unknown():
    why = "Helm's records could not be read (forbidden), so the values are not known"
    assert result_of(CHECK, "1.0", a_cluster().unseen("helm_releases")) == ("unknown", why, ())


def test_without_a_controller_there_is_nothing_to_ask():
    assert result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8")[0] == "not_applicable"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_carries_the_value_over():
    cluster = a_cluster("0.32.10", kubernetes="1.28").with_values(OLD, version="0.32.10")
    first = remedies(CHECK, "0.33+", cluster)[0]
    assert isinstance(first.change, HelmChange)
    assert first.change.when == "landing"
    assert first.change.given == {
        "settings.aws.clusterName": "",
        "settings.aws.tags": "",
        "settings.clusterName": '"shop"',
    }
