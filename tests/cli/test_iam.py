import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from migrations_app.cli.iam import run
from tests import upstream
from tests.builders.newest import NEWEST_MINOR

ROOT = Path(__file__).resolve().parents[2]
EVERYTHING = {"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}
DENY_PASS = {"Effect": "Deny", "Action": "iam:PassRole", "Resource": "*"}


@pytest.fixture
def file(tmp_path):
    """file(document or text) -> path of a policy file."""

    def write(content, name="policy.json"):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    return write


def document(*statements):
    return {"Version": "2012-10-17", "Statement": list(statements)}


def allow(action, resource="*", **more):
    return {"Effect": "Allow", "Action": action, "Resource": resource, **more}


def as_json(capsys):
    return json.loads(capsys.readouterr().out)


def test_nothing_is_missing(file, capsys):
    assert run(["--policy", file(EVERYTHING), "--to", NEWEST_MINOR, "-o", "json"]) == 0
    assert as_json(capsys) == {
        "schema": "karpdash/iam/v1",
        "release": NEWEST_MINOR,
        "gaps": [],
        "legacy_gaps": [],
        "ok": True,
    }


def test_a_gap_is_exit_code_1(file, capsys):
    paths = [file(EVERYTHING), file(document(DENY_PASS), "deny.json")]
    assert run(["--policy", *paths, "--to", "v1.0.14", "-o", "json"]) == 1
    assert as_json(capsys) == {
        "schema": "karpdash/iam/v1",
        "release": "1.0.14",
        "gaps": [
            {
                "action": "iam:PassRole",
                "resource": ["role"],
                "verdict": "denied",
                "required": "always",
                "when": "",
                "needed_for": ["pass-role"],
                "effect": "Launches are refused, and from 0.32 putting the role into an instance profile is. "
                f"Cause: {paths[1]}: Statement[0] denies it.",
                "boundary": "",
            }
        ],
        "legacy_gaps": [],
        "ok": False,
    }


def test_files_may_be_given_together_or_one_by_one(file, capsys):
    half = file(document(allow("ec2:*")), "a.json")
    other = file(document(allow(["iam:*", "ssm:*", "pricing:*", "sqs:*", "eks:*"])), "b.json")
    assert run(["--policy", half, other, "--to", "1.0"]) == 0
    assert run(["--policy", half, "--policy", other, "--to", "1.0"]) == 0
    assert run(["--policy", half, "--to", "1.0"]) == 1
    capsys.readouterr()


def test_the_table_tells_action_need_effect_cause_and_log(file, capsys):
    path = file(
        document(allow(["ec2:*", "ssm:*", "pricing:*", "sqs:*", "eks:*", "iam:PassRole", "iam:*InstanceProfile"]))
    )
    assert run(["--policy", path, "--to", "1.7"]) == 1
    assert capsys.readouterr().out == (
        "Karpenter 1.7: 1 needed, 0 only under certain settings\n"
        "\n"
        "MISSING               iam:ListInstanceProfiles  on *\n"
        "  needed for instance-profile\n"
        "  Garbage collection of profiles fails at each run and a deleted EC2NodeClass hangs; launches go on.\n"
        "  cause: no statement allows the action\n"
        "  logged: listing instance profiles ... AccessDenied ... iam:ListInstanceProfiles\n"
    )


def test_the_table_sets_capacity_of_provisioners_apart(file, capsys):
    new = {"StringLike": {"aws:ResourceTag/karpenter.sh/nodepool": "*"}}
    path = file(
        document(
            allow(["ec2:D*", "ec2:C*", "ec2:R*", "ssm:*", "pricing:*", "sqs:*", "eks:*", "iam:*"]),
            allow("ec2:TerminateInstances", Condition=new),
        )
    )
    assert run(["--policy", path, "--to", "0.32"]) == 0
    out = capsys.readouterr().out
    head, legacy = out.split("For capacity that Provisioners still own")
    assert head == "Karpenter 0.32: 0 needed, 0 only under certain settings\n\n"
    assert "BLOCKED_BY_CONDITION  ec2:TerminateInstances  on instance" in legacy


def test_names_in_the_files_fill_what_is_not_told(file, capsys):
    path = file(document(allow("*"), allow("sqs:*", "arn:aws-cn:sqs:cn-north-1:111122223333:q")))
    assert run(["--policy", path, "--to", "1.0"]) == 0
    assert capsys.readouterr().err.splitlines() == [
        "karpdash iam: account not told, read from the policies: 111122223333",
        "karpdash iam: partition not told, read from the policies: aws-cn",
        "karpdash iam: queue not told, read from the policies: q",
        "karpdash iam: region not told, read from the policies: cn-north-1",
    ]


QUEUE = "arn:aws:sqs:eu-west-1:111122223333:{}"
NAMES = ["--cluster-name", "blue", "--account", "111122223333", "--region", "eu-west-1"]


@pytest.mark.parametrize(
    ("told", "code"),
    [
        (["--queue", "mine"], 0),
        (["--queue", "yours"], 1),
        (["--queue", QUEUE.format("mine")], 0),
        ([], 0),
    ],
)
def test_the_queue_of_the_options_counts(file, capsys, told, code):
    rest = allow(["ec2:*", "ssm:*", "pricing:*", "eks:*", "iam:*"])
    path = file(document(rest, allow("sqs:*", QUEUE.format("mine"))))
    assert run(["--policy", path, "--to", "1.0", *NAMES, *told]) == code
    capsys.readouterr()


def test_every_node_role_of_the_options_counts(file, capsys):
    rest = allow(["ec2:*", "ssm:*", "pricing:*", "eks:*", "sqs:*", "iam:*InstanceProfile*"])
    path = file(document(rest, allow("iam:PassRole", "arn:aws:iam::111122223333:role/a")))
    assert run(["--policy", path, "--to", "1.0", *NAMES, "--node-role", "a"]) == 0
    assert run(["--policy", path, "--to", "1.0", *NAMES, "--node-role", "a", "--node-role", "b"]) == 1
    capsys.readouterr()


def test_the_partition_follows_the_region(file, capsys):
    rest = allow(["ec2:*", "ssm:*", "pricing:*", "eks:*", "sqs:*", "iam:*InstanceProfile*"])
    path = file(document(rest, allow("iam:PassRole", "arn:aws-cn:iam::111122223333:role/*")))
    given = ["--policy", path, "--to", "1.0", "--account", "111122223333"]
    assert run([*given, "--region", "cn-north-1"]) == 0
    assert run([*given, "--region", "eu-west-1"]) == 1
    assert run([*given, "--region", "eu-west-1", "--partition", "aws-cn"]) == 0
    capsys.readouterr()


def test_settings_of_the_cluster_turn_needs_on_and_off(file, capsys):
    path = file(document(allow(["ec2:*", "ssm:*", "pricing:*", "eks:*", "iam:*"])))
    assert run(["--policy", path, "--to", "1.12"]) == 1
    assert run(["--policy", path, "--to", "1.12", "--without", "queue"]) == 0
    assert run(["--policy", path, "--to", "1.12", "--without", "queue", "--with", "zonal-shift"]) == 1
    capsys.readouterr()


def test_a_boundary_and_an_assumed_role(file, capsys):
    path, edge = file(EVERYTHING), file(document(allow("ec2:*")), "edge.json")
    assert run(["--policy", path, "--to", "1.0", "--boundary", edge, "-o", "json"]) == 1
    assert {gap["verdict"] for gap in as_json(capsys)["gaps"]} == {"denied"}
    narrow = file(document(allow(["ec2:*", "ssm:*", "pricing:*", "eks:*", "iam:*", "sqs:*"])), "narrow.json")
    role = "arn:aws:iam::444455556666:role/other"
    assert run(["--policy", narrow, "--to", "0.33"]) == 0
    assert run(["--policy", narrow, "--to", "0.33", "--assume-role-arn", role]) == 1
    capsys.readouterr()


def test_a_boundary_that_refuses_what_the_policy_lacks(file, capsys):
    """With the patch alone it would stay refused, so the first answer names what the boundary has to allow."""
    lacks = file(document({"Effect": "Allow", "NotAction": "iam:CreateInstanceProfile", "Resource": "*"}))
    limit = {"Effect": "Allow", "NotAction": ["iam:Create*", "iam:AddRole*"], "Resource": "*"}
    given = ["--policy", lacks, "--to", "1.14", "--boundary", file(document(limit), "edge.json")]
    assert run([*given, "-o", "json"]) == 1
    assert {gap["action"]: (gap["verdict"], gap["boundary"]) for gap in as_json(capsys)["gaps"]} == {
        "iam:AddRoleToInstanceProfile": ("denied", "refused"),
        "iam:CreateInstanceProfile": ("missing", "refused"),
    }
    run(given)
    line = "  boundary: the permissions boundary refuses it and has to be extended as well\n"
    assert capsys.readouterr().out.count(line) == 2
    run([*given, "--remedy", "json"])
    out, err = capsys.readouterr()
    assert (
        "karpdash iam: the permissions boundary has to be extended as well, it does not let through"
        " iam:AddRoleToInstanceProfile, iam:CreateInstanceProfile\n"
    ) in err
    patch, wide = file(out, "patch.json"), file(EVERYTHING, "wide.json")
    assert run(["--policy", lacks, patch, "--to", "1.14", "--boundary", wide]) == 0
    capsys.readouterr()
    run(["--policy", lacks, "--to", "1.14", "--boundary", wide])
    assert "boundary" not in capsys.readouterr().out


def test_tags_of_node_classes(file, capsys):
    own = {"StringEquals": {"ec2:ResourceTag/team": "a"}}
    rest = ["ec2:D*", "ec2:C*", "ec2:R*", "ssm:*", "pricing:*", "sqs:*", "eks:*", "iam:*"]
    path = file(document(allow(rest), allow("ec2:TerminateInstances", Condition=own)))
    assert run(["--policy", path, "--to", "1.0"]) == 1
    assert run(["--policy", path, "--to", "1.0", "--tag", "team=a"]) == 0
    capsys.readouterr()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("not json", "line 1: not JSON"),
        ("{}", "the document has no Statement"),
        ('{"Statement": [{"Effect": "Allow"}]}', "needs either Action or NotAction"),
        ("[" * 50_000 + "]" * 50_000, "nested too deep"),
        (json.dumps(EVERYTHING) + " " * 200_000, "more than 100,000 bytes"),
    ],
)
def test_an_unreadable_document_is_exit_code_2_with_the_reason(file, capsys, content, reason):
    path = file(content)
    assert run(["--policy", path, "--to", "1.0", "-o", "json"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"karpdash iam: {path}")
    assert reason in captured.err


def test_the_policies_of_a_template_are_judged_and_named(file, capsys):
    path = file(
        "Resources:\n  Own:\n    Type: AWS::IAM::ManagedPolicy\n    Properties:\n      PolicyDocument: !Sub |\n"
        f"        {json.dumps(EVERYTHING)}\n",
        "template.yaml",
    )
    assert run(["--policy", path, "--to", NEWEST_MINOR]) == 0
    assert capsys.readouterr().err == "karpdash iam: policies read from the template: Own\n"
    assert run(["--policy", path, file(document(DENY_PASS)), "--to", NEWEST_MINOR, "--boundary", path]) == 1
    capsys.readouterr()


def test_a_file_that_is_not_there(tmp_path, capsys):
    assert run(["--policy", str(tmp_path / "none.json"), "--to", "1.0"]) == 2
    assert "cannot be read: No such file or directory" in capsys.readouterr().err
    assert run(["--policy", str(tmp_path), "--to", "1.0"]) == 2
    assert "cannot be read: Is a directory" in capsys.readouterr().err
    assert run(["--policy", "a\0b", "--to", "1.0"]) == 2
    assert "cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--to", "0.27"], "permissions are known for 0.28 to 0.37"),
        (["--to", "soon"], "'soon' is not a release"),
        ([], "--to"),
        (["--to", "1.0", "--account", "12"], "--account: '12' is not in the form wanted"),
        (["--to", "1.0", "--cluster-name", "a*"], "--cluster-name: 'a*'"),
        (["--to", "1.0", "--node-role", "a*"], "--node-role: 'a*'"),
        (["--to", "1.0", "--region", "here"], "--region: 'here'"),
        (["--to", "1.0", "--tag", "team"], "--tag: 'team'"),
        (["--to", "1.0", "--without", "everything"], "invalid choice"),
        (["--to", "1.0", "-o", "xml"], "invalid choice"),
        (["--to", "1.0", "--remedy", "module", "--module-version", "new"], "'new' is not a version"),
    ],
)
def test_wrong_usage_is_exit_code_2(file, capsys, options, reason):
    assert run(["--policy", file(document()), *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert reason in captured.err


def test_without_files_it_is_wrong_usage_and_help_is_not(capsys):
    assert run(["--to", "1.0"]) == 2
    assert run(["--help"]) == 0
    assert "usage: karpdash iam" in capsys.readouterr().out


def test_what_decides_nothing_is_told_and_is_no_allow(file, capsys):
    odd = {"StringEqualz": {"a:b": "c"}, "StringEquals": {"aws:RequestTag/x": []}}
    path = file(document(allow("*", Condition=odd), allow("*", "arn:${Where}:*:*:*:*")))
    assert run(["--policy", path, "--to", "1.0", "-o", "json"]) == 1
    captured = capsys.readouterr()
    assert {gap["verdict"] for gap in json.loads(captured.out)["gaps"]} == {"unknown"}
    assert captured.err.splitlines() == [
        f"karpdash iam: {path}: Statement[0]: StringEqualz is no operator of IAM",
        f"karpdash iam: {path}: Statement[0]: StringEquals aws:RequestTag/x lists no values",
        f"karpdash iam: {path}: Statement[1]: arn:${{Where}}:*:*:*:* holds a placeholder without a value",
    ]


def test_control_characters_of_a_file_are_shown_as_escapes(file, capsys):
    path = file(document(allow("ec2:*", Sid="\x1b[2J\u202eX", Condition={"StringEquals": {"aws:TagKeys": "\ud800"}})))
    assert run(["--policy", path, "--to", "1.0"]) == 1
    captured = capsys.readouterr()
    assert "\x1b" not in captured.out + captured.err
    assert "(\\x1b[2J\\u202eX)" in captured.out
    assert "wants \\ud800" in captured.out


@pytest.mark.parametrize("how", ["json", "merged"])
def test_a_remedy_is_a_policy_that_closes_the_gap(file, capsys, how):
    path = file(document(allow(["ec2:*", "ssm:*", "pricing:*", "eks:*", "iam:*"])))
    assert run(["--policy", path, "--to", "1.0", *NAMES, "--remedy", how]) == 1
    remedy = file(capsys.readouterr().out, "remedy.json")
    files = [path, remedy] if how == "json" else [remedy]
    assert run(["--policy", *files, "--to", "1.0", *NAMES]) == 0


def test_a_remedy_names_what_nobody_told(file, capsys):
    run(["--policy", file(document(allow("ec2:*"))), "--to", "1.0", "--region", "eu-west-1", "--remedy", "terraform"])
    captured = capsys.readouterr()
    assert "karpdash iam: cluster name not told: my-cluster stands in for it" in captured.err
    assert "karpdash iam: account not told: 000000000000 stands in for it" in captured.err
    assert "region not told" not in captured.err
    assert captured.out.startswith('variable "karpenter_controller_role_name"')


def test_a_remedy_for_cloudformation_and_for_the_module(file, capsys):
    path = file(document(allow(["ec2:*", "ssm:*", "pricing:*", "eks:*", "iam:*"])))
    given = ["--policy", path, "--to", "1.0", "--remedy"]
    run([*given, "cloudformation"])
    assert list(as_json(capsys)["Resources"]) == ["KarpenterController10Gaps1"]
    run([*given, "module", "--module-version", "20.24"])
    assert capsys.readouterr().out == (
        "# terraform-aws-modules/eks/aws//modules/karpenter 20.24\n"
        "# Keep this version of the module during the hop: the document of another may refuse the running release.\n"
        "# closes sqs:DeleteMessage, sqs:GetQueueUrl, sqs:ReceiveMessage: "
        "makes the queue Karpenter-<cluster> (variable queue_name) and grants its use\n"
        "enable_spot_termination = true\n"
    )
    run(["--policy", file(document(allow("sqs:*")), "s.json"), "--to", "1.0", "--remedy", "module"])
    assert "iam_policy_statements = [" in capsys.readouterr().out


@pytest.mark.parametrize(("version", "said"), [("21.8.0", True), ("21.7.0", False)])
def test_a_document_of_the_module_that_grows_too_large_goes_inline(file, capsys, version, said):
    names = [f"arn:aws:s3:::{'b' * 1000}{n}" for n in range(6)]
    path = file(document(allow("s3:GetObject", names)))
    run(["--policy", path, "--to", "1.0", *NAMES, "--remedy", "module", "--module-version", version])
    assert ("enable_inline_policy = true" in capsys.readouterr().out) is said


def test_a_deny_has_no_remedy_by_adding(file, capsys):
    path = file(document(allow("*"), DENY_PASS))
    run(["--policy", path, "--to", "1.0", *NAMES, "--remedy", "json"])
    captured = capsys.readouterr()
    assert captured.out == "\n"
    assert f"iam:PassRole: no added statement helps, {path}: Statement[1] denies it" in captured.err
    assert "no statement has to be added" in captured.err


def test_what_may_go_after_the_hop(file, capsys):
    path = file(document(allow("*"), allow("ec2:DescribeAvailabilityZones")))
    assert run(["--policy", path, "--to", "1.1", "--after-hop"]) == 0
    assert capsys.readouterr().err.splitlines()[-2:] == [
        "karpdash iam: may be removed once a rollback is no longer needed:",
        f"karpdash iam: {path}: Statement[1]: whole statement",
    ]
    assert run(["--policy", file(EVERYTHING), "--to", "1.1", "--after-hop"]) == 0
    assert capsys.readouterr().err.splitlines()[-1] == "karpdash iam: nothing"


@pytest.mark.parametrize(
    ("tag", "release", "code"),
    [
        ("v0.37.8", "0.37", 0),
        ("v0.37.8", "1.0", 1),
        ("v1.0.14", "1.0", 0),
        ("v1.0.14", "1.3", 0),
        ("v1.14.1", "1.14", 0),
    ],
)
def test_published_documents_with_and_without_names(capsys, tag, release, code):
    given = ["--policy", str(upstream.policy_path(tag)), "--to", release]
    assert run(given) == code
    assert run([*given, *NAMES, "--node-role", "nodes", "--queue", "events"]) == code
    capsys.readouterr()


def test_it_runs_without_django_and_without_a_network(file):
    program = (
        "import sys; from migrations_app.cli.iam import run; code = run(sys.argv[1:]);"
        "assert not {'django', 'socket', 'boto3', 'kubernetes', 'subprocess'} & set(sys.modules); sys.exit(code)"
    )
    given = [sys.executable, "-c", program, "--policy", file(EVERYTHING), "--to", "1.0"]
    done = subprocess.run(
        given, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
