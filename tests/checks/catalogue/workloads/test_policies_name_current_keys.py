import pytest

from migrations_app.checks.base import Evidence
from migrations_app.samples.kubernetes_objects import doc, meta
from tests.builders.clusters import a_cluster, finding_of, reads, remedies, result_of, result_without
from tests.builders.pools import parses

CHECK = "policies_name_current_keys"
GOOD = ("pass", "Policies and volumes use current keys and versions", ())


def row(kind, name, path, *, seen, wanted):
    return Evidence(kind=kind, name=name, path=path, seen=seen, wanted=wanted)


def kyverno(spec, name="spare-nodes"):
    return doc("kyverno.io/v1", "ClusterPolicy", metadata=meta(name), spec=spec)


def mutating(key):
    patch = {"metadata": {"annotations": {f"+({key})": "true"}}}
    return kyverno({"rules": [{"name": "spare", "mutate": {"patchStrategicMerge": patch}}]})


def matching(*kinds):
    return kyverno({"rules": [{"match": {"any": [{"resources": {"kinds": list(kinds)}}]}}]}, name="limits")


def constraint(*groups):
    """As the rows of a policy of Kyverno, because the kinds of constraints are those of their templates."""
    return kyverno({"match": {"kinds": [{"apiGroups": list(groups), "kinds": ["Provisioner"]}]}}, name="limits")


KYVERNO, GATEKEEPER = "spec.rules[0].match.any[0].resources.kinds[0]", "spec.match.kinds[0].kinds[0]"


@pytest.mark.parametrize(
    ("policy", "path", "seen", "wanted"),
    [
        (matching("karpenter.sh/*/Provisioner"), KYVERNO, "karpenter.sh/*/Provisioner", "karpenter.sh NodePool"),
        (matching("karpenter.sh/*/Machine"), KYVERNO, "karpenter.sh/*/Machine", "karpenter.sh NodeClaim"),
        (
            matching("karpenter.k8s.aws/*/AWSNodeTemplate"),
            KYVERNO,
            "karpenter.k8s.aws/*/AWSNodeTemplate",
            "karpenter.k8s.aws EC2NodeClass",
        ),
        (constraint("karpenter.sh"), GATEKEEPER, "Provisioner", "karpenter.sh NodePool"),
    ],
)
def test_a_policy_that_matches_a_kind_of_old(policy, path, seen, wanted):
    cluster = a_cluster("0.32.10", kubernetes="1.28").with_docs(policy)
    cause = row(policy["kind"], "limits", path, seen=seen, wanted=wanted)
    assert result_of(CHECK, "0.33+", cluster) == ("fail", "1 outdated key or version in a policy or volume", (cause,))
    before = a_cluster("0.31.4", kubernetes="1.28").with_docs(policy)
    assert result_of(CHECK, "0.32", before) == GOOD  # 0.32 runs both generations


@pytest.mark.parametrize(
    "policy",
    [
        matching("karpenter.sh/*/NodePool"),
        matching("karpenter.sh.example.com/*/Provisioner", "cluster.x-k8s.io/*/Machine"),
        constraint("example.com"),
        kyverno({"match": {"kinds": "karpenter.sh", "apiGroups": ["karpenter.sh"]}}),
        kyverno({"match": {"kinds": [1, None], "apiGroups": ["karpenter.sh", {}]}}),
    ],
)
def test_kinds_of_today_and_of_others_are_left_alone(policy):
    assert result_of(CHECK, "0.33+", a_cluster("0.32.10", kubernetes="1.28").with_docs(policy)) == GOOD


def applied_to(*rows):
    """A mutation of Gatekeeper that chooses objects by group, version and kind."""
    spec = {"applyTo": [dict(zip(("groups", "versions", "kinds"), row, strict=True)) for row in rows]}
    return doc("mutations.gatekeeper.sh/v1", "Assign", metadata=meta("limits"), spec=spec)


CORE = ["karpenter.sh"]


def seen_at(policy, hop="0.33+", start="0.32.10", kubernetes="1.28"):
    """Path, what is seen and what is wanted, of each row."""
    rows = result_of(CHECK, hop, a_cluster(start, kubernetes=kubernetes).with_docs(policy))[2]
    return [(row.path, row.seen, row.wanted) for row in rows]


