import pytest

from migrations_app.checks.values import Evidence
from migrations_app.karpenter.fix_rows import KNOWN_FIXES
from migrations_app.karpenter.releases import find
from migrations_app.karpenter.versions import release
from tests.builders import a_cluster, an_empty_cluster, blind, reads, remedies, told

CHECK = "known_fixes_running"
GOOD = ("pass", "The running patch has the known fixes", ())
FAULT = "what one selector finds may be given to a node class with another"


def a_row(running: str, wanted: str) -> tuple[Evidence, ...]:
    path, seen = "spec.template.spec.containers[].image", f"{running}: {FAULT}"
    what = {"kind": "Deployment", "namespace": "kube-system", "name": "karpenter"}
    return (Evidence(**what, path=path, seen=seen, wanted=wanted),)


def test_a_patch_with_the_fix():
    assert told(CHECK, "1.0", a_cluster()) == GOOD


@pytest.mark.parametrize(
    ("version", "wanted"), [("0.37.7", "0.37.8 or later"), ("0.36.9", "no patch of 0.36 has it mended")]
)
def test_a_patch_without_it(version, wanted):
    found = told(CHECK, "1.0", a_cluster(version))
    assert found == ("fail", "1 known fault is not mended in the running patch", a_row(version, wanted))


def test_later_minors_have_it():
    assert told(CHECK, "1.14", a_cluster("1.13.1", kubernetes="1.34")) == GOOD


def test_every_patch_named_was_tagged():
    for text in KNOWN_FIXES[0].fixed:
        assert find(release(text)).knows(release(text)), text


def test_without_a_controller_there_is_nothing_to_ask():
    found = told(CHECK, "1.0", an_empty_cluster(), start="0.37.8")
    assert found == ("not_applicable", "there is no Karpenter Deployment", ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert blind(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_is_the_newest_patch():
    assert "--version 0.37.8" in remedies(CHECK, "1.0", a_cluster("0.37.7"))[0].text
