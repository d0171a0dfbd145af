import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import HelmChange
from migrations_app.samples.installation import Crds, crds
from migrations_app.samples.kubernetes_objects import doc, meta
from tests.builders.clusters import a_cluster, an_empty_cluster, asked_hops, reads, remedies, result_of, result_without

CHECK = "conversion_webhook_on"
GOOD = ("pass", "The conversion webhook is on", ())


def off(**more: str) -> tuple[str, str, tuple[Evidence, ...]]:
    row = {"kind": "Deployment", "namespace": "kube-system", "name": "karpenter"} | more
    return "fail", "The conversion webhook is off", (Evidence(**row),)


@pytest.mark.parametrize("env", [{}, {"DISABLE_WEBHOOK": "false"}, {"DISABLE_WEBHOOK": ""}])
def test_it_is_on(env):
    assert result_of(CHECK, "1.0", a_cluster(env=env)) == GOOD
    assert result_of(CHECK, "1.0", a_cluster(env=env).with_values({"webhook": {"enabled": True}})) == GOOD


@pytest.mark.parametrize("text", ["true", "True"])
def test_it_is_off_by_its_variable(text):
    path = "spec.template.spec.containers[].env[DISABLE_WEBHOOK]"
    found = result_of(CHECK, "1.0", a_cluster(env={"DISABLE_WEBHOOK": text}))
    assert found == off(path=path, seen="true", wanted="false")


@pytest.mark.parametrize("hop", ["1.0", "1.1+"])
def test_a_fresh_v1_cluster_without_webhooks_converts_nothing(hop):
    cluster = a_cluster("1.0.2", env={"DISABLE_WEBHOOK": "true"}).without("crds")
    fresh = cluster.with_docs(*crds(Crds(version="1.0.2", stored=("v1",))))
    said = "nothing but v1 was ever stored and webhooks are off, so nothing is converted"
    assert result_of(CHECK, hop, fresh, start="1.0.2") == ("not_applicable", said, ())
    assert result_of(CHECK, hop, cluster.unseen("crds"), start="1.0.2")[0] == "fail"


def test_it_is_off_by_a_helm_value():
    found = result_of(CHECK, "1.1+", a_cluster("1.0.14").with_values({"webhook": {"enabled": False}}, version="1.0.14"))
    assert found == off(kind="HelmRelease", path="config.webhook.enabled", seen="false", wanted="true")


def test_it_is_off_by_a_value_of_an_argo_application():
    helm = {"valuesObject": {"webhook": {"enabled": False}}}
    spec = {"source": {"chart": "karpenter", "helm": helm}}
    application = doc("argoproj.io/v1alpha1", "Application", metadata=meta("platform", "argocd"), spec=spec)
    path = "spec.source.helm.valuesObject.webhook.enabled"
    found = result_of(CHECK, "1.0", a_cluster().with_docs(application))
    assert found == off(kind="Application", namespace="argocd", name="platform", path=path, seen="false", wanted="true")


@pytest.mark.parametrize("odd", ["off", 0, [], {"enabled": "no"}])
def test_odd_values_are_not_off(odd):
    assert result_of(CHECK, "1.0", a_cluster().with_values({"webhook": odd})) == GOOD


@pytest.mark.parametrize(("given", "status"), [("false", "pass"), ("true", "pass"), (0, "fail"), ("", "fail")])
def test_the_value_counts_as_a_template_reads_it(given, status):
    """`--set-string webhook.enabled=false` gives a text, and any text is true there."""
    assert result_of(CHECK, "1.0", a_cluster().with_values({"webhook": {"enabled": given}}))[0] == status


def test_without_a_controller_there_is_nothing_to_ask():
    assert result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8")[0] == "not_applicable"


def test_it_is_asked_while_both_versions_live():
    assert asked_hops(CHECK) == ("0.33+", "1.0", "1.1+")


@pytest.mark.parametrize("start", ["0.32.10", "0.37.0", "0.37.5"])
def test_a_release_that_keeps_it_off_is_changed_with_the_crds_that_ask_it(start):
    """The guide of v1 upgrades to the latest patch with webhook.enabled=true: the CRDs of that patch convert."""
    cluster = a_cluster(start, kubernetes="1.28", env={"DISABLE_WEBHOOK": "true"})
    kept_off = cluster.with_values({"webhook": {"enabled": False}}, version=start)
    assert result_of(CHECK, "0.33+", kept_off, start=start) == off(
        kind="HelmRelease", path="config.webhook.enabled", seen="false", wanted="true"
    )
    (first, *_) = remedies(CHECK, "0.33+", kept_off, start=start)
    assert isinstance(first.change, HelmChange)
    assert (first.how, first.change.chart, first.change.when) == ("helm", "karpenter", "landing")
    assert first.change.given == {"webhook.enabled": "true"}
    by_default = cluster.with_values({"replicas": 2}, version=start)
    assert result_of(CHECK, "0.33+", by_default, start=start) == GOOD


def test_a_webhook_that_is_off_by_a_value_nobody_can_read_is_unknown_before_its_crds():
    cluster = a_cluster("0.37.5", env={"DISABLE_WEBHOOK": "true"})
    status, summary, _ = result_of(CHECK, "0.33+", cluster, start="0.37.5")
    assert (status, summary.partition(": ")[0]) == (
        "unknown",
        "whether webhook.enabled is false for 0.37.8 too is not known",
    )
    assert result_of(CHECK, "0.33+", a_cluster("0.37.5"), start="0.37.5") == GOOD


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedies_name_the_value_in_every_tool():
    found = remedies(CHECK, "1.0", a_cluster(env={"DISABLE_WEBHOOK": "true"}))
    assert isinstance(found[0].change, HelmChange)
    assert (found[0].how, found[0].change.when, found[0].change.given) == (
        "helm",
        "before",
        {"webhook.enabled": "true"},
    )
    assert [(one.how, one.text.splitlines()[1:]) for one in found[1:]] == [
        (
            "terraform",
            [
                "# the API server converts through it",
                "# At the end of the values that are there:",
                "values = [<<-YAML",
                "  webhook:",
                "    enabled: true",
                "  YAML",
                "]",
                (
                    "# Then terraform plan -out=karpenter.tfplan, see that nothing else changes, "
                    "and terraform apply karpenter.tfplan"
                ),
            ],
        ),
        ("flux", ["# the API server converts through it", "webhook:", "  enabled: true"]),
        (
            "argocd",
            [
                "# Are the values text in helm.values, change them there: beside valuesObject that text is left out",
                "# the API server converts through it",
                "webhook:",
                "  enabled: true",
            ],
        ),
    ]