def test_mutations_choose_objects_by_separate_lists():
    old = applied_to((CORE, ["v1alpha5"], ["Provisioner", "Machine"]))
    assert seen_at(old) == [
        ("spec.applyTo[0].kinds[0]", "Provisioner", "karpenter.sh NodePool"),
        ("spec.applyTo[0].kinds[1]", "Machine", "karpenter.sh NodeClaim"),
    ]
    assert seen_at(old, "0.32", "0.31.4") == []
    beta = applied_to((CORE, ["v1beta1"], ["NodePool"]))
    assert seen_at(beta, "1.1+", "1.0.14", "1.29") == [
        ("spec.applyTo[0].kinds[0]", "karpenter.sh/v1beta1 NodePool", "karpenter.sh/v1")
    ]
    assert seen_at(beta, "1.0", "0.37.8", "1.29") == []  # 1.0 serves both


@pytest.mark.parametrize(
    "row",
    [
        (CORE, ["v1"], ["Provisioner"]),  # a version that the kind never had
        (["*"], ["v1alpha5"], ["Provisioner"]),  # applyTo takes no wildcards
        (["cluster.x-k8s.io"], ["v1beta1"], ["Machine"]),
    ],
)
def test_a_mutation_that_never_chose_an_object_of_karpenter(row):
    assert seen_at(applied_to(row)) == []


def test_every_group_is_that_of_karpenter_for_names_that_only_karpenter_has():
    assert seen_at(constraint("*")) == [(GATEKEEPER, "Provisioner", "karpenter.sh NodePool")]
    machines = kyverno({"match": {"kinds": [{"apiGroups": ["*"], "kinds": ["Machine"]}]}})
    assert seen_at(machines) == []


def gatekeeper(*rows):
    return kyverno({"match": {"kinds": [{"apiGroups": list(groups), "kinds": list(kinds)} for groups, kinds in rows]}})


@pytest.mark.parametrize(
    "policy",
    [
        matching("karpenter.sh/*/Provisioner", "karpenter.sh/*/NodePool"),
        matching("karpenter.sh/*/Provisioner", "karpenter.sh/v1beta1/NodePool"),
        matching("karpenter.sh/*/Provisioner", "NodePool"),
        gatekeeper((CORE, ["Provisioner", "NodePool"])),
        gatekeeper((CORE, ["Provisioner"]), (["*"], ["NodePool"])),
        gatekeeper((CORE, ["Provisioner", "*"])),
        gatekeeper((["*"], ["Provisioner", "NodePool"])),
        applied_to((CORE, ["v1alpha5", "v1beta1"], ["Provisioner", "NodePool"])),
        applied_to((CORE, ["v1alpha5"], ["Provisioner"]), (CORE, ["v1beta1"], ["NodePool"])),
    ],
)
def test_a_list_that_matches_the_successor_as_well(policy):
    assert seen_at(policy) == []


@pytest.mark.parametrize(
    "policy",
    [
        matching("karpenter.sh/*/Provisioner", "karpenter.sh/*/NodeClaim"),
        gatekeeper((CORE, ["Provisioner"]), (["example.com"], ["NodePool"])),
        applied_to((CORE, ["v1alpha5"], ["Provisioner", "NodePool"])),
        applied_to((CORE, ["v1alpha5"], ["Provisioner"]), (CORE, ["v2"], ["NodePool"])),  # not served
        kyverno({"rules": [{"kinds": ["karpenter.sh/*/Provisioner"]}, {"kinds": ["karpenter.sh/*/NodePool"]}]}),
    ],
)
def test_a_list_that_does_not_match_the_successor(policy):
    assert [wanted for _path, _seen, wanted in seen_at(policy)] == ["karpenter.sh NodePool"]


def volume(key):
    terms = [{"matchExpressions": [{"key": key, "operator": "In", "values": ["web"]}]}]
    spec = {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}
    return doc("v1", "PersistentVolume", metadata=meta("pv-1"), spec=spec)


