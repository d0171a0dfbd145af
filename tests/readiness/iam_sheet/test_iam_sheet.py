"""The sheet of permissions: columns, cells, patches, roles; with and without a look into AWS."""

import json
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from migrations_app.iam.policy import parse_policy
from migrations_app.iam.requirements.gaps import find_gaps
from migrations_app.inventory.objects.aws import CrossCheck
from migrations_app.inventory.objects.karpenter import Machine, Provisioner
from migrations_app.inventory.parts import NOT_ASKED, Seen, UnparsableObject, Unseen
from migrations_app.readiness.iam_sheet.build import IamSheet, iam_sheet
from migrations_app.readiness.iam_sheet.values import (
    IamCell,
    IamDisagreement,
    IamDocument,
    IamNames,
    IamRole,
    IamSimulation,
    IamUnread,
)
from tests import upstream
from tests.builders.sheet import (
    ARN,
    EVERYTHING,
    HOPS,
    SITE,
    a_controller_role,
    a_document,
    a_sheet,
    a_site,
    allow,
    needed_by,
    saw_roles,
    text_of,
)
from tests.fakes.aws_inventory import an_inventory, node_class

ADMIN = text_of(EVERYTHING)
DENY_PASS = {"Effect": "Deny", "Action": "iam:PassRole", "Resource": "*"}
GONE = {"provisioners": (), "machines": ()}


def column(sheet, release):
    (place,) = [n for n, one in enumerate(sheet.columns) if one.release == release]
    return sheet.columns[place], {
        (row.action, row.legacy): row.cells[place] for row in sheet.rows if row.cells[place].verdict != "not_needed"
    }


def open_cells(sheet, release):
    """Verdict and whether it is always needed, of each cell that is not allowed."""
    cells = column(sheet, release)[1]
    return {key: (one.verdict, one.required) for key, one in cells.items() if one.verdict != "allowed"}


def verdicts(sheet):
    return [(one.hop, one.release, one.ok) for one in sheet.columns]


def read_back(documents):
    return [parse_policy(json.dumps(one.document)) for one in documents]


def test_a_role_that_may_do_everything():
    sheet = a_sheet(a_controller_role(ADMIN))
    assert verdicts(sheet) == [
        ("", "0.31.4", "yes"),
        ("0.32", "0.32.10", "yes"),
        ("0.33+", "0.37.8", "yes"),
        ("1.0", "1.0.14", "yes"),
    ]
    assert {cell.verdict for row in sheet.rows for cell in row.cells} == {"allowed", "not_needed"}
    assert [(one.refused, one.doubtful, one.conditional) for one in sheet.columns] == [(0, 0, 0)] * 4
    assert [one.patches[0].documents for one in sheet.columns] == [()] * 4
    assert sheet.columns[1].patches[0].remarks == ("no statement has to be added",)
    assert (sheet.seen, sheet.why) == (True, "")


def test_an_older_document_lacks_what_the_next_releases_brought():
    sheet = a_sheet(a_controller_role(needed_by("0.31.4")), inventory=a_site(**GONE))
    assert [one.ok for one in sheet.columns] == ["yes", "no", "no", "no"]
    found, cells = column(sheet, "0.32.10")
    assert cells["iam:CreateInstanceProfile", False] == IamCell(
        verdict="missing",
        required="always",
        severity="blocker",
        when="a node class uses spec.role",
        resource=("instance-profile",),
        needed_for=("instance-profile",),
        effect="A new node class, and from 1.7 one with a changed spec.role, never gets a profile.",
        causes=("no statement allows the action",),
        logs=("creating instance profile ... AccessDenied",),
    )
    assert cells["ec2:CreateLaunchTemplate", False].verdict == "blocked_by_condition"
    assert cells["ec2:DescribeImages", False].verdict == "allowed"
    always = [one for one in open_cells(sheet, "0.32.10").values() if one[1] == "always"]
    assert (found.refused, found.doubtful) == (len(always), 0)


def test_the_first_column_knows_nothing_of_what_comes_later():
    sheet = a_sheet(a_controller_role(ADMIN))
    (row,) = [one for one in sheet.rows if one.action == "iam:CreateInstanceProfile"]
    assert [cell.verdict for cell in row.cells] == ["not_needed", "allowed", "allowed", "allowed"]
    assert row.cells[0] == IamCell()


def test_what_is_added_closes_the_gaps():
    role = a_controller_role(needed_by("0.31.4"))
    for one in a_sheet(role).columns:
        (made,) = one.patches
        policies = [parse_policy(role.policies.items[0].text), *read_back(made.documents)]
        report = find_gaps(policies, release=one.release, site=SITE)
        assert [gap for gap in (*report.gaps, *report.legacy_gaps) if gap.required == "always"] == []
        merged = find_gaps(read_back(made.merged) or policies, release=one.release, site=SITE)
        assert merged.ok
        assert all(0 < size.size <= size.limit == 6144 for size in (*made.documents, *made.merged))


