"""Sources of checks lead to the file or the issue that they name; nothing else in them is a link."""

import re

import pytest

from migrations_app.checks.registry import all_checks
from migrations_app.templatetags.source_links import HOST, source

PROVIDER = "aws/karpenter-provider-aws"


def links(text):
    return re.findall(r'<a href="([^"]+)" rel="noreferrer">([^<]+)</a>', source(text))


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (f"{PROVIDER}@v1.14.1:website/content/en/v1.0/a.md", f"{PROVIDER}/blob/v1.14.1/website/content/en/v1.0/a.md"),
        ("aws/amazon-vpc-cni-k8s:docs/prefix.md", "aws/amazon-vpc-cni-k8s/blob/HEAD/docs/prefix.md"),
        (f"{PROVIDER}#6288", f"{PROVIDER}/issues/6288"),
    ],
)
def test_a_file_or_an_issue_is_one_link(text, address):
    assert links(text) == [(f"{HOST}/{address}", text)]


def test_further_issues_are_of_the_same_repository():
    found = source("a/b#1, #2; c/d#3")
    assert re.findall(r'href="([^"]+)"', found) == [
        f"{HOST}/{tail}" for tail in ("a/b/issues/1", "a/b/issues/2", "c/d/issues/3")
    ]
    assert re.sub(r"<[^>]+>", "", found) == "a/b#1, #2; c/d#3"


@pytest.mark.parametrize(
    "text",
    [
        "AWS IAM User Guide, policy evaluation logic",
        "#12",
        "kubernetes/kubernetes: condition Terminating",
        "javascript:alert(1)",
    ],
)
def test_words_are_no_link(text):
    assert links(text) == []


def test_what_is_in_it_is_escaped():
    assert "<b>" not in source("<b>a/b#1</b>")


def test_every_check_that_names_a_repository_leads_there():
    every = {text for check in all_checks() for text in check.sources if "/" in text.partition(" ")[0]}
    assert sorted(text for text in every if "href=" not in source(text)) == [
        "hashicorp/terraform-provider-kubernetes: resource kubernetes_manifest, changes that replace",
        "kubernetes/kubernetes: CustomResourceDefinition condition Terminating",
        "kubernetes/kubernetes: CustomResourceDefinition versioning, webhook conversion",
    ]
