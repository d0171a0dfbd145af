"""The IAM tab: the matrix, the patch in every form, roles; downloads; without a look into AWS and without a sheet."""

import json
import re
import zlib
from html import unescape

import msgspec
import pytest
from django.urls import reverse

from migrations_app.inventory.objects.aws import CrossCheck
from migrations_app.inventory.parts import Seen, Unseen
from migrations_app.readiness.iam_sheet.values import IamCell
from migrations_app.web.clusters.iam import chosen_of, groups, style_of
from tests.builders.rows import a_cluster, a_report, a_snapshot
from tests.builders.sheet import (
    ARN,
    EVERYTHING,
    NODES,
    a_controller_role,
    a_document,
    a_sheet,
    a_site,
    allow,
    needed_by,
    text_of,
)
from tests.fakes.aws_inventory import node_class
from tests.web.pages import links, text

pytestmark = pytest.mark.django_db
OLD = needed_by("0.31.4")
DENY_PASS = {"Effect": "Deny", "Action": "iam:PassRole", "Resource": "*"}


def with_sheet(sheet, report=None, *, name="shop-prod"):
    cluster = a_cluster(name)
    snapshot = a_snapshot(cluster, report or a_report(name))
    snapshot.content.iam = zlib.compress(msgspec.json.encode(sheet))
    snapshot.content.save()
    return cluster


def show(client, cluster, **asked):
    return client.get(reverse("cluster-iam", args=[cluster.pk]), asked)


def shown(client, *roles, **more):
    return show(client, with_sheet(a_sheet(*roles, **more)))


