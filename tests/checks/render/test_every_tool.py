"""Changes become remedies: which tools write which, which stands first, and no name leaves its place."""

import json
from pathlib import Path

import pytest
import yaml

from migrations_app.checks.base import RemedyTool
from migrations_app.checks.changes import KarpdashAction, group, leaves
from migrations_app.checks.remedies.commands import FIRST, in_aws, in_cluster, remedies_of
from migrations_app.checks.tools import TOOLS_OF
from migrations_app.inventory.facts.managers import BY_HAND, MANAGERS, Managed
from tests.acceptance.sandbox import CANARY, is_shell, run
from tests.checks.render.changes import ROLE, every_change

HOSTILE = (
    "$(>pwned)",
    "`>pwned`",
    ";>pwned;",
    "'$(>pwned)'",
    '"$(>pwned)"',
    "'\";>pwned #",
    "\n>pwned\n",
    "\r\n>pwned\u2028>pwned\x1b[201~\n>pwned",
    "\\';>pwned;'",
    "-o=>pwned",
    "${file(1)}%{ if x }",
)


def tools(name: str) -> set[RemedyTool]:
    return {one.how for by in MANAGERS for one in remedies_of(every_change("x")[name], Managed(by))}


@pytest.mark.parametrize("name", [one for one in every_change("x") if one not in ("observe", "observe AWS", "group")])
def test_a_change_is_written_for_the_tools_that_the_catalogue_names(name):
    change = every_change("x")[name]
    named = set(TOOLS_OF[type(change)])
    exact = {
        "person in AWS": {"iam"},
        "iam removed": {"iam"},
        "iam unnamed": {"iam"},
        **{f"{verb} {kind}": {"flux"} for verb in ("pause", "resume") for kind in ("HelmRelease", "Kustomization")},
        **{f"{verb} Application": {"argocd"} for verb in ("pause", "resume")},
    }
    assert tools(name) == exact.get(name, named)
    assert name == "person in AWS" or tools(name) <= named


def test_what_only_reads_and_what_stands_together():
    assert (tools("observe"), tools("observe AWS")) == ({"kubectl"}, {"iam"})
    assert tools("group") == {"kubectl", "helm", "terraform", "flux", "argocd"}


@pytest.mark.parametrize("by", MANAGERS)
@pytest.mark.parametrize("name", ["helm", "merge", "group"])
def test_the_tool_that_keeps_the_object_comes_first_and_every_remedy_says_the_change(by, name):
    change = every_change("x")[name]
    found = remedies_of(change, Managed(by))
    assert [one.change for one in found] == [change] * len(found)
    assert by in ("hand", "eksctl") or found[0].how == FIRST[by]


def test_a_tool_that_cannot_make_every_step_makes_none():
    known = every_change("x")
    assert remedies_of(group(known["merge"], known["aws"]), BY_HAND) == ()
    assert remedies_of(group(known["merge"], known["observe AWS"]), BY_HAND) == ()
    assert [one.how for one in remedies_of(group(known["iam"], known["aws"]), BY_HAND)] == ["iam"]
    with pytest.raises(ValueError, match="kubectl cannot"):
        in_cluster(known["aws"])
    with pytest.raises(ValueError, match="aws program cannot"):
        in_aws(known["merge"])


def test_a_role_without_an_arn_is_written_by_no_tool():
    known = every_change("x")["iam"]
    assert remedies_of(type(known)(role="karpenter", policy="x", statements=()), BY_HAND) == ()
    assert ROLE.endswith("/karpenter")


def test_an_action_is_named():
    change = KarpdashAction(action="convert_and_apply")
    (found,) = remedies_of(change, BY_HAND)
    assert (found.how, found.text, found.action) == (
        "action", "Action convert_and_apply of karpdash", "convert_and_apply"
    )  # fmt: skip


def test_no_text_of_a_tool_runs_what_a_cluster_says(tmp_path: Path):
    texts = {
        f"{name} {payload!r} {by} {number}": remedy.text
        for payload in HOSTILE
        for name, change in every_change(f"a{payload}").items()
        for by in MANAGERS
        for number, remedy in enumerate(remedies_of(change, Managed(by, "", f"b{payload}", f"c{payload}")))
        if remedy.how != "action"
    }
    shell = {name: text for name, text in texts.items() if is_shell(text)}
    found = run(shell, tmp_path)
    assert {name for name, words in found.items() if words == [CANARY]} == set()
    assert len(shell) > 500
    lines = [line for text in texts.values() for line in text.splitlines()]
    assert [line for line in lines if line.lstrip().startswith(">pwned")] == []


@pytest.mark.parametrize("payload", [*HOSTILE, "", "plain"])
def test_every_text_is_read_back_with_the_names_that_it_was_given(payload, tmp_path):
    text = f"a{payload}"
    known = every_change(text)
    words = run({name: in_cluster(known[name]).text for name in ("merge", "delete", "labels")}, tmp_path)
    assert words["merge"][:5] == ["kubectl", "-n", text, "patch", "nodepools.karpenter.sh"]
    assert words["merge"][5] == words["delete"][5] == words["labels"][5] == text
    assert json.loads(words["merge"][-1]) == {text: {text: [text]}}
    assert words["labels"][6:] == [f"{text}={text}", f"{text}-", "--overwrite"]
    template = next(one.text for one in remedies_of(known["iam"], BY_HAND) if one.text.startswith("{"))
    (policy,) = json.loads(template)["Resources"].values()
    assert policy["Properties"]["PolicyDocument"]["Statement"][0]["Resource"] == text
    values = next(one.text for one in remedies_of(known["helm"], BY_HAND) if one.how == "flux")
    assert "settings" in yaml.safe_load(values)


def test_a_name_that_begins_with_a_dash_is_no_option(tmp_path: Path):
    known = every_change("--all")
    found = run({"delete": in_cluster(known["delete"]).text, "edit": in_cluster(known["person"]).text}, tmp_path)
    assert found["delete"][5] == found["edit"][5] == "NOT-A-NAME:--all"


def test_groups_open():
    known = every_change("x")
    assert len(tuple(leaves(known["group"]))) == 12
