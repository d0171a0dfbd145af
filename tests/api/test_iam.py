"""iam: the sheet of a cluster, and documents judged by themselves; hostile bodies."""

import json
import zlib
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from django.contrib.auth.models import User

from migrations_app.api.iam import MAX_CHARACTERS
from migrations_app.cli.iam import run
from migrations_app.models.cluster import Cluster
from tests.api.conftest import Tool
from tests.builders.newest import NEWEST, NEWEST_MINOR
from tests.builders.rows import NOW, a_cluster, a_report, a_snapshot
from tests.builders.sheet import EVERYTHING, a_controller_role, a_sheet, allow, needed_by, text_of

# A sheet is read as a whole, and an evaluation stores nothing.
pytestmark = pytest.mark.one_database
DENY_PASS = {"Effect": "Deny", "Action": "iam:PassRole", "Resource": "*"}
EVERYTHING_DOCUMENT = {"Version": "2012-10-17", "Statement": EVERYTHING}


def document(*statements: dict[str, Any]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": list(statements)}


def evaluate(api: Tool, *policies: Any, release: str = "1.0", **more: Any) -> Any:
    return api("POST", "iam/evaluations", {"policies": list(policies), "release": release} | more)


def refused(answer: Any) -> list[tuple[str, str]]:
    """Pointer and code of each problem of a 400."""
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json"), answer.content
    return [(one["pointer"], one["code"]) for one in answer.json().get("errors", [])]


def the_sheet(cluster: Cluster) -> Any:
    """A snapshot of the cluster with a sheet, and that sheet."""
    sheet = a_sheet(a_controller_role(needed_by("0.31.4")))
    snapshot = a_snapshot(cluster, a_report())
    snapshot.content.iam = zlib.compress(msgspec.json.encode(sheet))
    snapshot.content.save()
    return sheet


# ---- the sheet of a cluster


def test_the_sheet_of_the_newest_snapshot(api: Tool) -> None:
    cluster = a_cluster()
    sheet = the_sheet(cluster)
    told = api("GET", f"clusters/{cluster.pk}/iam")
    assert (told.status_code, told.json()) == (200, json.loads(msgspec.json.encode(sheet)))
    assert told.json()["schema"] == "karpdash/iam-sheet/v1"
    assert datetime.strptime(told["Last-Modified"], "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=UTC) == NOW
    assert told["Cache-Control"] == "private, no-cache"
    again = api("GET", f"clusters/{cluster.pk}/iam", if_none_match=told["ETag"])
    assert (again.status_code, again.content) == (304, b"")


def test_a_scan_fills_it(api: Tool, scanned: Any) -> None:
    told = api("GET", f"clusters/{scanned('beta_037').pk}/iam").json()
    assert [one["release"] for one in told["columns"]][:2] == ["0.37.8", "1.0.14"]
    assert "ec2:RunInstances" in [row["action"] for row in told["rows"]]


def test_a_cluster_without_a_sheet(api: Tool) -> None:
    never, old = a_cluster("never"), a_cluster("old")
    a_snapshot(old)
    for key in (never.pk, old.pk, "00000000-0000-0000-0000-000000000001"):
        assert api("GET", f"clusters/{key}/iam").status_code == 404
    assert refused(api("GET", f"clusters/{old.pk}/iam?release=1.0")) == [("#/release", "unknown_field")]


def test_who_may_look_may_read_it(ben: User) -> None:
    cluster = a_cluster()
    the_sheet(cluster)
    assert Tool(ben, "read")("GET", f"clusters/{cluster.pk}/iam").status_code == 200
    assert Tool(ben, "scan")("GET", f"clusters/{cluster.pk}/iam").status_code == 403
    assert Tool(ben, "scan")("POST", "iam/evaluations", {}).status_code == 403


# ---- documents judged by themselves


def test_nothing_is_missing(api: Tool) -> None:
    told = evaluate(api, EVERYTHING_DOCUMENT, release=f"v{NEWEST}", cluster_name="shop")
    assert (told.status_code, told.json()) == (
        200,
        {
            "schema": "karpdash/iam/v1",
            "release": NEWEST,
            "gaps": [],
            "legacy_gaps": [],
            "ok": True,
            "names": {
                "cluster": "shop",
                "account": "000000000000",
                "region": "us-west-2",
                "partition": "aws",
                "queue": "shop",
                "node_roles": ["KarpenterNodeRole-shop"],
                "read": [],
            },
            "remarks": [
                "account not told: 000000000000 stands in for it",
                "region not told: us-west-2 stands in for it",
                "no statement has to be added",
            ],
            "remedies": [],
            "removable": None,
        },
    )


def test_the_report_is_that_of_the_command(api: Tool, tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    text = needed_by("0.31.4")
    body = evaluate(api, {"name": "p.json", "document": text}, release="0.32.10", cluster_name="shop").json()
    (tmp_path / "p.json").write_text(text)
    run(["--policy", str(tmp_path / "p.json"), "--to", "0.32.10", "--cluster-name", "shop", "-o", "json"])
    printed = json.loads(capsys.readouterr().out.replace(f"{tmp_path}/", ""))
    assert {name: body[name] for name in printed} == printed
    assert not body["ok"]
    assert body["names"]["read"] == ["account", "node_role", "partition", "queue", "region"]


def test_every_remedy(api: Tool) -> None:
    wanted = ["merged", "json", "terraform", "cloudformation", "module", "json"]
    answer = evaluate(api, json.loads(needed_by("0.37")), remedies=wanted, module_version="20.24.1")
    assert answer.status_code == 200, answer.content
    body = answer.json()
    found = {one["form"]: one for one in body["remedies"]}
    assert list(found) == ["merged", "json", "terraform", "cloudformation", "module"]
    assert json.loads(found["json"]["text"]) == found["json"]["documents"][0]
    assert found["module"]["text"].startswith("# terraform-aws-modules/eks/aws//modules/karpenter 20.24\n")
    assert "\niam_policy_statements = [" in found["module"]["text"]
    assert found["module"]["text"].endswith("\n#   enable_v1_permissions = true")
    assert [len(found[form]["documents"]) for form in ("terraform", "cloudformation", "module")] == [0, 0, 0]
    closed = evaluate(api, json.loads(needed_by("0.37")), *found["json"]["documents"]).json()
    assert [gap for gap in closed["gaps"] if gap["required"] == "always"] == []
    assert evaluate(api, *found["merged"]["documents"]).json()["ok"]


def test_names_settings_boundary_and_what_may_go(api: Tool) -> None:
    without = {"without_settings": ["queue", "ami-alias", "spec-role", "endpoint-lookup"]}
    only_ec2 = document(allow("ec2:*", "iam:PassRole", "pricing:*"))
    assert [gap["required"] for gap in evaluate(api, only_ec2, **without).json()["gaps"]] == ["conditional"] * 11
    turned = evaluate(api, document(), release="1.12", with_settings=["zonal-shift"]).json()
    shift = [gap for gap in turned["gaps"] if gap["action"].startswith("arc-zonal")]
    assert [gap["required"] for gap in shift] == ["always"]
    limited = evaluate(api, EVERYTHING_DOCUMENT, boundary={"name": "limit", "document": document(DENY_PASS)}).json()
    assert {gap["verdict"] for gap in limited["gaps"]} == {"denied"}
    assert "limit: Statement[0] denies it" in limited["gaps"][0]["effect"] + str(limited["gaps"])
    assert {gap["boundary"] for gap in limited["gaps"]} == {"refused"}
    lacks = evaluate(api, document(), boundary=document(allow("ec2:*"))).json()
    assert {gap["boundary"] for gap in lacks["gaps"] if gap["action"].startswith("ec2:")} == {""}
    assert {gap["boundary"] for gap in lacks["gaps"] if gap["action"].startswith("iam:")} == {"refused"}
    (remark,) = [line for line in lacks["remarks"] if "boundary" in line]
    assert remark.startswith("the permissions boundary has to be extended as well, it does not let through ")
    assert "iam:CreateInstanceProfile" in remark
    extra = evaluate(api, document(EVERYTHING, allow("iam:GetRole") | {"Sid": "Idle"}), after_hop=True).json()
    assert extra["removable"] == [{"where": "policies[0]: Statement[1] (Idle)", "sid": "Idle", "actions": []}]


def test_names_fill_requests(api: Tool) -> None:
    mine = {"Condition": {"StringEquals": {"aws:RequestTag/team": "shop"}}}
    launch = document(allow("ec2:CreateFleet") | mine)
    for tags, blocked in ((["team=shop"], False), (["team=other"], True)):
        gaps = evaluate(api, launch, tags=tags).json()["gaps"]
        fleet = [gap for gap in gaps if gap["action"] == "ec2:CreateFleet"]
        assert any("wants shop, sent: other" in gap["effect"] for gap in fleet) is blocked
    roles = ["arn:aws:iam::111122223333:role/a/One", "Two"]
    assert evaluate(api, EVERYTHING_DOCUMENT, node_roles=roles).json()["names"]["node_roles"] == ["a/One", "Two"]


def test_nothing_is_kept_but_the_answer_of_a_key(api: Tool) -> None:
    first = api("POST", "iam/evaluations", {"policies": [EVERYTHING_DOCUMENT], "release": "1.0"}, idempotency_key="k1")
    again = api("POST", "iam/evaluations", {"policies": [EVERYTHING_DOCUMENT], "release": "1.0"}, idempotency_key="k1")
    assert (first.json(), again["Idempotency-Replayed"]) == (again.json(), "true")


# ---- bad input


def nested(depth: int) -> dict[str, Any]:
    inner: dict[str, Any] = {}
    for _ in range(depth):
        inner = {"a": inner}
    return inner


@pytest.mark.parametrize(
    ("policy", "code", "said"),
    [
        ({}, "bad_policy", "policies[1]: the document has no Statement"),
        ({"Statement": 7}, "bad_policy", "policies[1]: Statement is neither an object nor a list of objects"),
        (document({"Effect": "Maybe", "Action": "*"}), "bad_policy", "policies[1]: Statement[0]: Effect is 'Maybe'"),
        (document(EVERYTHING | {"Principal": "*"}), "bad_policy", "policies[1]: Statement[0]: names a Principal"),
        ({"document": "{", "name": "mine"}, "bad_policy", "mine: line 1: not JSON"),
        ({"document": '{"Statement":[],"Statement":[]}'}, "bad_policy", "is repeated"),
        ({"document": "x" * 100_001}, "bad_policy", "more than 100,000 bytes"),
        ({"document": 7}, "document", "neither an object nor a text"),
        ({"document": {}, "name": ""}, "name", "1 to 128"),
        ({"document": {}, "name": 5}, "name", "1 to 128"),
        ({"document": {}, "Name": "x"}, "strange", "Unknown field Name."),
        ("text", "not_object", "Not an object."),
        (None, "null", "may not be null"),
        (nested(90), "bad_policy", "no Statement"),
    ],
)
def test_a_bad_policy_is_pointed_at(api: Tool, policy: Any, code: str, said: str) -> None:
    answer = evaluate(api, EVERYTHING_DOCUMENT, policy)
    assert refused(answer) == [("#/policies/1", code)]
    assert said in answer.json()["errors"][0]["detail"]


@pytest.mark.parametrize(
    ("more", "wrong"),
    [
        ({"strange": 1}, ("#/strange", "unknown_field")),
        ({"release": "2.0"}, ("#/release", "bad_input")),
        ({"release": "newest"}, ("#/release", "bad_input")),
        ({"release": 1.0}, ("#/release", "not_text")),
        ({"account": "12"}, ("#/account", "invalid")),
        ({"account": "١١١١٢٢٢٢٣٣٣٣"}, ("#/account", "invalid")),
        ({"cluster_name": "a*"}, ("#/cluster_name", "invalid")),
        ({"cluster_name": "${x}"}, ("#/cluster_name", "invalid")),
        ({"region": "eu-west-1\n"}, ("#/region", "invalid")),
        ({"queue": "arn:aws:sqs:*:*:q"}, ("#/queue", "invalid")),
        ({"assume_role_arn": "role"}, ("#/assume_role_arn", "invalid")),
        ({"node_roles": ["ok", "a b"]}, ("#/node_roles/1", "invalid")),
        ({"node_roles": ["ok\n"]}, ("#/node_roles", "invalid")),
        ({"node_roles": ["r"] * 51}, ("#/node_roles", "max_length")),
        ({"tags": ["novalue"]}, ("#/tags/0", "invalid")),
        ({"with_settings": ["assume-role"]}, ("#/with_settings/0", "invalid_choice")),
        ({"without_settings": "queue"}, ("#/without_settings", "not_a_list")),
        ({"remedies": ["helm"]}, ("#/remedies/0", "invalid_choice")),
        ({"remedies": ["module"], "module_version": "new"}, ("#/module_version", "bad_input")),
        ({"after_hop": "yes"}, ("#/after_hop", "invalid")),
        ({"boundary": {"Statement": {}}}, ("#/boundary", "bad_policy")),
        ({"policies": []}, ("#/policies", "min_length")),
        ({"policies": [EVERYTHING_DOCUMENT] * 41}, ("#/policies", "max_length")),
        ({"policies": EVERYTHING_DOCUMENT}, ("#/policies", "not_a_list")),
    ],
)
def test_bad_fields_are_pointed_at(api: Tool, more: dict[str, Any], wrong: tuple[str, str]) -> None:
    assert refused(evaluate(api, EVERYTHING_DOCUMENT, **more)) == [wrong]


def test_too_much_in_all(api: Tool) -> None:
    each = document(allow("ec2:*", resource=[f"arn:aws:ec2:::{n:06d}" for n in range(3000)]))
    assert len(json.dumps(each)) * 3 > MAX_CHARACTERS
    assert refused(evaluate(api, each, each, each)) == [("#/policies", "too_large")]
    assert refused(evaluate(api, each, each, boundary=each)) == [("#/policies", "too_large")]


def test_as_much_as_is_taken_is_judged(api: Tool) -> None:
    half = document(*(allow("*", resource=f"arn:*a*a*a*a*:{n}") for n in range(850)))
    assert evaluate(api, half, half, release=NEWEST_MINOR, after_hop=True, remedies=["json"]).status_code == 200


def many(value: str, count: int) -> dict[str, Any]:
    return allow("*") | {"Condition": {"StringLike": {"aws:RequestedRegion": [value] * count}}}


@pytest.mark.parametrize(
    "statement",
    [
        many("?", 4_001),
        allow("*", resource=["?"] * 4_001),
        allow("*") | {"Action": ["e?"] * 4_001},
        many("?" * 100, 401),
        allow("*", resource="arn:*${aws:a}" + "*a" * 20_000),
        many("${aws:a}", 2_500) | {"Resource": ["?" * 100] * 201},
    ],
)
def test_more_patterns_than_are_matched(api: Tool, statement: dict[str, Any]) -> None:
    assert refused(evaluate(api, document(statement))) == [("#/policies", "too_large")]
    assert refused(evaluate(api, EVERYTHING_DOCUMENT, boundary=document(statement))) == [("#/policies", "too_large")]


def test_as_many_patterns_as_are_taken_are_matched(api: Tool) -> None:
    roles = [f"r{n}" for n in range(50)]
    slow = document(allow("*", resource=[f"arn:*{n:04d}?" for n in range(4_000)]))
    assert evaluate(api, slow, release="0.32", after_hop=True, node_roles=roles).status_code == 200
    assert evaluate(api, document(allow("*", resource=["?" * 100] * 400))).status_code == 200
    assert evaluate(api, document(allow("*", resource=["*a" * 2_000] * 20))).status_code == 200


def test_a_statement_that_fits_no_document(api: Tool) -> None:
    huge = document(allow("ec2:*", resource=[f"arn:aws:ec2:::{n:060d}" for n in range(100)]))
    assert refused(evaluate(api, huge, remedies=["merged"])) == [("#/remedies", "bad_policy")]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"policies": [{"Statement": [], "Statement": []}], "release": "1.0"}', "'Statement' is repeated"),
        (b'{"release": "0.32", "release": "1.0"}', "'release' is repeated"),
        (b'{"policies": ' + b"[" * 5000 + b"]" * 5000 + b"}", "nested too deeply"),
        (b"{", "not JSON"),
        (b"\xff", "not JSON"),
        (b'{"policies": [' + b"9" * 5000 + b"]}", "not JSON"),
    ],
)
def test_bodies_that_are_none(ada: User, client: Any, body: bytes, said: str) -> None:
    client.force_login(ada, backend="django.contrib.auth.backends.ModelBackend")
    answer = client.post("/api/v1/iam/evaluations", body, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed")
    assert said in answer.json()["detail"]


def test_a_list_is_no_body(api: Tool) -> None:
    assert api("POST", "iam/evaluations", [1]).status_code == 400


def test_texts_of_others_come_back_as_they_are(api: Tool) -> None:
    name = "<script>\u202e"
    told = evaluate(api, {"name": name, "document": document(EVERYTHING, DENY_PASS)}).json()
    assert f"{name}: Statement[1] denies it" in told["gaps"][0]["effect"]


def test_handed_in_text_may_be_what_the_aws_program_prints(api: Tool) -> None:
    printed = json.dumps({"PolicyVersion": {"Document": json.loads(text_of(EVERYTHING))}})
    assert evaluate(api, {"document": printed}).json()["ok"]
