"""Shows a plan as sentences, as kubectl commands, and as manifests for a repository. Executes nothing.

Text from a cluster is untrusted: names and values stay inside quotes, comments stay on one line.
"""

import difflib
import json
import shlex
from collections.abc import Iterator
from typing import Any

import msgspec

from migrations_app.actions.changes import (
    FIELD_MANAGER,
    MARK_PLAN,
    MARK_ROLLOUT,
    ObjectTarget,
    PlannedRequest,
    checked_name,
)
from migrations_app.actions.gate import Gate
from migrations_app.actions.helm.request import HelmRun, run_of
from migrations_app.actions.patches import without_head
from migrations_app.actions.plan import ListLimit, Plan, Step
from migrations_app.manifests import JsonMap
from migrations_app.manifests.text_lines import one_line
from migrations_app.manifests.writer import stream, text_of

NOISE = ("managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink")
"""Metadata fields that the server maintains."""
NOISY_ANNOTATIONS = (MARK_ROLLOUT, MARK_PLAN, "kubectl.kubernetes.io/last-applied-configuration")
NOT_IN_GIT = ("Node", "Pod", "Machine", "NodeClaim")
"""Kinds that no repository holds."""
MERGED_LISTS = ("topologySpreadConstraints",)
REPLACE = {"$patch": "replace"}
CONTEXT = 3

DiffLine = tuple[str, str]
"""A sign (`-`, `+`, a blank, or `@` between two places) and a line of YAML."""


def step_lines(step: Step) -> tuple[str, ...]:
    """The step as sentences; the first is its title."""
    return tuple(one_line(line) for line in _sentences(step))


def _sentences(step: Step) -> Iterator[str]:
    yield f"{step.id}: {step.title}" if step.id else step.title
    if step.change is not None:
        undo = f"undo: {_undo_words(step.undo)}" if step.undo else "no undo"
        yield f"  risk {step.risk}; {undo}"
    if step.manager:
        yield f"  kept by {step.manager}, who would revert it"
    if step.computed_from:
        yield f"  computed from {', '.join(source.target.display_name for source in step.computed_from)}"
    if step.at_most:
        yield f"  only while there are at most {', '.join(f'{limit.most} {limit.what}' for limit in step.at_most)}"
    if step.note:
        yield f"  {step.note}"
    if step.after is not None:
        yield f"  then: {gate_words(step.after)}"


def _undo_words(change: PlannedRequest) -> str:
    if change.verb == "helm":
        return _helm_run_words(change)
    verb = {"create": "creating", "apply": "applying", "patch": "patching", "delete": "deleting"}[change.verb]
    return f"{verb} {change.target.display_name}"


def _helm_run_words(change: PlannedRequest) -> str:
    """Such as `helm rollback of karpenter/karpenter to revision 4`."""
    run = run_of(change.body)
    return f"helm {run.do} of {run.namespace}/{run.release} to {f'revision {run.to}' if run.to else run.version}"


def gate_words(gate: Gate) -> str:
    """What must hold before the next step, as text."""
    parts = [f"{len(gate.gone)} objects are gone"] if len(gate.gone) > 1 else []
    parts += [f"{target.display_name} is gone" for target in gate.gone] if len(gate.gone) == 1 else []
    parts += ["all that was launched is Ready"] if gate.replaced else []
    parts += ["no node of a Provisioner is left"] if gate.no_legacy_nodes else []
    parts += ["Karpenter drains no other node"] if gate.no_drains else []
    parts += [f"{gate.delivery.target.display_name} has delivered {gate.delivery.version}"] if gate.delivery else []
    parts += [f"the pods of {gate.workload.target.display_name} are replaced"] if gate.workload else []
    parts += [f"the controller runs {gate.controller.wanted}"] if gate.controller else []
    if gate.pending_above is not None:
        parts.append(
            "no more pods are Pending than before" + (f", but {gate.pending_above}" * bool(gate.pending_above))
        )
    return f"wait until {', '.join(parts) or 'the cluster shows it'}, at most {gate.seconds} s"


def as_kubectl(step: Step) -> str:
    """A kubectl command with the same effect, after the title as a comment; a step without a request is only a
    comment. A deletion looks first: whether the object is the planned one, and takes no more along than was previewed.
    """
    head = f"# {one_line(step.title)}"
    if step.change is None:
        wait = f"# {one_line(gate_words(step.after))}" if step.after else ""
        return "\n".join(line for line in (head, wait) if line)
    return f"{head}\n{_looking_first(step, step.change)}"