def test_every_form_of_a_patch():
    made = a_sheet(a_controller_role(needed_by("0.31.4"))).columns[1].patches[0]
    assert (made.role, made.ok, made.merged_why) == (ARN, "no", "")
    template = json.loads(made.cloudformation)
    assert [one["Properties"]["PolicyDocument"] for one in template["Resources"].values()] == [
        one.document for one in made.documents
    ]
    assert 'resource "aws_iam_role_policy_attachment" "karpenter_0_32_10_gaps_1"' in made.terraform
    modules = {one.version: one.text for one in made.modules}
    assert list(modules) == ["19.21", "20.37", "21.19"]
    assert "enable_karpenter_instance_profile_creation = true" in modules["19.21"]
    assert "iam_policy_statements" in modules["21.19"]


def test_what_may_go_is_told_after_a_hop_only():
    sheet = a_sheet(a_controller_role(needed_by("0.31.4")), inventory=a_site(**GONE))
    running, *hops = sheet.columns
    assert running.patches[0].removable == ()
    going = {one.sid for one in hops[-1].patches[0].removable}
    assert going
    assert all(one.where.startswith("controller: Statement[") for one in hops[-1].patches[0].removable)
    left = [
        one
        for one in json.loads(needed_by("0.31.4"))["Statement"]
        if one["Sid"] not in {gone.sid for gone in hops[-1].patches[0].removable if not gone.actions}
    ]
    after = find_gaps(
        [parse_policy(text_of(*left)), *read_back(hops[-1].patches[0].documents)], release="1.0.14", site=SITE
    )
    assert after.ok


def test_capacity_of_provisioners_is_a_row_of_its_own_while_there_may_be_some():
    none = a_controller_role(needed_by("0.33"))
    assert not any(legacy for _, legacy in open_cells(a_sheet(a_controller_role(ADMIN)), "0.32.10"))
    found, cells = column(a_sheet(none), "0.32.10")
    assert (found.ok, cells["ec2:RunInstances", True].verdict) == ("no", "blocked_by_condition")
    gone = a_sheet(none, inventory=a_site(**GONE))
    assert not any(row.legacy for row in gone.rows)
    assert any(row.legacy for row in a_sheet(none, inventory=a_site(**GONE | {"machines": Unseen("x")})).rows)
    for part, kind in (("provisioners", Provisioner), ("machines", Machine)):
        left = a_site(**GONE | {part: (msgspec.convert({"metadata": {"name": "x"}}, kind),)})
        assert any(row.legacy for row in a_sheet(none, inventory=left).rows)


def test_no_added_statement_lifts_a_denial():
    made = a_sheet(a_controller_role(text_of(EVERYTHING, DENY_PASS))).columns[1].patches[0]
    assert (made.ok, made.documents) == ("no", ())
    assert made.remarks == (
        "iam:PassRole: no added statement helps, controller: Statement[1] denies it",
        "no statement has to be added",
    )


def test_a_boundary_cuts():
    limit = a_document(text_of(allow("ec2:*")), name="limit")
    sheet = a_sheet(a_controller_role(ADMIN, boundary=Seen((limit,))))
    cell = column(sheet, "0.31.4")[1]["sqs:ReceiveMessage", False]
    assert (cell.verdict, cell.causes) == (
        "denied",
        ("the permissions boundary does not let it through: no statement allows the action",),
    )
    assert [(one.name, one.boundary) for one in sheet.roles[0].documents] == [("controller", False), ("limit", True)]
    assert cell.boundary == "refused"


def test_a_cell_says_that_the_boundary_refuses_what_the_policy_lacks():
    limit = Seen((a_document(text_of(allow("ec2:*")), name="limit"),))
    sheet = a_sheet(a_controller_role(text_of(), boundary=limit), a_controller_role(text_of(), arn=f"{ARN}2"))
    found, cells = column(sheet, "0.31.4")
    queue, launch = cells["sqs:ReceiveMessage", False], cells["ec2:CreateFleet", False]
    assert [(one.verdict, one.boundary) for one in (queue, launch)] == [("missing", "refused"), ("missing", "")]
    bounded, free = found.patches
    assert [line for line in free.remarks if "boundary" in line] == []
    (remark,) = [line for line in bounded.remarks if "boundary" in line]
    assert "sqs:ReceiveMessage" in remark
    assert "ec2:" not in remark


