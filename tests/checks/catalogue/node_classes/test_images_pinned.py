import pytest

from migrations_app.checks.changes import leaves
from tests.builders.clusters import asked_hops, finding_of, remedies
from tests.builders.pools import a_class, answer, at, found, parses, row, unseen_is_unknown

CHECK = "images_pinned"
TERMS = "spec.amiSelectorTerms"
WANTED = "a pinned release: al2023@VERSION"
AL2 = "amazon-eks-node-1.29-v20240807"
AL2023 = "amazon-eks-node-al2023-x86_64-standard-1.29-v20240904"
BOTTLEROCKET = "bottlerocket-aws-k8s-1.29-aarch64-v1.21.1-82691b51"
GOOD = ("pass", "Every node class pins its image version")


def v1(alias: str):
    return at("1.0.14", a_class({TERMS: [{"alias": alias}]}))


@pytest.mark.parametrize("alias", ["al2023@v20260901", "bottlerocket@v1.40.0", "windows2022@latest"])
def test_a_pinned_alias(alias):
    assert answer(CHECK, "1.1+", v1(alias)) == GOOD


def test_the_newest_by_alias():
    cause = row("EC2NodeClass", "default", f"{TERMS}[0].alias", seen="al2023@latest", wanted=WANTED)
    assert found(CHECK, "1.1+", v1("al2023@latest")) == ("fail", (cause,))


def test_the_newest_by_family():
    seen = "absent: the newest image of AL2023"
    cause = row("EC2NodeClass", "default", TERMS, seen=seen, wanted="a pinned release, once v1 is read: al2023@VERSION")
    assert found(CHECK, "1.0", at("0.37.8", a_class(version="v1beta1"))) == ("fail", (cause,))


@pytest.mark.parametrize("changes", [{TERMS: [{"id": "ami-1"}]}, {"spec.amiFamily": "Custom"}])
def test_named_images_of_v1beta1(changes):
    assert answer(CHECK, "1.0", at("0.37.8", a_class(changes, version="v1beta1"))) == GOOD


@pytest.mark.parametrize("odd", ["al2023@latest", {"alias": "x"}, [7]])
def test_odd_values_are_unknown_by_their_field(odd):
    told = ("unknown", f"EC2NodeClass default: {TERMS} is not a list of maps")
    assert answer(CHECK, "1.1+", at("1.0.14", a_class({TERMS: odd}))) == told


def test_without_classes_it_does_not_arise():
    assert answer(CHECK, "1.0", at("0.37.8")) == ("not_applicable", "there is no EC2NodeClass yet")
    assert (asked_hops(CHECK)[0], finding_of(CHECK, "1.0", at("0.37.8")).severity) == ("1.0", "info")


def test_unseen():
    unseen_is_unknown(CHECK, "1.1+", version="1.0.14")


@pytest.mark.parametrize(
    ("family", "images", "wanted"),
    [
        ("AL2", (AL2, AL2.replace("node-", "node-arm64-")), "al2@v20240807"),
        ("AL2023", (AL2023,), "al2023@v20240904"),
        ("AL2023", (AL2023, AL2023.replace("0904", "0905")), "al2023@VERSION"),
        ("AL2023", ("golden-v20240904",), "al2023@VERSION"),
        ("AL2023", (), "al2023@VERSION"),
        ("Bottlerocket", (BOTTLEROCKET,), "bottlerocket@v1.21.1"),
        ("Bottlerocket", ("$(reboot)",), "bottlerocket@VERSION"),
        ("Ubuntu", (AL2023,), "images by id, name or tags, as Ubuntu has no alias"),
        ("Windows2022", (), "images by id, as windows2022 has no alias but @latest"),
    ],
)
def test_each_family_is_pinned_by_what_runs_and_no_release_is_made_up(family, images, wanted):
    changes = {"spec.amiFamily": family, "status.amis": [{"id": "ami-1", "name": name} for name in images]}
    _, (cause,) = found(CHECK, "1.0", at("0.37.8", a_class(changes, version="v1beta1")))
    assert cause.wanted == f"a pinned release, once v1 is read: {wanted}"


def test_the_remedy():
    found = remedies(CHECK, "1.1+", v1("al2023@latest"))
    assert parses(found) == ["kubectl"]
    note, look, edit = found[0].text.splitlines()
    name = "ec2nodeclasses.karpenter.k8s.aws default"
    assert edit == f"kubectl edit {name}  # {TERMS}[0].alias; {WANTED}"
    columns = "'custom-columns=NAME:.metadata.name,IMAGES:.status.amis[*].name'"
    assert (note[:12], look) == ("# Look first", f"kubectl get {name} -o {columns}")


def test_where_a_tool_keeps_the_class_the_fix_is_in_its_source():
    kept = a_class({TERMS: [{"alias": "al2023@latest"}]})
    tracked = "pools:karpenter.k8s.aws/EC2NodeClass:/default"
    kept["metadata"]["annotations"] = {"argocd.argoproj.io/tracking-id": tracked}
    first, _ = remedies(CHECK, "1.1+", at("1.0.14", kept))
    assert (first.how, "status.amis" in first.text) == ("argocd", True)


def test_a_release_that_runs_is_written_without_looking_it_up():
    one = a_class({TERMS: [{"alias": "al2023@latest"}], "status.amis": [{"name": AL2023}]})
    (patch,) = remedies(CHECK, "1.1+", at("1.0.14", one))
    (step,) = leaves(patch.change)
    path = "/spec/amiSelectorTerms/0/alias"
    assert step.body == (
        {"op": "test", "path": path, "value": "al2023@latest"},
        {"op": "replace", "path": path, "value": "al2023@v20240904"},
    )
    assert step.undo.body == (
        {"op": "test", "path": path, "value": "al2023@v20240904"},
        {"op": "replace", "path": path, "value": "al2023@latest"},
    )
