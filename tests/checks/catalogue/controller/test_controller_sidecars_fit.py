import pytest

from migrations_app.checks.base import Evidence
from tests.builders.clusters import a_cluster, an_empty_cluster, reads, remedies, result_of, result_without

CHECK = "controller_sidecars_fit"
GOOD = ("pass", "Every controller sidecar has its own security context", ())


def with_sidecars(given: object):
    return a_cluster().with_values({"controller": {"sidecarContainer": given}})


def a_row(name: str) -> Evidence:
    return Evidence(
        kind="HelmRelease",
        namespace="kube-system",
        name="karpenter",
        path=f"config.controller.sidecarContainer[{name}].securityContext",
        seen="absent",
        wanted="what the sidecar needs",
    )


def test_a_sidecar_with_its_own_context():
    assert result_of(CHECK, "1.0", with_sidecars([{"name": "proxy", "securityContext": {}}])) == GOOD


def test_sidecars_without_one():
    found = result_of(CHECK, "1.0", with_sidecars([{"name": "proxy"}, {}]))
    assert found == ("fail", "2 controller sidecars have no security context", (a_row("proxy"), a_row("1")))


@pytest.mark.parametrize(
    ("given", "why"), [("x", "is no list"), ({"name": "a"}, "is no list"), (["x"], "[0] is no map")]
)
def test_odd_values_are_unknown(given, why):
    space = "" if why.startswith("[") else " "
    found = result_of(CHECK, "1.0", with_sidecars(given))
    assert found == ("unknown", f"controller.sidecarContainer{space}{why}", ())


def test_no_sidecar():
    found = result_of(CHECK, "1.0", a_cluster().with_values({}))
    assert found == ("not_applicable", "the controller's pod has no sidecar", ())


def test_without_any_record_the_values_are_unknown():
    why = "Helm values of chart karpenter not found: no Helm record and no Flux or Argo CD object has them"
    assert result_of(CHECK, "1.0", a_cluster()) == ("unknown", why, ())


def test_without_a_controller_there_is_nothing_to_ask():
    found = result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8")
    assert found == ("not_applicable", "there is no Karpenter Deployment", ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_names_them():
    first = remedies(CHECK, "1.0", with_sidecars([{"name": "proxy"}]))[0].text.splitlines()[0]
    assert first == (
        "# Add securityContext to proxy below controller.sidecarContainer; the pods of the controller are replaced"
    )