def test_what_hangs_on_an_unknown_key_is_no_yes_and_no_no():
    source = {"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}
    found, cells = column(a_sheet(a_controller_role(text_of(EVERYTHING | {"Condition": source}))), "1.0.14")
    assert (found.ok, found.refused, found.doubtful) == (
        "unknown",
        0,
        len([one for one in cells.values() if one.required == "always"]),
    )
    assert {cell.verdict for cell in cells.values()} == {"unknown"}
    assert "sent: unknown" in cells["iam:PassRole", False].causes[0]


def test_of_several_roles_the_worst_answers():
    other = ARN + "-old"
    sheet = a_sheet(a_controller_role(ADMIN), a_controller_role(text_of(EVERYTHING, DENY_PASS), arn=other))
    found, cells = column(sheet, "1.0.14")
    assert found.ok == "no"
    assert [(one.role, one.ok) for one in found.patches] == [(ARN, "yes"), (other, "no")]
    assert cells["iam:PassRole", False].causes == (f"{other}: controller: Statement[1] denies it",)


@pytest.mark.parametrize(
    ("part", "why", "detail"),
    [
        (NOT_ASKED, "not_asked", "the source does not hold this"),
        (Unseen("odd"), "odd", ""),
        (Unseen("forbidden", "may not list"), "forbidden", "may not list"),
        (Seen(()), "not_found", "nothing names a role of the controller"),
        (Seen((), None, (UnparsableObject("Role", "", "r", "", "odd"),)), "unreadable", "r: odd"),
        (Seen((a_controller_role("{}"),)), "bad_policy", "controller: the document has no Statement"),
        (Seen((a_controller_role(policies=Unseen("timeout", "too slow")),)), "timeout", "too slow"),
    ],
)
def test_without_permissions_it_still_lists_the_needs(part, why, detail):
    sheet = a_sheet(controller_roles=part)
    assert (sheet.seen, sheet.why, sheet.detail) == (False, why, detail)
    assert [one.ok for one in sheet.columns] == ["unknown"] * 4
    found, cells = column(sheet, "1.0.14")
    assert {cell.verdict for cell in cells.values()} == {"unknown"}
    assert cells["ec2:CreateFleet", False].effect == "Nothing is launched."
    assert cells["ec2:CreateFleet", False].causes == ((detail,) if detail else ())
    assert (found.refused, found.doubtful) == (0, len([one for one in cells.values() if one.required == "always"]))
    (made,) = found.patches
    assert (made.role, made.ok, made.modules, made.merged, made.removable) == ("", "unknown", (), (), ())
    assert [one.document for one in made.documents] == [one.document for one in found.whole]
    assert find_gaps(read_back(made.documents), release="1.0.14", site=SITE).ok


def test_a_release_beyond_the_tables():
    sheet = a_sheet(a_controller_role(ADMIN), hops=(("9.9", "9.9.9"),))
    assert verdicts(sheet) == [("", "0.31.4", "yes"), ("9.9", "9.9.9", "unknown")]
    assert sheet.columns[1].why.startswith("permissions are known for 0.28 to 0.37 and 1.0 to ")
    assert {row.cells[1] for row in sheet.rows} == {IamCell(verdict="unknown", causes=(sheet.columns[1].why,))}


def test_without_a_path_and_without_a_release():
    sheet = a_sheet(a_controller_role(ADMIN), hops=(), running="")
    assert (sheet.columns, sheet.rows, len(sheet.roles)) == ((), (), 1)


def test_names_and_what_stands_in_for_them():
    classes = (node_class(role="Nodes"), node_class("b", role="Others"))
    sheet = a_sheet(a_controller_role(ADMIN), inventory=a_site(ec2nodeclasses=classes))
    assert sheet.names == IamNames(
        cluster="shop",
        account="444455556666",
        region="eu-west-1",
        partition="aws",
        queue="shop",
        node_roles=("Nodes", "Others"),
    )
    bare = iam_sheet(an_inventory(), hops=HOPS, running="0.31.4")
    assert [one.partition(" not told")[0] for one in bare.names.stand_ins] == ["cluster name", "account", "region"]


def test_roles_with_documents_and_sizes():
    inline = a_document(text_of(allow("sqs:*")), name="queue", kind="inline")
    managed = a_document('{"Statement":[]}', name="aws", kind="aws_managed", arn="arn:aws:iam::aws:policy/aws")
    door = a_controller_role(arn=ARN + "-door", policies=Unseen("forbidden", "may not"), role=Seen(()))
    worker = a_controller_role(inline, managed, found_by="assume_role", namespace="", service_account="")
    assert a_sheet(door, worker).roles == (
        IamRole(
            arn=ARN + "-door",
            found_by="irsa",
            counts=False,
            exists=False,
            account_of="kube-system/karpenter",
            inline_limit=10240,
            unread=(IamUnread(part="policies", why="forbidden", detail="may not"),),
        ),
        IamRole(
            arn=ARN,
            found_by="assume_role",
            counts=True,
            exists=True,
            inline_size=inline.size,
            inline_limit=10240,
            documents=(
                IamDocument(
                    name="aws",
                    kind="aws_managed",
                    size=16,
                    limit=6144,
                    arn="arn:aws:iam::aws:policy/aws",
                    text='{\n  "Statement": []\n}',
                ),
                IamDocument(
                    name="queue",
                    kind="inline",
                    size=inline.size,
                    limit=10240,
                    text=json.dumps(json.loads(inline.text), indent=2),
                ),
            ),
        ),
    )


def test_documents_that_were_handed_in_have_no_role_to_look_up():
    handed = {"arn": "", "found_by": "given", "role": NOT_ASKED, "namespace": "", "service_account": ""}
    given_in = a_controller_role(a_document("not json", name="a"), a_document(ADMIN, name="b"), **handed)
    (role,) = a_sheet(given_in).roles
    assert (role.exists, role.unread, role.documents[0].text) == (None, (), "not json")
    whole = replace(given_in, policies=Seen((a_document(ADMIN),)))
    assert a_sheet(whole).columns[0].patches[0].role == "documents handed in"


def test_a_role_of_which_a_document_could_not_be_read():
    broken = Seen((), None, (UnparsableObject("Policy", "", "p", "", "odd"),))
    assert a_sheet(a_controller_role(policies=broken)).roles[0].unread == (
        IamUnread(part="policies", why="unreadable", detail="p: odd"),
    )


def test_where_aws_judges_otherwise():
    base = CrossCheck(release="1.0.14", role_arn=ARN, action="iam:PassRole", resource="r", ours="allowed",
                      theirs="explicitDeny", agreement="disagree", because="an SCP")  # fmt: skip
    rows = (base, replace(base, agreement="agree"), replace(base, agreement="cannot_tell"))
    assert a_sheet(a_controller_role(ADMIN), simulation=Seen(rows)).simulation == IamSimulation(
        seen=True,
        agree=1,
        cannot_tell=1,
        disagreements=(
            IamDisagreement(
                release="1.0.14", role=ARN, action="iam:PassRole", resource="r", ours="allowed",
                theirs="explicitDeny", because="an SCP",
            ),
        ),
    )  # fmt: skip
    unseen = a_sheet(a_controller_role(ADMIN), simulation=Unseen("forbidden", "no")).simulation
    assert unseen == IamSimulation(why="forbidden", detail="no")


def test_a_statement_too_large_to_be_merged():
    huge = allow("ec2:*", resource=["arn:aws:ec2:*:*:instance/" + "i" * 100 + str(n) for n in range(80)])
    made = a_sheet(a_controller_role(a_document(text_of(huge), kind="inline"))).columns[0].patches[0]
    assert made.merged == ()
    assert made.merged_why == "controller: Statement[0]: alone exceeds the 6,144 characters of a document"
    assert len(made.documents) >= 1


def test_it_survives_being_stored():
    sheet = a_sheet(a_controller_role(needed_by("0.31.4")))
    assert msgspec.json.decode(msgspec.json.encode(sheet), type=IamSheet) == sheet


@settings(max_examples=12, deadline=None)
@given(order=st.permutations(range(5)))
def test_the_order_of_documents_does_not_matter(order):
    half = json.loads(needed_by("0.31.4"))["Statement"]
    documents = [
        a_document(text_of(*half[:8]), name="a"),
        a_document(text_of(*half[8:]), name="b", kind="inline"),
        a_document(text_of(DENY_PASS), name="c"),
        a_document(text_of(*half[3:5]), name="same"),
        a_document(text_of(*half[5:7]), name="same"),
    ]
    first = a_sheet(a_controller_role(*documents), hops=HOPS[:1])
    assert a_sheet(a_controller_role(*(documents[n] for n in order)), hops=HOPS[:1]) == first


def test_the_official_document_of_a_release_needs_no_addition():
    for tag in ("0.31.4", "0.32.10", "0.37.8", "1.0.14"):
        text = upstream.policy(f"v{tag}")
        sheet = a_sheet(a_controller_role(text), running=tag, hops=(), inventory=a_site(**GONE))
        assert verdicts(sheet) == [("", tag, "yes")], tag


def test_a_cluster_that_saw_no_roles_has_a_sheet_as_well():
    assert iam_sheet(an_inventory(), hops=HOPS, running="0.31.4").why == "not_asked"
    assert saw_roles().aws.controller_roles == Seen(())