def needs(answer):
    """The text of each row of the matrix, folded."""
    found = re.findall(r'<details class="need .*?</summary>', answer.content.decode(), flags=re.DOTALL)
    return [re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", row.replace("<wbr>", "")))).strip() for row in found]


def titles(answer):
    return re.findall(r'<div class="section [^"]*">.*?<h3>(.*?)</h3>', answer.content.decode(), flags=re.DOTALL)


def tabs(answer):
    return re.findall(r'<label for="patch-\d+-[a-z]+">(.*?)</label>', answer.content.decode())


def test_a_cluster_never_scanned(ben):
    assert "Never scanned" in text(show(ben, a_cluster()))


def test_a_snapshot_older_than_the_sheet(ben):
    cluster = a_cluster()
    a_snapshot(cluster)
    assert "Scan again to fill this page." in text(show(ben, cluster))


def test_no_karpenter(ben):
    cluster = a_cluster()
    a_snapshot(cluster, stage="no_karpenter")
    assert "No controller runs here that would need any." in text(show(ben, cluster))


def test_a_release_that_is_not_known(ben):
    answer = shown(ben, a_controller_role(OLD), hops=(), running="")
    assert "Running version unknown" in text(answer)
    assert ARN in text(answer).replace("/ ", "/")


def test_the_matrix(ben):
    answer = shown(ben, a_controller_role(OLD))
    assert titles(answer) == ["Refused", "Refused with a setting", "Conditional", "Allowed"]
    rows = needs(answer)
    assert "iam:CreateInstanceProfile 0.31.4 \u2013 Not needed 0.32.10 Missing 0.37.8 Missing 1.0.14 Missing" in rows
    assert "ec2:DescribeImages 0.31.4 Allowed 0.32.10 Allowed 0.37.8 Allowed 1.0.14 Allowed" in rows
    assert "Missing: no statement names the action" in text(answer)


def test_what_a_setting_asks_for_is_apart_from_what_is_always_needed():
    by_title = {group.look.word: group for group in groups(a_sheet(a_controller_role(OLD)))}
    always, by_setting = by_title["Refused"], by_title["Refused with a setting"]
    assert (always.look.note, by_setting.look.note) == ("always needed", "needed with a setting that is on here")
    assert "ec2:CreateFleet" in {line.action for line in always.lines}  # only one of its resources hangs on a setting
    assert {line.action for line in by_setting.lines} >= {"iam:CreateInstanceProfile", "iam:DeleteInstanceProfile"}
    assert not {line.action for line in always.lines} & {line.action for line in by_setting.lines}


def test_a_row_opens_to_cause_effect_and_log(ben):
    said = text(shown(ben, a_controller_role(OLD)))
    assert (
        "Missing 0.32.10, 0.37.8, 1.0.14 Cause no statement allows the action Effect A new node class, and from 1.7 one"
        " with a changed spec. role, never gets a profile. Needed for instance-profile, on instance-profile When a node"
        " class uses spec.role Logged creating instance profile . . . AccessDenied"
    ) in said.replace("spec.role, never", "spec. role, never")


HERE = {"Condition": {"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}}
REFUSES = "Permissions boundary Refuses it and has to be extended as well. Effect A new node class"
MAY_REFUSE = "Permissions boundary It is not certain that it lets it through. Effect A new node class"


@pytest.mark.parametrize(
    ("boundary", "told"),
    [((), ()), ((EVERYTHING,), ()), ((allow("ec2:*"),), (REFUSES,)), ((EVERYTHING | HERE,), (MAY_REFUSE,))],
)
def test_a_row_says_that_the_permissions_boundary_refuses_it_too(ben, boundary, told):
    limit = Seen((a_document(text_of(*boundary), name="limit"),) if boundary else ())
    said = text(shown(ben, a_controller_role(OLD, boundary=limit)))
    assert tuple(one for one in (REFUSES, MAY_REFUSE) if one in said) == told
    assert ("the permissions boundary has to be extended as well, it does not let through" in said) is (
        told == (REFUSES,)
    )


def test_the_next_hop_is_chosen_unless_another_release_is_asked_for(ben):
    sheet = a_sheet(a_controller_role(OLD))
    cluster = with_sheet(sheet)
    assert "Policy to add before 0.32.10" in text(show(ben, cluster))
    assert "Policy to add before 1.0.14" in text(show(ben, cluster, release="1.0.14"))
    assert "What 0.31.4 lacks today" in text(show(ben, cluster, release="0.31.4"))
    assert "Policy to add before 0.32.10" in text(show(ben, cluster, release="<b>"))
    assert chosen_of(sheet, release="", next_hop="9.9").release == "1.0.14"


def test_every_form_of_the_patch(ben):
    answer = shown(ben, a_controller_role(OLD))
    assert tabs(answer) == ["JSON", "CloudFormation", "Terraform", "EKS module", "Merged", "New role"]
    body = unescape(answer.content.decode())
    assert 'resource "aws_iam_policy" "karpenter_0_32_10_gaps_1"' in body
    assert "enable_karpenter_instance_profile_creation = true" in body
    assert "On the role today Keep it until a rollback is no longer needed. controller (managed policy)" in text(answer)
    assert "To be attached Before the controller moves to 0.32.10." in text(answer)


def test_downloads(ben):
    cluster = with_sheet(a_sheet(a_controller_role(OLD)))
    wanted = {
        "json-1": ("application/json", "shop-prod-karpenter-0.32.10-json-1.json"),
        "whole-1": ("application/json", "shop-prod-karpenter-0.32.10-whole-1.json"),
        "merged-1": ("application/json", "shop-prod-karpenter-0.32.10-merged-1.json"),
        "merged-2": ("application/json", "shop-prod-karpenter-0.32.10-merged-2.json"),
        "cloudformation": ("application/json", "shop-prod-karpenter-0.32.10-cloudformation.json"),
        "terraform": ("text/plain", "shop-prod-karpenter-0.32.10-terraform.tf"),
        "module-21.19": ("text/plain", "shop-prod-karpenter-0.32.10-module-21.19.tf"),
    }
    offered = [link for link in links(show(ben, cluster)) if "download=" in link]
    assert len(offered) == len(set(offered)) == 10
    for form, (kind, name) in wanted.items():
        assert f"?release=0.32.10&download={form}&role=0" in offered
        file = show(ben, cluster, release="0.32.10", download=form, role="0")
        assert (file["Content-Type"], file["Content-Disposition"]) == (
            f"{kind}; charset=utf-8",
            f'attachment; filename="{name}"',
        )
        assert kind != "application/json" or json.loads(file.content)


@pytest.mark.parametrize("asked", [{"download": "json-9"}, {"download": "../x"}, {"download": "json-1", "role": "7"}])
def test_a_download_that_is_not_there(ben, asked):
    assert show(ben, with_sheet(a_sheet(a_controller_role(OLD))), **asked).status_code == 404


def test_nothing_to_add(ben):
    answer = shown(ben, a_controller_role(text_of(EVERYTHING)))
    assert "Nothing has to be added. What is on the role is enough for 0.32.10." in text(answer)
    assert tabs(answer) == ["New role"]
    assert "Side by side" not in text(answer)
    assert "Nothing: each statement is still of use to 0.32.10, or not one of Karpenter's." in text(answer)
    assert titles(answer) == ["Allowed"]


def test_what_no_statement_lifts(ben):
    said = text(shown(ben, a_controller_role(text_of(EVERYTHING, DENY_PASS))))
    assert "iam:PassRole: no added statement helps, controller: Statement[1 ] denies it".replace(" ]", "]") in (
        said.replace("[ 1] ", "[1] ").replace("[ 1]", "[1]")
    )


def test_what_may_go(ben):
    rows = shown(ben, a_controller_role(text_of(EVERYTHING, allow("iam:GetRole") | {"Sid": "Idle"})))
    assert re.search(r"controller: Statement\[ ?1\] ?\(Idle\) whole statement", text(rows))


def test_several_roles_have_a_patch_each(ben):
    other = a_controller_role(text_of(EVERYTHING), arn=ARN + "-two")
    cluster = with_sheet(a_sheet(a_controller_role(OLD), other))
    answer = show(ben, cluster)
    assert re.findall(r'id="(patch-\d)"', answer.content.decode()) == ["patch-0", "patch-1"]
    assert len(re.findall(r'id="patch"', answer.content.decode())) == 1
    file = show(ben, cluster, download="whole-1", role="1")
    assert 'filename="shop-prod-karpenter-0.32.10-role-2-whole-1.json"' in file["Content-Disposition"]


def test_without_a_look_into_aws(ben):
    answer = shown(ben, controller_roles=Unseen("forbidden", "may not"))
    said = text(answer)
    assert "The controller's permissions could not be read. Forbidden" in said
    assert "may not." in said
    assert "ec2:CreateFleet 0.31.4 Unknown 0.32.10 Unknown 0.37.8 Unknown 1.0.14 Unknown" in needs(answer)
    assert not any("Missing" in row or "Allowed" in row for row in needs(answer))
    assert titles(answer)[:2] == ["Needed", "Needed with a setting"]
    assert tabs(answer) == ["JSON", "CloudFormation", "Terraform", "New role"]
    assert "For 0.31.4 Keep it until a rollback is no longer needed." in said
    assert "Cannot tell for 0.32.10 The role could not be read." in said


def test_the_first_release_has_nothing_before_it(ben):
    cluster = with_sheet(a_sheet(controller_roles=Unseen("forbidden", "may not")))
    assert "Side by side" not in text(show(ben, cluster, release="0.31.4"))


def test_a_release_beyond_the_tables(ben):
    said = text(show(ben, with_sheet(a_sheet(a_controller_role(OLD), hops=(("9.9", "9.9.9"),))), release="9.9.9"))
    assert "permissions are known for 0.28 to 0.37" in said


def test_roles_and_sizes(ben):
    door = a_controller_role(arn=ARN + "-door", policies=Unseen("forbidden", "may not"), role=Seen(()))
    limit = a_document(text_of(EVERYTHING), name="limit")
    inline = a_document(text_of(EVERYTHING), name="own", kind="inline")
    said = text(shown(ben, door, a_controller_role(inline, found_by="assume_role", boundary=Seen((limit,)))))
    assert "AWS has none Used to assume another role policies Forbidden" in said
    assert f"own inline inline {inline.size} of 10,240" in said
    assert f"managed policy, permissions boundary {limit.size} of 6,144" in said
    assert f"All inline documents together they share one limit {inline.size} of 10,240" in said
    assert "role that the settings tell the controller to assume kube-system/karpenter" in said


@pytest.mark.parametrize(
    ("simulation", "expected"),
    [
        (Unseen("forbidden", "may not"), "AWS did not simulate the requests. Forbidden"),
        (Seen(()), "AWS agrees. 0 requests match."),
    ],
)
def test_beside_the_simulation(ben, simulation, expected):
    assert expected in text(shown(ben, a_controller_role(OLD), simulation=simulation))


def test_where_aws_judges_otherwise(ben):
    odd = CrossCheck(release="1.0.14", role_arn=ARN, action="iam:PassRole", resource="r", ours="allowed",
                     theirs="explicitDeny", agreement="disagree", because="an SCP")  # fmt: skip
    said = text(shown(ben, a_controller_role(OLD), simulation=Seen((odd,))))
    assert "cannot tell on 0, and differs on these." in said
    assert "iam:PassRole r 1.0.14 allowed explicitDeny an SCP" in said


def test_names_that_nobody_told(ben):
    inventory = a_site(ec2nodeclasses=(node_class(role=NODES),))
    sheet = a_sheet(a_controller_role(OLD), inventory=inventory)
    stand_ins = msgspec.structs.replace(sheet.names, stand_ins=("account not told: 000000000000 stands in for it",))
    said = text(show(ben, with_sheet(msgspec.structs.replace(sheet, names=stand_ins))))
    assert "account not told: 000000000000 stands in for it" in said


def test_hostile_names_are_shown_and_do_nothing(ben):
    nasty = '<script>alert(1)</script>\u202e"'
    role = a_controller_role(a_document(text_of(DENY_PASS | {"Sid": nasty}), name=nasty), arn=ARN + nasty)
    body = shown(ben, role).content.decode()
    assert "<script>alert" not in body
    assert "\u202e" not in body
    assert "&lt;script&gt;" in body


@pytest.mark.parametrize(
    ("cell", "tone", "word"),
    [
        (IamCell(), "muted", "Not needed"),
        (IamCell(verdict="allowed", required="always"), "pass", "Allowed"),
        (IamCell(verdict="unknown", required="always"), "unknown", "Unknown"),
        (IamCell(verdict="missing", required="always", severity="blocker"), "blocker", "Missing"),
        (IamCell(verdict="denied", required="always", severity="degraded"), "warning", "Denied"),
        (IamCell(verdict="blocked_by_condition", required="conditional", severity="blocker"), "muted", "Condition"),
        (IamCell(verdict="blocked_by_resource", required="always", severity="blocker"), "blocker", "Resource"),
    ],
)
def test_the_look_of_a_cell(cell, tone, word):
    assert (style_of(cell).tone, style_of(cell).word) == (tone, word)


def test_each_row_is_in_exactly_one_group():
    sheet = a_sheet(a_controller_role(OLD))
    lines = [line.id for group in groups(sheet) for line in group.lines]
    assert len(lines) == len(set(lines)) == len(sheet.rows)


def test_an_older_snapshot_shows_its_own_sheet(ben):
    cluster = with_sheet(a_sheet(a_controller_role(OLD)))
    old = cluster.latest_id
    a_snapshot(cluster, a_report("shop-prod", legacy={"Machine": 9}))
    assert "Scan again to fill this page." in text(show(ben, cluster))
    assert "Policy to add before 0.32.10" in text(show(ben, cluster, at=str(old)))


def test_only_looking_is_allowed(ben):
    assert ben.post(reverse("cluster-iam", args=[a_cluster().pk])).status_code == 405
