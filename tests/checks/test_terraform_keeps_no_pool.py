import pytest

from migrations_app.checks.values import Evidence
from migrations_app.samples.karpenter_kinds import ON_DEMAND, pool
from tests.builders import a_cluster, an_empty_cluster, asked_hops, blind, reads, remedies, told

CHECK = "terraform_keeps_no_pool"
GOOD = ("pass", "Terraform will not make a pool anew", ())


def kept_by(*managers: str, name: str = "general"):
    found = pool(name, ON_DEMAND, node_class="default", version="v1")
    found["metadata"]["managedFields"] = [{"manager": one, "operation": "Apply"} for one in managers]
    return a_cluster().with_docs(found)


@pytest.mark.parametrize("managers", [(), ("kubectl-client-side-apply",), ("terraform-provider-helm_v2.15.0_x5",)])
def test_other_tools(managers):
    assert told(CHECK, "1.0", kept_by(*managers)) == GOOD


@pytest.mark.parametrize("manager", ["Terraform", "HashiCorp", "terraform-provider-kubectl", "opentofu"])
def test_terraform(manager):
    row = Evidence(
        kind="NodePool",
        name="general",
        path="metadata.managedFields",
        seen=manager,
        wanted="a new name in v1 beside it, or the old resource taken out of the state",
    )
    assert told(CHECK, "1.0", kept_by(manager)) == ("fail", "1 object is kept by Terraform", (row,))


def test_without_pools_there_is_nothing_to_ask():
    found = told(CHECK, "1.0", an_empty_cluster(), start="0.37.8")
    assert found == ("not_applicable", "there is no pool and no node class yet", ())


def test_it_is_asked_where_versions_change():
    assert asked_hops(CHECK) == ("0.32", "0.33+", "1.0", "1.1+")


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert blind(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_forgets_without_deleting():
    text = remedies(CHECK, "1.0", kept_by("Terraform", name="spot-a.b"))[0].text
    assert text.splitlines()[2:] == [
        "removed {",
        "  from = kubernetes_manifest.spot_a_b",
        "",
        "  lifecycle {",
        "    destroy = false",
        "  }",
        "}",
    ]
