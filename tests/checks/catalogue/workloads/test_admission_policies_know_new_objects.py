import pytest

from migrations_app.checks.base import Evidence
from migrations_app.samples.kubernetes_objects import doc, meta
from tests.builders.clusters import a_cluster, asked_hops, finding_of, reads, remedies, result_of, result_without
from tests.builders.pools import parses

CHECK = "admission_policies_know_new_objects"
GOOD = ("pass", "Admission policies know the new objects", ())
KIND, RULE = "ValidatingAdmissionPolicy", "spec.matchConstraints.resourceRules[0]"
ASKS = (
    f"{KIND} pools matches objects of Karpenter: where a binding puts it in force with the action Deny, see that it "
    "accepts "
)


def policy(groups=("karpenter.sh",), versions=("*",), resources=("*",), *, expression: str = "true"):
    rule = {"apiGroups": list(groups), "apiVersions": list(versions), "resources": list(resources)}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": expression}]}
    return doc("admissionregistration.k8s.io/v1", KIND, metadata=meta("pools"), spec=spec)


def at(hop: str, *docs):
    version = {"0.32": "0.31.5", "0.33+": "0.32.10", "1.0": "0.37.8", "1.1+": "1.0.14"}[hop]
    return result_of(CHECK, hop, a_cluster(version).with_docs(*docs))


def outdated(field: str, seen: str, wanted: str) -> tuple[Evidence, ...]:
    return (Evidence(kind=KIND, name="pools", path=f"{RULE}.{field}", seen=seen, wanted=wanted),)


def test_without_such_a_policy():
    assert at("1.0") == GOOD
    assert (
        at("1.0", policy(groups=("apps",), expression="object.metadata.labels['karpenter.sh/nodepool'] != ''")) == GOOD
    )


@pytest.mark.parametrize(
    ("hop", "versions", "wanted"),
    [("0.33+", ["v1alpha5"], "karpenter.sh/v1beta1"), ("1.1+", ["v1beta1"], "karpenter.sh/v1"),
     ("1.1+", ["v1alpha5", "v1beta1"], "karpenter.sh/v1")],
)  # fmt: skip
def test_a_rule_for_versions_that_are_gone_guards_nothing(hop, versions, wanted):
    seen = ", ".join(f"karpenter.sh/{version}" for version in versions)
    assert at(hop, policy(versions=versions)) == (
        "fail",
        "1 outdated rule in an admission policy",
        outdated("apiVersions", seen, wanted),
    )


def test_a_rule_for_kinds_that_are_gone_guards_nothing():
    found = at("0.33+", policy(resources=["provisioners", "provisioners/status"]))
    assert found[2] == outdated("resources", "provisioners", "nodepools")
    assert at("0.33+", policy(resources=["provisioners", "nodepools"]))[0] == "manual"


def test_an_outdated_key_in_its_program():
    found = at("1.1+", policy(groups=("",), expression="has(object.metadata.annotations['karpenter.sh/do-not-evict'])"))
    assert [(row.path, row.wanted) for row in found[2]] == [
        ("spec.validations[0].expression", "karpenter.sh/do-not-disrupt")
    ]


@pytest.mark.parametrize(
    ("hop", "versions", "written"),
    [("0.32", ["v1alpha5"], "v1beta1"), ("0.33+", ["v1alpha5", "v1beta1"], "v1beta1"), ("1.0", ["v1beta1"], "v1"),
     ("1.0", ["*"], "v1"), ("1.1+", ["v1"], "v1")],
)  # fmt: skip
def test_one_that_matches_is_a_question_for_nobody_reads_its_binding(hop, versions, written):
    assert at(hop, policy(versions=versions)) == ("manual", ASKS + written, ())


def test_one_for_every_group_is_a_question_where_its_program_names_karpenter():
    program = "object.apiVersion == 'karpenter.sh/v1'"
    assert at("1.1+", policy(groups=["*"], expression=program))[:2] == ("manual", f"{ASKS}v1")


@pytest.mark.parametrize("odd", [{}, {"matchConstraints": 5}, {"matchConstraints": {"resourceRules": ["x", {}]}}])
def test_odd_rules_match_nothing(odd):
    made = doc("admissionregistration.k8s.io/v1", KIND, metadata=meta("pools"), spec=odd)
    assert at("1.0", made) == GOOD


def test_it_warns_and_is_asked_where_versions_change():
    assert finding_of(CHECK, "1.0", a_cluster().with_docs(policy())).severity == "warning"
    assert asked_hops(CHECK) == ("0.32", "0.33+", "1.0", "1.1+")


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_shows_the_policy_and_names_the_field():
    given = remedies(CHECK, "1.1+", a_cluster("1.0.14").with_docs(policy(versions=["v1beta1"])))
    assert parses(given) == ["kubectl"]
    lines = given[0].text.splitlines()
    assert lines[0] == "kubectl get validatingadmissionpolicy pools -o yaml"
    assert f"{RULE}.apiVersions: karpenter.sh/v1beta1, now karpenter.sh/v1" in lines[-1]
    asked = remedies(CHECK, "1.0", a_cluster().with_docs(policy()))
    columns = "custom-columns=NAME:.metadata.name,POLICY:.spec.policyName,ACTIONS:.spec.validationActions"
    bindings = f"kubectl get validatingadmissionpolicybindings -o {columns}"
    assert [one.text for one in asked] == [f"kubectl get validatingadmissionpolicy pools -o yaml\n{bindings}"]
    assert bindings in lines
