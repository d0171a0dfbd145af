import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import HelmChange
from tests.builders.clusters import a_cluster, an_empty_cluster, reads, remedies, result_of, result_without

CHECK = "image_follows_chart"
GOOD = ("pass", "The controller's image follows the chart", ())
DIGEST = "sha256:" + "1" * 64


def pinned(**image: object):
    return a_cluster().with_values({"controller": {"image": image}})


def a_row(key: str, seen: str, wanted: str) -> Evidence:
    path = f"config.controller.image.{key}"
    return Evidence(kind="HelmRelease", namespace="kube-system", name="karpenter", path=path, seen=seen, wanted=wanted)


OLD_DIGEST = a_row("digest", DIGEST, "absent, or that of the same image")


@pytest.mark.parametrize(
    "image",
    [
        {},
        {"repository": "registry.example/karpenter/controller"},
        {"tag": "1.0.14"},
        {"tag": "v1.0.14-mirror.2", "digest": DIGEST},
        {"tag": "", "digest": ""},
        {"tag": None},
    ],
)
def test_the_image_of_the_chart(image):
    assert result_of(CHECK, "1.0", pinned(**image)) == GOOD


@pytest.mark.parametrize("tag", ["0.37.8", "v0.37.8", "0.37.8-internal.1", "1.0.13"])
def test_a_tag_of_another_release(tag):
    row = a_row("tag", tag, "1.0.14")
    assert result_of(CHECK, "1.0", pinned(tag=tag)) == ("fail", "1 Helm value keeps the controller's image", (row,))


def test_a_digest_is_of_one_image():
    assert result_of(CHECK, "1.0", pinned(digest=DIGEST)) == (
        "fail",
        "1 Helm value keeps the controller's image",
        (OLD_DIGEST,),
    )
    both = (a_row("tag", "0.37.8", "1.0.14"), OLD_DIGEST)
    assert result_of(CHECK, "1.0", pinned(tag="0.37.8", digest=DIGEST)) == (
        "fail",
        "2 Helm values keep the controller's image",
        both,
    )


def test_values_that_are_not_known():
    found = result_of(CHECK, "1.0", a_cluster().without("helm_releases"))
    why = "Helm values of chart karpenter not found: no Helm record and no Flux or Argo CD object has them"
    assert found == ("unknown", why, ())


def test_without_a_controller_there_is_nothing_to_ask():
    found = result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8")
    assert found == ("not_applicable", "there is no Karpenter Deployment", ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_names_the_image_of_the_hop():
    given = remedies(CHECK, "1.0", pinned(tag="0.37.8", digest=DIGEST))[0]
    assert isinstance(given.change, HelmChange)
    assert given.change.when == "landing"
    assert {value.key: value.text for value in given.change.values} == {
        "controller.image.tag": '"1.0.14"',
        "controller.image.digest": '""',
    }
