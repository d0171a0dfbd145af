"""Rules that every runbook keeps, read line by line: the sample stories, and clusters with one and with several faults
planted, from alpha to the newest release."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import chain

import pytest
from msgspec import UNSET

from migrations_app.checks.base import Finding, Remedy
from migrations_app.checks.changes import Change, HelmChange, ObjectDelete, ObjectPatch, Observation, leaves
from migrations_app.checks.render.kubectl import text as kubectl_text
from migrations_app.karpenter.versions import parse
from migrations_app.readiness.outputs import runbook_markdown, runbook_table
from migrations_app.readiness.outputs.runbook_view import LONGEST_LINE, STEP_LINES, printed_runbook
from migrations_app.readiness.runbook.runbook import Runbook, RunbookHop, runbook
from migrations_app.readiness.runbook.stages import RunbookStage
from migrations_app.readiness.runbook.work_order import ALPHA_TO_BETA_CHECKS, reverted_after_upgrade
from migrations_app.samples.fleet import stories
from tests.acceptance.clusters import CLEAN, objects
from tests.acceptance.clusters import find as find_clean
from tests.acceptance.deliveries import TOOLS, delivered
from tests.acceptance.judging import judged
from tests.acceptance.planted import FAULTS
from tests.samples.test_stories import report_on

pytestmark = pytest.mark.xdist_group("stories")  # judged once, in one worker

HOP_LINES = 120
STORIES = tuple(story.name for story in stories())
PLANTED = tuple(
    f"{clean.name}/{fault.of}" for clean in CLEAN for fault in [one for one in FAULTS if one.on == clean.name][::9]
)
DELIVERED = tuple(f"{clean.name}@{tool}" for clean in CLEAN for tool in TOOLS if clean.hop)
NAMES = (*STORIES, *(clean.name for clean in CLEAN), *PLANTED, *DELIVERED)
UPGRADE = re.compile(r"helm upgrade (?:--install )?(\S+) oci://\S+ --version v?(\S+)")
PLACEHOLDER = re.compile(r"<[a-z][a-z -]*>")
MADE = re.compile(r"> (\S+\.(?:yaml|json))")
USED = re.compile(r"(?:-f|--filename|--values|file://) ?(\S+\.(?:yaml|json))")


@cache
def plan(name: str) -> Runbook:
    """The runbook of a story, a clean cluster, one with a fault planted in it, or one that another tool keeps."""
    if name in STORIES:
        return runbook(report_on(name))
    on, _, of = name.partition("/")
    on, _, tool = on.partition("@")
    clean = find_clean(on)
    documents = delivered(objects(clean), clean, by=tool) if tool else objects(clean)  # type: ignore[arg-type]  # names are made of TOOLS
    fault = next((one for one in FAULTS if (one.on, one.of) == (on, of)), None)
    if fault:
        fault.plant(documents)
    return runbook(judged(clean, documents, kubernetes=fault.kubernetes if fault else ""))


def own(remedies: tuple[Remedy, ...]) -> Iterator[Remedy]:
    """Those that a person is shown: of the tool that keeps the object."""
    texts = [one for one in remedies if one.how != "action"]
    return (one for one in texts if one.how == texts[0].how)


def steps(hop: RunbookHop) -> Iterator[tuple[RunbookStage, Finding | None, Remedy]]:
    """Every remedy in the order of the work, with its stage, and the finding that it is of."""
    for stage in hop.stages:
        if stage.commands:
            yield from ((stage, None, one) for one in own(stage.commands))
        else:
            yield from ((stage, finding, one) for finding in hop.open_in(stage) for one in own(finding.remedies))


def commands(remedy: Remedy) -> list[str]:
    """The lines that a shell runs, each with what a backslash continues."""
    if remedy.how not in ("kubectl", "helm", "iam"):
        return []
    whole = remedy.text.replace("\\\n", " ")
    lines = [line.strip() for line in whole.splitlines() if line.strip() and not line.startswith("#")]
    return [line for line in lines if line.split()[0] in ("kubectl", "helm", "aws")]


def changing(remedy: Remedy) -> list[str]:
    """Those of them that change something for good."""
    read = ("kubectl get", "kubectl describe", "kubectl logs", "helm get", "aws iam get", "aws ec2 describe", "aws eks")
    return [line for line in commands(remedy) if not line.startswith(read)]


def every(found: Runbook) -> Iterator[tuple[str, RunbookStage, Finding | None, Remedy]]:
    for hop in found.hops:
        yield from ((hop.path_hop.name, *row) for row in steps(hop))


def test_there_are_enough_of_them_and_each_generation_is_among_them() -> None:
    assert len(NAMES) >= 10 + 30
    assert len(PLANTED) >= 30 - len(CLEAN)
    assert {clean.version.rpartition(".")[0] for clean in CLEAN} >= {"0.28", "0.31", "0.32", "0.37", "1.0", "1.8"}
    assert sum(len(plan(name).hops) for name in NAMES) > 100


@pytest.mark.parametrize("name", NAMES)
def test_no_command_stands_twice(name: str) -> None:
    """What was changed in between, such as a budget over a landing, may be brought back by the same words."""
    told: dict[str, str] = {}
    for hop, _, finding, remedy in every(plan(name)):
        for line in changing(remedy):
            place, (target, _, _) = f"{hop} {finding.id if finding else ''}", line.partition(" -p ")
            assert told.get(target) != line, (line, place)
            told[target] = line


@pytest.mark.parametrize("name", NAMES)
def test_no_change_stands_twice_in_a_hop(name: str) -> None:
    for hop in plan(name).hops:
        told: dict[Change, str] = {}
        for finding in hop.steps:
            changes = dict.fromkeys(one.change for one in finding.remedies if one.change is not UNSET)
            for leaf in dict.fromkeys(chain.from_iterable(map(leaves, changes))):
                if isinstance(leaf, ObjectDelete | ObjectPatch):
                    assert told.setdefault(leaf, finding.id) == finding.id


@pytest.mark.parametrize("name", NAMES)
def test_versions_never_go_back(name: str) -> None:
    found = plan(name)
    newest: dict[str, object] = {}
    for hop, _, _, remedy in every(found):
        for chart, version in UPGRADE.findall(remedy.text.replace("\\\n", " ")):
            release, before = parse(version), newest.get(chart)
            assert release is not None, version
            assert before is None or release >= before, (hop, chart, version)
            newest[chart] = release
    releases = [parse(hop.path_hop.release) for hop in found.hops]
    assert all(one is not None for one in releases)
    assert releases == sorted(releases, key=lambda one: (one.major, one.minor_number, one.patch) if one else (0, 0, 0))


@pytest.mark.parametrize("name", NAMES)
def test_no_upgrade_reuses_the_values_of_the_old_chart(name: str) -> None:
    for _, _, _, remedy in every(plan(name)):
        assert "--reuse-values" not in remedy.text
        for line in commands(remedy):
            if line.startswith("helm upgrade"):
                assert " -f " in line, line
                assert "--namespace " in line, line


@pytest.mark.parametrize("name", NAMES)
def test_every_file_that_is_read_was_made_before(name: str) -> None:
    for hop in plan(name).hops:
        made: set[str] = set()
        for _, _, remedy in steps(hop):
            for line in remedy.text.replace("\\\n", " ").splitlines():
                if line.startswith(("kubectl ", "helm ", "aws ", "karpdash ")):
                    assert set(USED.findall(line)) <= made, line
                made |= set(MADE.findall(line))


@pytest.mark.parametrize("name", NAMES)
def test_no_command_holds_a_placeholder_that_is_not_explained(name: str) -> None:
    for _, _, _, remedy in every(plan(name)):
        notes = " ".join(line for line in remedy.text.splitlines() if line.startswith("#"))
        for line in commands(remedy):
            assert not PLACEHOLDER.search(line.partition(" # ")[0]), line
            for word in re.findall(r"(?<![\w.-])(?:NAME|VERSION|CLUSTER|ROLE_ARN|NAMESPACE)(?![\w:=.-])", line):
                assert word in notes or " # " in line, line


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_deleted_before_its_successor_is_there(name: str) -> None:
    place = {check: at for at, check in enumerate(ALPHA_TO_BETA_CHECKS)}
    for hop in plan(name).hops:
        order = [finding.id for _, finding, _ in steps(hop) if finding and finding.id in place]
        assert order == sorted(order, key=place.__getitem__)
        gone = [
            at
            for at, (_, finding, remedy) in enumerate(steps(hop))
            if finding and finding.id in place and any("kubectl delete" in line for line in commands(remedy))
        ]
        made = [at for at, (_, _, remedy) in enumerate(steps(hop)) if "karpdash convert" in remedy.text]
        fences = [at for at, (_, _, remedy) in enumerate(steps(hop)) if "karpenter.sh/legacy" in remedy.text]
        if made and gone:
            assert max(made) < min(gone)
            assert fences
            assert max(made) < min(fences) < min(gone)


@pytest.mark.parametrize("name", NAMES)
def test_every_hop_ends_with_a_scan_and_tells_the_rollback(name: str) -> None:
    for hop in plan(name).hops:
        assert [stage.part for stage in hop.stages][-1] == "verify"
        landing = [stage for stage in hop.stages if stage.part == "land" and stage.commands]
        assert landing
        assert all(stage.back for stage in landing)
        parts = [stage.part for stage in hop.stages]
        assert parts == sorted(parts, key=("before", "land", "after", "verify").index)


@pytest.mark.parametrize("name", NAMES)
def test_every_change_of_an_object_says_what_is_seen_and_how_it_is_undone(name: str) -> None:
    silent = set()
    for hop in plan(name).hops:
        for finding in hop.steps:
            for change in dict.fromkeys(one.change for one in finding.remedies if one.change is not UNSET):
                for leaf in leaves(change):
                    if isinstance(leaf, ObjectDelete | ObjectPatch) and not (leaf.done and (leaf.undo or leaf.final)):
                        silent.add(finding.id)
    assert silent <= NO_WAY_BACK


NO_WAY_BACK: frozenset[str] = frozenset()
"""Checks whose changes do not tell their rollback yet."""


@pytest.mark.parametrize("name", NAMES)
def test_a_later_hop_asks_for_nothing_that_an_earlier_one_asks_for(name: str) -> None:
    told: dict[tuple[str, ...], str] = {}
    for hop in plan(name).hops:
        for finding in hop.steps:
            anew = finding.id == "hop_crds_installed" or reverted_after_upgrade((finding,))
            if finding.status != "fail" or anew or not finding.remedies:
                continue
            for row in finding.evidence:
                cause = (finding.id, row.kind, row.namespace, row.name, row.path, row.wanted)
                assert cause not in told, (cause, told.get(cause), hop.path_hop.name)
                told[cause] = hop.path_hop.name


@pytest.mark.parametrize("name", NAMES)
def test_a_release_is_landed_with_what_its_hop_asks_of_its_values(name: str) -> None:
    for hop in plan(name).hops:
        asked = [one.change for finding in hop.steps for one in finding.remedies if isinstance(one.change, HelmChange)]
        assert [one for one in asked if one.when == "landing"] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_hop_is_read_in_ten_minutes(name: str) -> None:
    found = plan(name)
    for text, hop, step in (
        (runbook_table.render(found), r"\d+\. Hop ", r"   \d+\.\d+ "),
        (runbook_markdown.render(found), r"## \d+\. ", r"### \d+\.\d+ "),
    ):
        body = re.split(r"^(?:File |## Files)", text, flags=re.MULTILINE)[0]
        for part in re.split(rf"^(?={hop})", body, flags=re.MULTILINE)[1:]:
            assert len(part.strip().splitlines()) <= HOP_LINES
            for one in re.split(rf"^(?={step})", part, flags=re.MULTILINE)[1:]:
                lines = re.split(r"\n\n|\n   \d+ checks? (?:is|are) settled", one.strip("\n"))[0].splitlines()
                assert len(lines) <= STEP_LINES, one


def test_what_only_reads_is_no_change() -> None:
    look = Observation(pipe=(("kubectl", "get", "nodes"),))
    assert changing(Remedy(how="kubectl", text="kubectl get nodes", change=look)) == []
    assert changing(Remedy(how="helm", text="helm upgrade a \\\n  -f b.yaml")) == ["helm upgrade a    -f b.yaml"]


@pytest.mark.parametrize("name", NAMES)
def test_a_delivery_applies_what_is_changed_in_its_source(name: str) -> None:
    """Flux applies nothing while it is paused, and Argo CD nothing by itself while its sync policy is off."""
    for hop in plan(name).hops:
        told = [(stage, line) for stage, _, remedy in steps(hop) for line in remedy.text.splitlines()]
        places = {line: at for at, (_, line) in enumerate(told)}
        for at, (stage, line) in enumerate(told):
            if line.startswith("flux reconcile helmrelease "):
                resumed = places.get(line.partition(" --with-source")[0].replace("reconcile", "resume", 1), -1)
                assert resumed < at, line
            if re.match(r"# (HelmRelease|Application) \S+, spec", line) and "version: " in line + str(stage.commands):
                kind = "flux reconcile helmrelease " if "HelmRelease" in line else "argocd app sync "
                assert any(each.startswith(kind) for _, each in told[at:]), line


@pytest.mark.parametrize("name", NAMES)
def test_a_change_stands_after_what_it_needs(name: str) -> None:
    """`needs` of the changes, as far as the findings still carry them."""
    for hop in plan(name).hops:
        order = [finding.id for _, finding, _ in steps(hop) if finding]
        for _, finding, remedy in steps(hop):
            needed = remedy.change.needs if finding and remedy.change is not UNSET else ()
            for other in needed if finding else ():
                assert other not in order or finding is None or order.index(other) < order.index(finding.id), finding.id


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_taken_back_that_the_hop_only_makes_afterwards(name: str) -> None:
    for hop in plan(name).hops:
        back = {line for stage, finding, remedy in steps(hop) if finding is None for line in changing(remedy)}
        for finding in hop.steps:
            for change in dict.fromkeys(one.change for one in finding.remedies if one.change is not UNSET):
                for leaf in leaves(change):
                    if isinstance(leaf, ObjectPatch) and leaf.when == "after" and leaf.undo is not None:
                        assert kubectl_text(leaf.undo) not in back, finding.id


@pytest.mark.parametrize("name", NAMES)
def test_budgets_are_only_written_where_crds_keep_them(name: str) -> None:
    """Before 0.34 a server drops the field without a word."""
    for hop in plan(name).hops:
        start = parse(hop.starts)
        for stage, _, remedy in steps(hop):
            for line in changing(remedy):
                if "patch nodepools" in line and '"budgets"' in line and start is not None:
                    assert (start.major, start.minor_number) >= (0, 34) or stage.part != "before", line


@pytest.mark.parametrize("name", NAMES)
def test_no_command_among_the_steps_is_too_long_to_read(name: str) -> None:
    for hop in printed_runbook(plan(name)).hops:
        for step in hop.steps:
            every = [*step.commands, *(one for item in step.items for one in item.commands)]
            shown = [line for one in every if not one.file for line in one.text.splitlines()]
            assert [line for line in shown if len(line) > LONGEST_LINE] == []


@pytest.mark.parametrize("name", NAMES)
def test_what_has_to_be_read_first_stands_first(name: str) -> None:
    """A comment is put behind its command only where both are one line of a step: in a file it stands before it."""
    for file in printed_runbook(plan(name)).files:
        assert [one for one in file.text.splitlines() if "  # " in one and len(one) > LONGEST_LINE] == [], file.name


@pytest.mark.parametrize("name", [one for one in NAMES if "@" in one])
def test_what_a_tool_delivers_is_upgraded_by_that_tool(name: str) -> None:
    """helm and kubectl would be undone, or there is no release of Helm: before the landing as well as with it."""
    tool = name.partition("@")[2]
    for hop in plan(name).hops:
        for stage in hop.stages:
            if stage.phase == "controller" and stage.commands:
                assert {one.how for one in own(stage.commands)} == {tool}, stage.does
