"""Each remedy reads as what it is, names what is really there, and is offered wherever a check fails."""

import json
import re
import subprocess

import hcl2
import yaml
from lark.exceptions import LarkError

from migrations_app.actions.registry import all_actions
from tests.acceptance.advice import Advice, advice, planned, without_advice
from tests.acceptance.commands import Command, commands
from tests.acceptance.judged_faults import ONE_WORKER

pytestmark = ONE_WORKER

EXEMPT = {"alpha_crds_gone", "way_back_open"}
"""Where there is none: left-over CRDs that a chart will remove, and releases that no guide leads back to."""
NOT_SEEN = ("karpenter", "NAMESPACE")
"""What the plan says of a cluster that shows no Deployment of Karpenter: where it runs is for a person to fill in."""
SHELL = ("kubectl", "helm", "iam")
MADE_OF = {"nodepool": "provisioner", "ec2nodeclass": "awsnodetemplate"}
"""Kinds that an earlier hop makes under the same name."""
BROUGHT = {("customresourcedefinition", "machines.karpenter.sh")}
"""What the chart of an earlier hop brings where it was missing."""
SHORT = {"crd": "customresourcedefinition", "pdb": "poddisruptionbudget", "serviceaccounts": "serviceaccount"}


def kind_of(resource: str) -> str:
    """The kind, in small letters, of what kubectl is given as a resource."""
    word = resource.partition(".")[0].lower()
    word = SHORT.get(word, word)
    if word.endswith(("policies", "ies")):
        return f"{word[:-3]}y"
    return (
        word.removesuffix("es")
        if word.endswith(("classes", "sses"))
        else word.removesuffix("s")
        if word != "class"
        else word
    )


def _wrong(one: Advice) -> str:
    """What keeps the remedy from being read; empty where nothing does."""
    text, how = one.remedy.text, one.remedy.how
    first = next((line for line in text.splitlines() if line and not line.startswith("#")), "")
    try:
        if how == "action":
            return "" if one.remedy.action in {action.id for action in all_actions()} else "no such action"
        if how == "terraform":
            hcl2.loads(f"{text}\n")
        elif text.startswith("{"):
            json.loads(text)
        elif how in SHELL or first.startswith(("flux ", "argocd ")):
            done = subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True, check=False)
            return done.stderr
        else:
            told = yaml.safe_load(text)
            return "" if told is None or isinstance(told, dict) else f"{type(told).__name__} where values belong"
    except (LarkError, ValueError, yaml.YAMLError) as wrong:
        return str(wrong) or type(wrong).__name__
    return ""


def test_there_is_advice_of_every_kind() -> None:
    kinds = {one.remedy.how for one in advice()}
    assert kinds == {"kubectl", "helm", "terraform", "flux", "argocd", "iam", "action"}
    assert len(advice()) > 500


def test_every_failure_offers_a_remedy() -> None:
    assert without_advice() <= EXEMPT


def test_every_remedy_reads_as_what_it_is() -> None:
    assert [f"{wrong}: {one}" for one in advice() if (wrong := _wrong(one))] == []


def test_no_remedy_is_prose_that_a_shell_would_run() -> None:
    known = (
        "kubectl ",
        "helm ",
        "aws ",
        "karpdash ",
        "grep ",
        "for ",
        "if ",
        "done",
        "  ",
        "#",
        "{",
        "}",
        '"',
        "flux ",
        "argocd ",
    )
    shells = [one for one in advice() if one.remedy.how in SHELL and not one.remedy.text.startswith("{")]
    strange = [one for one in shells for line in one.remedy.text.splitlines() if line and not line.startswith(known)]
    assert [str(one) for one in strange] == []


def _there(command: Command, one: Advice) -> bool:
    """Whether it is in the cluster, or made by an earlier hop of the same plan."""
    kind = kind_of(command.resource)
    if (kind, command.name) in BROUGHT:
        return True
    return any(
        found["kind"].lower() in (kind, MADE_OF.get(kind))
        and found["metadata"]["name"] == command.name
        and command.namespace in ("", found["metadata"].get("namespace", ""))
        for found in one.documents
    )


def test_commands_name_objects_that_are_there() -> None:
    every = [(command, one) for one in advice() for command in commands(one.remedy.text) if command.name]
    assert len(every) > 150
    assert [f"{command} of {one}" for command, one in every if not _there(command, one)] == []


def test_no_remedy_reuses_values() -> None:
    assert [str(one) for one in (*advice(), *planned()) if "reuse-values" in one.remedy.text] == []


def test_charts_are_upgraded_where_they_are_installed() -> None:
    upgrade = re.compile(r"^helm upgrade (?:--install )?(\S+) .*--namespace (\S+)", re.MULTILINE)
    told = [(match, one) for one in (*advice(), *planned()) for match in upgrade.finditer(one.remedy.text)]
    assert len(told) > 50
    homes = {
        id(one): {
            (found["metadata"]["labels"].get("app.kubernetes.io/instance"), found["metadata"].get("namespace"))
            for found in one.documents
            if found["kind"] == "Deployment" and "app.kubernetes.io/instance" in found["metadata"].get("labels", {})
        }
        or {NOT_SEEN}
        for _, one in told
    }
    strange = [str(one) for match, one in told if (match[1].removesuffix("-crd"), match[2]) not in homes[id(one)]]
    assert strange == []