def _looking_first(step: Step, change: PlannedRequest) -> str:
    """The command, where it deletes after the step's conditions: if one is not met, it says so and fails."""
    conditions = [*_same_uid(change), *(_no_more(limit) for limit in step.at_most)]
    if not conditions:
        return command(change)
    said = f"not sent: {change.target.display_name} is another one now, or takes more along than was previewed"
    return f"if {' && '.join(conditions)}; then {command(change)}; else echo {shlex.quote(said)} >&2; false; fi"


def _same_uid(change: PlannedRequest) -> Iterator[str]:
    """For a deletion, which kubectl cannot bind to a uid; the server compares the uid in the body of other requests."""
    target = change.target
    if change.verb == "delete" and target.uid:
        home = ("-n", target.namespace) if target.namespace else ()
        words = ("kubectl", *home, "get", _resource(target), target.name, "-o", "jsonpath={.metadata.uid}")
        yield f'[ "$({_quoted(*words)})" = {shlex.quote(target.uid)} ]'


def _no_more(limit: ListLimit) -> str:
    """A list that cannot be read counts as too many: the assignment fails then."""
    resource = f"{limit.plural}.{limit.version}.{limit.group}" if limit.group else limit.plural
    selector = ("-l", limit.label_selector) if limit.label_selector else ()
    words = ("kubectl", "get", resource, "--all-namespaces", *selector, "-o", "name")
    return f'found=$({_quoted(*words)}) && [ "$(printf %s "$found" | grep -c .)" -le {limit.most} ]'


def command(change: PlannedRequest) -> str:
    """The request as one kubectl command, with its input if it has one. Raises InvalidInput for an invalid name."""
    checked_name(change.target.name)
    if change.verb == "helm":
        return _helm_command(change)
    change = _bound_to_uid(change)
    home = ("-n", change.target.namespace) if change.target.namespace else ()
    if change.verb in ("create", "apply"):
        verb = ("create",) if change.verb == "create" else ("apply", "--server-side")
        line = _quoted("kubectl", *home, *verb, f"--field-manager={FIELD_MANAGER}", "-f", "-")
        return f"{line} {_heredoc(text_of(_full_object(change)))}"
    return _quoted("kubectl", *home, change.verb, _resource(change.target), change.target.name, *_options(change))


def _bound_to_uid(change: PlannedRequest) -> PlannedRequest:
    """The change with the planned object's uid: the server refuses it for another object of that name."""
    if change.verb not in ("patch", "apply") or not change.target.uid:
        return change
    metadata = {"uid": change.target.uid} | (change.body.get("metadata") or {})
    return msgspec.structs.replace(change, body=change.body | {"metadata": metadata})


def _helm_command(change: PlannedRequest) -> str:
    """The commands for a person: the first reads the values of the release. Names and values are quoted."""
    run = run_of(change.body)
    release, home = shlex.quote(run.release), shlex.quote(run.namespace)
    if run.do == "rollback":
        return f"helm rollback {release} {run.to} -n {home} --history-max 0"
    first = f"helm get values {release} -n {home} --revision {run.before} -o yaml > values.yaml"
    return f"{first} &&\n{_helm_upgrade(run, release=release, home=home)}"


def _helm_upgrade(run: HelmRun, *, release: str, home: str) -> str:
    words = ["helm", "upgrade", release, shlex.quote(run.source or run.chart), "-n", home]
    words += ["--version", shlex.quote(run.version)] if run.source.startswith("oci://") else []
    words += ["--reset-values", "-f", "values.yaml", "--skip-crds", "--history-max", "0"]
    for key, text in run.changes:
        words += ["--set-json", shlex.quote(f"{key}={text or 'null'}")]
    return " ".join(words)


def _options(change: PlannedRequest) -> Iterator[str]:
    if change.verb == "delete":
        policy = str(change.body.get("propagationPolicy", "Background")).lower()
        yield from (f"--cascade={policy}", "--wait=false")
        return
    yield from (f"--field-manager={FIELD_MANAGER}", "--type=merge")
    if change.subresource:
        yield f"--subresource={change.subresource}"
    yield from ("-p", json.dumps(change.body, separators=(",", ":")))


