"""The IAM tab in a real browser: access, fit, fold-outs, tabs and downloads, with and without script."""

import json
import os
import zlib
from pathlib import Path

import msgspec
import pytest
from playwright.sync_api import expect

from migrations_app.inventory.objects.aws import CrossCheck
from migrations_app.inventory.parts import Seen, Unseen
from tests.browser.barriers import WIDTHS, faults
from tests.builders.newest import NEWEST, NEWEST_MINOR
from tests.builders.rows import a_cluster, a_report, a_snapshot
from tests.builders.sheet import ARN, a_controller_role, a_document, a_sheet, allow, needed_by, text_of

HOPS = (("0.32", "0.32.10"), ("0.33+", "0.37.8"), ("1.0", "1.0.14"), ("1.1+", "1.1.10"), (NEWEST_MINOR, NEWEST))
PICTURES = os.environ.get("KARPDASH_PICTURES", "")
"""A folder for pictures of the pages, for people to look at."""


def with_sheet(name, sheet):
    """A scanned cluster with that sheet."""
    cluster = a_cluster(name, environment="production")
    snapshot = a_snapshot(cluster, a_report(name))
    snapshot.content.iam = zlib.compress(msgspec.json.encode(sheet))
    snapshot.content.save()
    return f"/clusters/{cluster.pk}/iam"


def a_mixed_sheet():
    """Every kind of answer: allowed, missing, denied, blocked by condition and by resource, unknown, with a setting."""
    statements = json.loads(needed_by("0.31.4"))["Statement"]
    deny = {"Effect": "Deny", "Action": "sqs:DeleteMessage", "Resource": "*"}
    here = allow("iam:GetInstanceProfile", "iam:CreateInstanceProfile", resource="arn:aws:iam::444455556666:role/*")
    address = {"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}
    kept = [one for one in statements if "pricing:GetProducts" not in one["Action"]]
    main = text_of(*kept, deny, here, allow("pricing:GetProducts", Condition=address))
    queue = a_document(text_of(allow("sqs:*")), name="interruption", kind="inline")
    odd = CrossCheck(release="1.0.14", role_arn=ARN, action="iam:PassRole", ours="allowed", theirs="explicitDeny",
                     resource="arn:aws:iam::444455556666:role/KarpenterNodeRole-shop", agreement="disagree",
                     because="a policy of the organisation does not let it through")  # fmt: skip
    door = a_controller_role(arn=ARN + "-door", policies=Unseen("forbidden", "iam:ListRolePolicies"))
    role = a_controller_role(a_document(main), queue, found_by="assume_role")
    return a_sheet(door, role, hops=HOPS, simulation=Seen((odd,)))


@pytest.fixture
def mixed(transactional_db):
    return with_sheet("shop-prod", a_mixed_sheet())


@pytest.fixture
def unseen(transactional_db):
    return with_sheet("shop-dark", a_sheet(controller_roles=Unseen("forbidden", "eks:DescribeCluster"), hops=HOPS))


def picture(page, name):
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True)


@pytest.mark.parametrize("width", WIDTHS)
def test_no_barriers_and_no_sideways_scroll(browse, mixed, unseen, width):
    page = browse(viewport={"width": width, "height": 800})
    for name, path in (("mixed", mixed), ("unseen", unseen)):
        page.goto(path)
        picture(page, f"{name}-light-{width}")
        assert (name, faults(page)) == (name, [])
        picture(page, f"{name}-dark-{width}-open")


def test_a_row_tells_cause_and_log(browse, mixed):
    page = browse()
    page.goto(f"{mixed}#need-iam-createinstanceprofile")
    row = page.locator("#need-iam-createinstanceprofile")
    expect(row.get_by_text("creating instance profile ... AccessDenied").first).to_be_visible()
    expect(row.get_by_text("does not name arn:aws:iam::444455556666:instance-profile").first).to_be_visible()


def test_forms_of_the_patch_and_its_download(browse, mixed):
    page = browse()
    page.goto(mixed)
    page.locator("a[href*='release=0.32.10']").first.click()
    page.get_by_text("CloudFormation", exact=True).click()
    expect(page.get_by_text('"AWSTemplateFormatVersion"')).to_be_visible()
    with page.expect_download() as waiting:
        page.locator(".remedy-panel:visible").get_by_role("link", name="Download").click()
    assert waiting.value.suggested_filename == "shop-prod-karpenter-0.32.10-cloudformation.json"
    assert json.loads(waiting.value.path().read_text())["AWSTemplateFormatVersion"] == "2010-09-09"


def test_without_script(browse, mixed):
    page = browse(java_script_enabled=False)
    page.goto(mixed)
    page.locator("#need-sqs-deletemessage summary").click()
    expect(page.locator("#need-sqs-deletemessage").get_by_text("denies it").first).to_be_visible()
    page.get_by_text("Terraform", exact=True).click()
    expect(page.get_by_text('resource "aws_iam_policy"').first).to_be_visible()
    with page.expect_download() as waiting:
        page.locator(".remedy-panel:visible").get_by_role("link", name="Download").click()
    assert waiting.value.suggested_filename.endswith("-terraform.tf")