RULE = "spec.rules[0].mutate.patchStrategicMerge.metadata.annotations"


def test_a_policy_that_marks_pods_with_a_retired_annotation():
    cluster = a_cluster("0.37.8").with_docs(mutating("karpenter.sh/do-not-evict"))
    cause = row(
        "ClusterPolicy",
        "spare-nodes",
        f"{RULE}[+(karpenter.sh/do-not-evict)]",
        seen="karpenter.sh/do-not-evict",
        wanted="karpenter.sh/do-not-disrupt",
    )
    assert result_of(CHECK, "1.0", cluster) == ("fail", "1 outdated key or version in a policy or volume", (cause,))
    assert finding_of(CHECK, "1.0", cluster).severity == "warning"


def test_while_the_release_heeds_it_nothing_is_wrong():
    cluster = a_cluster("0.32.10", kubernetes="1.28").with_docs(mutating("karpenter.sh/do-not-evict"))
    assert result_of(CHECK, "0.33+", cluster) == GOOD


@pytest.mark.parametrize("key", ["karpenter.sh/do-not-disrupt", "karpenter.sh/nodepool", "example.com/karpenter"])
def test_other_keys(key):
    assert result_of(CHECK, "1.0", a_cluster("0.37.8").with_docs(mutating(key))) == GOOD


@pytest.mark.parametrize(
    ("hop", "start", "kubernetes", "named", "wanted"),
    [
        ("0.33+", "0.32.10", "1.28", "karpenter.sh/v1alpha5/Provisioner", "karpenter.sh/v1beta1"),
        ("1.1+", "1.0.14", "1.29", "karpenter.sh/v1beta1/NodePool", "karpenter.sh/v1"),
        ("1.1+", "1.0.14", "1.29", "karpenter.k8s.aws/v1beta1/EC2NodeClass", "karpenter.k8s.aws/v1"),
    ],
)
def test_a_rule_for_a_version_that_is_not_served_any_more(hop, start, kubernetes, named, wanted):
    matched = kyverno({"rules": [{"match": {"any": [{"resources": {"kinds": [named]}}]}}]})
    found = finding_of(CHECK, hop, a_cluster(start, kubernetes=kubernetes).with_docs(matched))
    (cause,) = found.evidence
    assert (cause.seen, cause.wanted) == (named.rpartition("/")[0], wanted)
    assert cause.path == "spec.rules[0].match.any[0].resources.kinds[0]"


def test_a_version_that_is_served_beside_a_newer_one_is_not_gone():
    matched = kyverno({"rules": [{"match": {"resources": {"kinds": ["karpenter.sh/v1beta1/NodePool"]}}}]})
    assert result_of(CHECK, "1.0", a_cluster("0.37.8").with_docs(matched)) == GOOD


def test_a_volume_that_asks_for_the_old_label():
    cluster = a_cluster("0.32.10", kubernetes="1.28").with_docs(volume("karpenter.sh/provisioner-name"))
    cause = row(
        "PersistentVolume",
        "pv-1",
        "spec.nodeAffinity.required.nodeSelectorTerms",
        seen="karpenter.sh/provisioner-name",
        wanted="karpenter.sh/nodepool",
    )
    assert result_of(CHECK, "0.33+", cluster)[2] == (cause,)
    assert (
        result_of(CHECK, "0.33+", a_cluster("0.32.10", kubernetes="1.28").with_docs(volume("example.com/rack"))) == GOOD
    )


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster("0.37.8"), part=part) == (
        "unknown",
        f"{part} could not be read: forbidden",
    )


def test_the_remedy_finds_the_place():
    found = remedies(CHECK, "1.0", a_cluster("0.37.8").with_docs(mutating("karpenter.sh/do-not-evict")))
    assert parses(found) == ["kubectl"]
    assert found[0].text.splitlines() == [
        "# ClusterPolicy /spare-nodes: karpenter.sh/do-not-evict, now karpenter.sh/do-not-disrupt",
        "kubectl get clusterpolicy spare-nodes -o yaml | grep -nF karpenter.sh/do-not-evict",
    ]