def _resource(target: ObjectTarget) -> str:
    """The resource with version and group in kubectl's format: the plural alone may match another group."""
    return f"{target.plural}.{target.version}.{target.group}" if target.group else target.plural


def _quoted(*words: str) -> str:
    return " ".join(shlex.quote(word) for word in words)


def _heredoc(text: str) -> str:
    """The text as a here-document, with a quoted delimiter that is not a line of it."""
    lines = set(text.splitlines())
    word = next(name for name in ("EOF", *(f"EOF_{count}" for count in range(len(lines) + 1))) if name not in lines)
    return f"<<'{word}'\n{text}{'' if text.endswith(chr(10)) else chr(10)}{word}"


def as_manifest(step: Step) -> str:
    """The step as a repository holds it: the complete object, or a Kustomize patch; empty for a watch.

    For a deletion, the patch that deletes the object.
    """
    if step.change is None:
        return ""
    return text_of(_patch_body(step.change), head=f"# {one_line(step.title)}")


def gitops_patch(plan: Plan) -> str:
    """Every step that a repository can hold, as one YAML stream; other steps are listed in comments."""
    documents = [as_manifest(step) for step in plan.steps if step.change and not _exclusion_reason(step.change)]
    others = [(step, reason) for step in plan.steps if step.change and (reason := _exclusion_reason(step.change))]
    left_out = [f"# not for a repository: {one_line(step.title)} ({reason})" for step, reason in others]
    return "\n".join([*left_out, stream(documents)] if left_out else [stream(documents)]).rstrip("\n") + "\n"


def _exclusion_reason(change: PlannedRequest) -> str:
    if change.verb == "helm":
        return "helm does it, with the values of the release"
    if change.target.kind in NOT_IN_GIT:
        return f"no repository holds a {change.target.kind}"
    return "only the cluster holds a status" if change.subresource else ""


def _full_object(change: PlannedRequest) -> JsonMap:
    """The object as it is sent, with its identifying fields."""
    target = change.target
    place = {"namespace": target.namespace} if target.namespace else {}
    metadata = {"name": target.name} | place | (without_head(change.body).get("metadata") or {})
    rest = {key: value for key, value in without_head(change.body).items() if key != "metadata"}
    return {"apiVersion": target.api_version, "kind": target.kind, "metadata": metadata} | rest


def _patch_body(change: PlannedRequest) -> JsonMap:
    if change.verb != "delete":
        return _replacing(_full_object(change)) if change.verb == "patch" else _full_object(change)
    return {"$patch": "delete"} | _full_object(PlannedRequest(verb="patch", target=change.target))


def _replacing(value: Any) -> Any:  # noqa: ANN401 - plain JSON
    """The value with a replace directive: Kustomize merges such lists of built-in kinds by key, but the plan replaces
    them.
    """
    if not isinstance(value, dict):
        return value
    fields = {key: _replacing(item) for key, item in value.items()}
    return {
        key: [*item, REPLACE] if key in MERGED_LISTS and isinstance(item, list) else item
        for key, item in fields.items()
    }


def diff_lines(before: JsonMap | None, after: JsonMap | None) -> tuple[DiffLine, ...]:
    """The difference of two reads of one object as YAML lines, with some context around each change."""
    lines_before, lines_after = (_lines(tree) for tree in (before, after))
    return tuple(
        _diff_line(line) for line in list(difflib.unified_diff(lines_before, lines_after, lineterm="", n=CONTEXT))[2:]
    )


def _diff_line(line: str) -> DiffLine:
    return ("@", "") if line.startswith("@@") else (line[:1], line[1:])


def _lines(tree: JsonMap | None) -> list[str]:
    return text_of(_without_noise(tree)).splitlines() if tree else []


def _without_noise(tree: JsonMap) -> JsonMap:
    """The object without fields that the server maintains, its fields in a fixed order."""
    fields: dict[str, Any] = {key: value for key, value in tree.items() if key != "status"}
    metadata = {key: value for key, value in (tree.get("metadata") or {}).items() if key not in NOISE}
    marks = {
        key: text for key, text in (metadata.pop("annotations", None) or {}).items() if key not in NOISY_ANNOTATIONS
    }
    ordered: JsonMap = _ordered(fields | {"metadata": metadata | ({"annotations": marks} if marks else {})})
    return ordered


def _ordered(value: Any) -> Any:  # noqa: ANN401 - plain JSON
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in sorted(value)}
    return [_ordered(item) for item in value] if isinstance(value, list) else value
