"""The free page: manifests that are pasted or uploaded, converted and forgotten."""

import re

import pytest
import yaml
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.web.clusters.conversions import BETA, BROKEN, POOL, TEMPLATE, as_text, cards, downloaded
from tests.web.pages import links, text

pytestmark = pytest.mark.django_db
MIB = 1024 * 1024


def send(client, manifests="", **more):
    return client.post(reverse("convert"), {"manifests": manifests, **more})


def test_the_empty_page_has_a_place_in_the_navigation(ben):
    answer = ben.get(reverse("convert"))
    assert answer.status_code == 200
    assert re.search(r"<a\s+href=\"/convert\"\s+aria-current=\"page\"\s*>Convert</a>", answer.content.decode())
    assert "/convert" in links(ben.get(reverse("catalogue")))


def test_each_object_goes_to_its_next_generation(ben):
    answer = send(ben, as_text(POOL, BETA, TEMPLATE))
    assert answer.status_code == 200
    assert cards(answer) == [
        "AWSNodeTemplate nodes EC2NodeClass nodes Decide first",
        "Provisioner default NodePool default Converted",
        "NodePool beta NodePool beta Converted",
    ]
    assert "<td" in answer.content.decode()


def test_the_text_stays_in_the_box(ben):
    assert (
        "providerRef" in send(ben, as_text(POOL)).content.decode().partition("<textarea")[2].partition("</textarea")[0]
    )


def test_a_bad_document_hides_no_other(ben):
    answer = send(ben, as_text(POOL) + "\n---\nkind: [\n---\n" + as_text(BROKEN) + "\n---\nkind: ConfigMap\n")
    assert cards(answer) == [
        "Provisioner broken Not converted",
        "Provisioner default NodePool default Converted",
        "ConfigMap (no name) Left alone",
    ]
    assert "not YAML" in text(answer)
    assert "pasted, document 2, line" in text(answer)


def test_nothing_to_convert_is_said(ben):
    answer = send(ben, "kind: ConfigMap\nmetadata: {name: a}\n")
    assert "no Provisioner, AWSNodeTemplate, NodePool or EC2NodeClass was found" in text(answer)
    assert 'name="download"' not in answer.content.decode()


@pytest.mark.parametrize("manifests", ["", " \n\t"])
def test_an_empty_form_says_what_is_missing(ben, manifests):
    answer = send(ben, manifests)
    assert (answer.status_code, "This field is required." in text(answer)) == (422, True)


def test_a_file_is_read_and_named(ben):
    file = SimpleUploadedFile("pools.yaml", b"kind: [")
    assert "pools.yaml, document 1" in text(send(ben, file=file))


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"\x80abc", b""])
def test_a_file_that_is_no_text(ben, content):
    answer = send(ben, file=SimpleUploadedFile("x.yaml", content))
    assert (answer.status_code, cards(answer)) == (200, [])


def test_a_file_that_is_too_large(ben):
    answer = send(ben, file=SimpleUploadedFile("x.yaml", b"#" * (MIB + 1)))
    assert (answer.status_code, "Larger than 1 MiB" in text(answer)) == (422, True)


def test_a_text_that_is_too_large_is_refused_before_it_is_read(ben):
    assert send(ben, "#" * (MIB + 1)).status_code == 400


def test_the_download_is_what_the_command_prints(ben):
    name, content = downloaded(send(ben, "# ours\n" + as_text(POOL), download="yaml"))
    assert name == "converted-karpenter.yaml"
    assert content.startswith("# ours\napiVersion: karpenter.sh/v1beta1\n")


@pytest.mark.parametrize(("form", "name"), [("terraform", "karpenter.tf"), ("kustomize", "kustomization.yaml")])
def test_other_downloads(ben, form, name):
    found, content = downloaded(send(ben, as_text(POOL, BETA), to="v1", download=form))
    assert found == f"converted-{name}"
    assert "v1" in content


def test_a_claim_is_shown_and_never_handed_out(ben):
    claim = {
        "apiVersion": "karpenter.sh/v1beta1",
        "kind": "NodeClaim",
        "metadata": {"name": "c"},
        "spec": {"nodeClassRef": {"name": "nodes"}, "requirements": []},
    }
    assert "shown as v1 will show it" in text(send(ben, as_text(claim)))
    assert "NodeClaim" not in downloaded(send(ben, as_text(claim, BETA), download="terraform"))[1]


def test_the_switches(ben):
    documents = downloaded(send(ben, as_text(TEMPLATE), to="v1", role="mine", download="yaml"))[1]
    assert yaml.safe_load(documents)["spec"]["role"] == "mine"
    assert yaml.safe_load(documents)["apiVersion"] == "karpenter.k8s.aws/v1"


def test_nothing_is_stored(ben):
    with CaptureQueriesContext(connection) as asked:
        assert send(ben, as_text(POOL, TEMPLATE)).status_code == 200
    verbs = {query["sql"].split()[0] for query in asked.captured_queries}
    assert verbs <= {"SELECT"}


def test_markup_in_a_manifest_is_only_text(ben):
    evil = {**POOL, "metadata": {"name": "<img src=x onerror=alert(1)>\u202e"}, "spec": {"<b>": "</td><script>"}}
    body = send(ben, as_text(evil)).content.decode()
    assert ("<img" in body, "<script>" in body, "<b>:" in body) == (False, False, False)


def test_a_page_shows_so_many_lines_and_the_files_everything(ben):
    pools = [{**POOL, "metadata": {"name": f"p{i}"}} for i in range(400)]
    answer = send(ben, as_text(*pools))
    assert len(cards(answer)) == 400
    assert "Not shown: the page has reached its limit of lines." in text(answer)
    assert answer.content.decode().count('<td class="old"') < 7000
    assert downloaded(send(ben, as_text(*pools), download="yaml"))[1].count("kind: NodePool") == 400


def test_a_class_without_a_spec_beside_its_pool(ben):
    bare = {"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": {"name": "nodes"}}
    answer = send(ben, as_text(BETA, bare))
    assert answer.status_code == 200
    assert "NodePool beta NodePool beta Converted" in cards(answer)
