import pytest

from tests.builders.clusters import asked_hops, remedies
from tests.builders.newest import NEWEST_MINOR
from tests.builders.pools import GONE, a_class, answer, at, found, parses, row, unseen_is_unknown

CHECK = "image_terms_valid"
NO_ID = "the id of an image, in one edit without the annotation v1beta1-ubuntu, which drops it"
TERMS = "spec.amiSelectorTerms"
ALIAS = f"{TERMS}[0].alias"
GOOD = ("pass", "Every node class selects its images as v1 requires")


def v1(terms=GONE, **more):
    changes = {TERMS: terms} | {f"spec.{name}": value for name, value in more.items()}
    return at("1.0.14", a_class(changes))


def bad(path: str, seen: str, wanted: str):
    return "fail", (row("EC2NodeClass", "default", path, seen=seen, wanted=wanted),)


@pytest.mark.parametrize(
    ("alias", "family"),
    [("al2023@latest", GONE), ("al2023@v20260901", "AL2023"), ("bottlerocket@v1.40.0", "Custom"), ("al2@latest", GONE)],
)
def test_an_alias_alone(alias, family):
    assert answer(CHECK, "1.1+", v1([{"alias": alias}], amiFamily=family)) == GOOD


def test_terms_without_alias():
    assert answer(CHECK, "1.1+", v1([{"id": "ami-1"}, {"tags": {"a": "b"}}], amiFamily="AL2")) == GOOD


@pytest.mark.parametrize("nothing", [GONE, None, []])
def test_no_terms(nothing):
    expected = bad(TERMS, "absent", "at least one term: family@VERSION of its family")
    assert found(CHECK, "1.1+", v1(nothing)) == expected


@pytest.mark.parametrize("terms", [[{"alias": "al2@latest"}, {"id": "ami-1"}], [{"alias": "al2@latest", "id": "x"}]])
def test_an_alias_beside_others(terms):
    assert found(CHECK, "1.1+", v1(terms)) == bad(ALIAS, "al2@latest beside other filters", "an alias alone")


def test_an_alias_of_another_family():
    expected = bad(ALIAS, "al2@latest beside amiFamily AL2023", "amiFamily AL2 or none")
    assert found(CHECK, "1.1+", v1([{"alias": "al2@latest"}], amiFamily="AL2023")) == expected


@pytest.mark.parametrize("alias", ["ubuntu@latest", "custom@latest", "al2023", "al2023@", "al3@latest", ""])
def test_an_alias_that_is_none(alias):
    expected = bad(ALIAS, alias, "family@version, such as bottlerocket@v1.40.0")
    assert found(CHECK, "1.1+", v1([{"alias": alias}])) == expected


def test_windows_cannot_be_pinned():
    expected = bad(ALIAS, "windows2022@v1", "windows2022@latest: Windows images cannot be pinned")
    assert found(CHECK, "1.1+", v1([{"alias": "windows2022@v1"}])) == expected


NEW = "a family that 1.1.10 knows: Windows2025 came with 1.9.0"


def newer(terms, **more):
    changes = {TERMS: terms} | {f"spec.{name}": value for name, value in more.items()}
    return at("1.9.0", a_class(changes), kubernetes="1.35")


@pytest.mark.parametrize("family", [GONE, "Windows2025", "Custom"])
def test_a_family_of_the_coming_release(family):
    assert answer(CHECK, NEWEST_MINOR, newer([{"alias": "windows2025@latest"}], amiFamily=family)) == GOOD
    assert answer(CHECK, NEWEST_MINOR, newer([{"id": "ami-1"}], amiFamily="Windows2025")) == GOOD


def test_a_family_newer_than_the_release():
    terms = [{"alias": "windows2025@latest"}]
    assert found(CHECK, "1.1+", v1(terms)) == bad(ALIAS, "windows2025@latest", NEW)
    named = v1([{"id": "ami-1"}], amiFamily="Windows2025")
    assert found(CHECK, "1.1+", named) == bad("spec.amiFamily", "Windows2025", NEW)


def test_the_placeholder_of_the_conversion():
    expected = bad(f"{TERMS}[0].id", "ami-placeholder", NO_ID)
    assert found(CHECK, "1.1+", v1([{"id": "ami-placeholder"}])) == expected


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({"alias": "al2@latest"}, f"{TERMS} is not a list of maps"),
        (["al2@latest"], f"{TERMS} is not a list of maps"),
        ([{"alias": 7}], f"{ALIAS} is not a text"),
    ],
)
def test_odd_values_are_unknown_by_their_field(terms, words):
    assert answer(CHECK, "1.1+", v1(terms)) == ("unknown", f"EC2NodeClass default: {words}")


def test_read_as_v1beta1_it_does_not_arise():
    absent = ("not_applicable", "no EC2NodeClass is read as v1 yet")
    assert answer(CHECK, "1.0", at("0.37.8", a_class(version="v1beta1"))) == absent
    assert asked_hops(CHECK)[0] == "1.0"


def test_unseen():
    unseen_is_unknown(CHECK, "1.1+", version="1.0.14")


def test_the_remedy():
    given = remedies(CHECK, "1.1+", v1([]))
    assert parses(given) == ["kubectl"]
    place = f"{TERMS}; at least one term: family@VERSION of its family"
    assert given[0].text == f"kubectl edit ec2nodeclasses.karpenter.k8s.aws default  # {place}"


def test_terms_without_an_alias_need_a_family():
    expected = bad("spec.amiFamily", "absent", "a family, as no term is an alias")
    assert found(CHECK, "1.1+", v1([{"tags": {"team": "x"}}])) == expected
