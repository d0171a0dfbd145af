import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import PersonTask
from migrations_app.samples.karpenter_objects import Launched, machine, provisioner
from migrations_app.samples.kubernetes_objects import config_map
from tests.builders.clusters import a_cluster, an_empty_cluster, reads, remedies, result_of, result_without

CHECK = "drift_enabled_for_rollout"
GOOD = ("pass", "Drift can replace legacy nodes", ())
NEW, OLD = (Launched(pool="web", number=number, cluster="test", kubelet="v1.28.4") for number in (1, 2))
ONE = "1 cause keeps drift from replacing nodes"


def on_0_32(gates: str | None = None, *, hashed: bool = True):
    env = {} if gates is None else {"FEATURE_GATES": gates}
    docs = [*machine(NEW, template="default"), *machine(OLD, template="default", hashed=hashed)]
    return a_cluster("0.32.10", kubernetes="1.28", env=env).with_docs(*docs)


def gate(seen: str) -> Evidence:
    path = "spec.template.spec.containers[].env[FEATURE_GATES]"
    return Evidence(
        kind="Deployment", namespace="kube-system", name="karpenter", path=path, seen=seen, wanted="Drift=true"
    )


def test_the_gate_is_on():
    assert result_of(CHECK, "0.33+", on_0_32("Drift=true")) == GOOD


@pytest.mark.parametrize(
    ("gates", "seen"), [(None, "absent"), ("Drift=false", "Drift=false"), ("Other=true", "Other=true")]
)
def test_the_gate_is_off(gates, seen):
    assert result_of(CHECK, "0.33+", on_0_32(gates)) == ("fail", ONE, (gate(seen),))


def test_a_machine_from_before_0_30():
    path = "metadata.annotations[karpenter.sh/provisioner-hash]"
    row = Evidence(kind="Machine", name=OLD.claim, path=path, seen="absent", wanted="a hash")
    assert result_of(CHECK, "0.33+", on_0_32("Drift=true", hashed=False)) == ("fail", ONE, (row,))


@pytest.mark.parametrize(("version", "status"), [("0.31.4", "fail"), ("0.29.2", "not_applicable")])
def test_a_machine_that_can_never_drift_is_told_before_0_32_runs(version, status):
    """Before 0.30 nothing had a hash yet: what is missing tells nothing."""
    cluster = a_cluster(version, kubernetes="1.26").with_docs(*machine(OLD, template="default", hashed=False))
    found = result_of(CHECK, "0.33+", cluster)
    assert (found[0], [row.name for row in found[2]]) == (status, [OLD.claim] if status == "fail" else [])


def test_a_provisioner_without_a_hash_makes_nothing_drift():
    made = provisioner("web", template="default")
    del made["metadata"]["annotations"]
    path = "metadata.annotations[karpenter.sh/provisioner-hash]"
    row = Evidence(kind="Provisioner", name="web", path=path, seen="absent", wanted="a hash")
    assert result_of(CHECK, "0.33+", on_0_32("Drift=true").with_docs(made)) == ("fail", ONE, (row,))
    assert remedies(CHECK, "0.33+", on_0_32("Drift=true").with_docs(made))[0].text.splitlines()[1] == (
        "kubectl describe provisioners.karpenter.sh web"
    )


def test_settings_that_say_nothing_of_drift():
    settings = config_map("karpenter-global-settings", "kube-system", data={"batchMaxDuration": "10s"})
    assert result_of(CHECK, "0.33+", on_0_32("Drift=true").with_docs(settings)) == GOOD


def test_without_machines_there_is_nothing_to_replace():
    found = result_of(CHECK, "0.33+", a_cluster("0.32.10", kubernetes="1.28"))
    assert found == ("not_applicable", "there is no Machine to replace", ())


def test_before_0_32_it_is_too_early():
    cluster = a_cluster("0.30.0", kubernetes="1.27").with_docs(*machine(NEW, template="default"))
    found = result_of(CHECK, "0.33+", cluster)
    assert found == ("not_applicable", "nodes are replaced on 0.32, and 0.30.0 runs", ())


def test_an_unknown_release_is_unknown():
    cluster = an_empty_cluster().with_docs(*machine(NEW, template="default"))
    found = result_of(CHECK, "0.33+", cluster, start="0.32.10")
    assert found == ("unknown", "which release runs is not known: there is no Karpenter Deployment", ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "0.33+", on_0_32(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_whether_drift_replaces_nodes_is_a_choice_and_machines_are_deleted_by_another_check():
    (found,) = remedies(CHECK, "0.33+", on_0_32("Drift=false", hashed=False))
    assert isinstance(found.change, PersonTask)
    assert remedies(CHECK, "0.33+", on_0_32("Drift=true", hashed=False)) == ()


def test_gates_taken_from_an_object_that_is_not_read():
    why = "containers[].env[FEATURE_GATES] is empty or taken from an object that is not read"
    assert result_of(CHECK, "0.33+", on_0_32(""))[:2] == ("unknown", why)
