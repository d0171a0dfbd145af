"""Sequences of requests as hypothesis makes them: which object, which verb, with which body, said without a name."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

Tree = dict[str, Any]
MERGE, APPLY, JSON_PATCH, JSON = (
    "application/merge-patch+json",
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/json",
)
KINDS: Mapping[str, tuple[str, str, bool]] = {
    "configmaps": ("v1", "ConfigMap", True),
    "pods": ("v1", "Pod", True),
    "nodes": ("v1", "Node", False),
    "poddisruptionbudgets": ("policy/v1beta1", "PodDisruptionBudget", True),
    "gadgets": ("twin.example/v1", "Gadget", True),
}
BETA = {"gadgets": "twin.example/v1beta1"}
NAMES = ("a", "b")
MANAGERS = ("kubectl", "karpdash", "helm")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One request. `tie` and `owner` are resolved by each side with its own uids and versions.

    `tie`: whether uid and resourceVersion of the object are sent along, `right` or `wrong`.
    """

    method: str
    plural: str
    name: str
    body: Any = None
    content_type: str = JSON
    subresource: str = ""
    query: tuple[tuple[str, str], ...] = ()
    beta: bool = False
    tie: str = ""
    owner: tuple[str, str] | None = None


_plurals, _names = st.sampled_from([*KINDS, "configmaps", "gadgets", "pods"]), st.sampled_from(NAMES)
_manager = st.sampled_from(MANAGERS).map(lambda name: (("fieldManager", name),))
_dry = st.sampled_from([(), (), (), (("dryRun", "All"),)])
_tie = st.sampled_from(["", "", "", "", "", "uid right", "uid wrong", "version right", "version wrong"])
_labels = st.dictionaries(st.sampled_from(["tier", "zone", "bad key"]), st.sampled_from(["x", "y"]), max_size=2)
_finalizers = st.sampled_from([None, None, None, ["test.example/hold"], ["test.example/hold", "test.example/b"], ["x"]])
_owner = st.none() | st.tuples(st.sampled_from(["configmaps", "gadgets"]), _names)
_words = st.sampled_from(["x", "y", "z"])
_config_data = st.dictionaries(st.sampled_from(["one", "two", "three"]), _words, max_size=3)
_gadget_specs = st.fixed_dictionaries(
    {"size": st.sampled_from([1, 2, 3, 11, "1", 2.5])},
    optional={
        "mode": st.sampled_from(["slow", "fast", "odd", None]),
        "name": st.sampled_from(["abc", "toolong", "A"]),
        "any": st.sampled_from([1, "1", 1.5]),
        "free": st.sampled_from([{}, {"deep": {"x": 1}}]),
        "tags": st.sampled_from([{"k": "v"}, {"k": "w", "l": "m"}, {"k": 1}]),
        "limits": st.sampled_from([{}, {"cpu": "2"}, {"odd": 1}]),
        "steps": st.sampled_from([[], [{"key": "a"}], [{"key": "a"}, {}], [{"key": "a", "odd": 1}], [{}] * 4]),
        "note": st.sampled_from(["text", None]),
        "at": st.sampled_from(["2026-01-02T03:04:05Z", "noon"]),
        "unknown": st.just(1),
    },
)
_bodies: Mapping[str, st.SearchStrategy[Tree]] = {
    "configmaps": st.fixed_dictionaries({"data": _config_data}),
    "pods": st.fixed_dictionaries({"spec": st.just({"containers": [{"name": "web", "image": "web:1"}]})}),
    "nodes": st.fixed_dictionaries({}, optional={"spec": st.just({"unschedulable": True})}),
    "poddisruptionbudgets": st.fixed_dictionaries(
        {"spec": st.sampled_from([{"minAvailable": 1}, {"maxUnavailable": 1}, {"maxUnavailable": "50%"}])}
    ),
    "gadgets": st.fixed_dictionaries({"spec": _gadget_specs}) | st.just({}),
}
_statuses: Mapping[str, st.SearchStrategy[Tree]] = {
    "pods": st.sampled_from([{"phase": "Running"}, {"phase": "Succeeded"}, {"phase": "Pending"}]),
    "poddisruptionbudgets": st.fixed_dictionaries(
        {"observedGeneration": st.sampled_from([1, 2]), "disruptionsAllowed": st.sampled_from([0, 1, 2])}
    ),
    "gadgets": st.sampled_from([{"phase": "Ready"}, {"phase": 1}, {"odd": "x"}]),
    "nodes": st.just({"phase": "Running"}),
}


@st.composite
def creations(draw: st.DrawFn) -> Step:
    """POST of a new object."""
    plural = draw(_plurals)
    metadata: Tree = {"labels": draw(_labels)}
    if finalizers := draw(_finalizers):
        metadata["finalizers"] = finalizers
    return Step(
        method="POST",
        plural=plural,
        name=draw(st.sampled_from([*NAMES, *NAMES, "Bad_Name"])),
        body=draw(_bodies[plural]) | {"metadata": metadata},
        query=draw(_manager) + draw(_dry),
        beta=plural in BETA and draw(st.booleans()),
        owner=draw(_owner),
    )


@st.composite
def merges(draw: st.DrawFn) -> Step:
    """A merge patch: of the metadata, of the content, or of the status."""
    plural = draw(_plurals)
    subresource = draw(st.sampled_from(["", "", "status"])) if plural in _statuses else ""
    body: Tree
    if subresource:
        body = {"status": draw(_statuses[plural])}
    else:
        body = (
            draw(st.just({}) | _bodies[plural]) if plural in ("configmaps", "gadgets", "poddisruptionbudgets") else {}
        )
        if plural == "nodes":
            body = {"spec": {"unschedulable": draw(st.sampled_from([True, None]))}}
        body |= draw(st.sampled_from([{}, {}, {"metadata": {"annotations": {"note": "new"}}}]))
        if draw(st.booleans()):
            body |= {"metadata": {"labels": draw(_labels), "finalizers": draw(_finalizers)}}
    return Step(
        method="PATCH",
        plural=plural,
        name=draw(_names),
        body=body,
        content_type=MERGE,
        subresource=subresource,
        query=draw(_manager) + draw(_dry),
        beta=plural in BETA and draw(st.booleans()),
        tie=draw(_tie),
    )


_TIER_IS_X = {"op": "test", "path": "/metadata/labels/tier", "value": "x"}
"""Before what 1.20 does with an absent field, and later servers refuse."""
_operations = st.sampled_from(
    [
        [{"op": "add", "path": "/metadata/labels/tier", "value": "z"}],
        [{"op": "remove", "path": "/metadata/labels/tier"}],
        [_TIER_IS_X, {"op": "replace", "path": "/metadata/labels/tier", "value": "q"}],
        [
            {"op": "test", "path": "/metadata/labels/tier", "value": "x"},
            {"op": "remove", "path": "/metadata/labels/tier"},
        ],
        [{"op": "move", "from": "/metadata/labels/tier", "path": "/metadata/labels/zone"}],
        [_TIER_IS_X, {"op": "copy", "from": "/metadata/labels/tier", "path": "/metadata/labels/zone"}],
        [{"op": "add", "path": "/data", "value": {"one": "json"}}],
        [{"op": "add", "path": "/data/four", "value": "json"}, {"op": "remove", "path": "/data/one"}],
        [{"op": "replace", "path": "/spec/size", "value": 7}],
        [{"op": "add", "path": "/spec/steps/-", "value": {"key": "last"}}],
        [{"op": "remove", "path": "/spec/steps/0"}],
        [{"op": "add", "path": "/metadata/finalizers", "value": ["test.example/hold"]}],
        [{"op": "remove", "path": "/metadata/finalizers"}],
        [{"op": "odd", "path": "/data"}],
        {"op": "add", "path": "/data"},
    ]
)


@st.composite
def json_patches(draw: st.DrawFn) -> Step:
    """A JSON patch."""
    return Step(
        method="PATCH",
        plural=draw(st.sampled_from(["configmaps", "gadgets"])),
        name=draw(_names),
        body=draw(_operations),
        content_type=JSON_PATCH,
        query=draw(_manager) + draw(_dry),
    )


@st.composite
def applies(draw: st.DrawFn) -> Step:
    """Server-side apply."""
    plural = draw(st.sampled_from(["configmaps", "gadgets"]))
    labels = draw(st.dictionaries(st.sampled_from(["tier", "zone"]), _words, max_size=2))
    return Step(
        method="PATCH",
        plural=plural,
        name=draw(_names),
        body=draw(_bodies[plural]) | {"metadata": {"labels": labels} if labels else {}},
        content_type=APPLY,
        query=draw(_manager) + draw(_dry) + (("force", draw(st.sampled_from(["true", "false"]))),),
        tie=draw(_tie),
    )


@st.composite
def replacements(draw: st.DrawFn) -> Step:
    """PUT of an object."""
    plural = draw(st.sampled_from(["configmaps", "gadgets"]))
    return Step(
        method="PUT",
        plural=plural,
        name=draw(_names),
        body=draw(_bodies[plural]) | {"metadata": {"labels": draw(_labels)}},
        query=draw(_manager) + draw(_dry),
        tie=draw(_tie),
    )


@st.composite
def deletions(draw: st.DrawFn) -> Step:
    """DELETE of an object."""
    options: Tree = draw(st.sampled_from([{}, {}, {"dryRun": ["All"]}, {"dryRun": ["some"]}]))
    policy = draw(st.sampled_from([None, "Background", "Foreground", "Orphan", "Never"]))
    grace = draw(st.sampled_from([None, None, 0, 5]))
    return Step(
        method="DELETE",
        plural=draw(_plurals),
        name=draw(_names),
        body=options
        | ({"propagationPolicy": policy} if policy else {})
        | ({"gracePeriodSeconds": grace} if grace is not None else {}),
        tie=draw(_tie),
    )


@st.composite
def on_pods(draw: st.DrawFn) -> Step:
    """Eviction and binding."""
    sub = draw(st.sampled_from(["eviction", "eviction", "binding"]))
    body: Tree = {"apiVersion": "policy/v1beta1", "kind": "Eviction"}
    if sub == "binding":
        body = {"apiVersion": "v1", "kind": "Binding", "target": {"apiVersion": "v1", "kind": "Node", "name": "n"}}
    return Step(method="POST", plural="pods", name=draw(_names), body=body, subresource=sub, tie=draw(_tie))


@st.composite
def looks(draw: st.DrawFn) -> Step:
    """GET of an object or of a list."""
    plural = draw(_plurals)
    selector = draw(
        st.sampled_from(["tier=x", "tier!=x", "tier in (x,y)", "tier", "!zone", "tier notin (y)", "tier in x"])
    )
    query: tuple[tuple[str, str], ...] = ()
    name = draw(st.sampled_from([*NAMES, ""]))
    if not name:
        query = (("labelSelector", f"run,{selector}"),)
        fields = draw(st.sampled_from(["", "metadata.name=odd", "spec.nodeName=n", "status.phase!=Pending"]))
        query += (("fieldSelector", fields),) if fields else ()
    beta = plural in BETA and draw(st.booleans())
    return Step(method="GET", plural=plural, name=name, query=query, beta=beta)


_eventful = st.one_of(creations(), creations(), merges(), merges(), json_patches(), applies(), replacements(), looks())
SEQUENCES = st.tuples(
    st.lists(creations(), min_size=1, max_size=3),
    st.lists(st.one_of(_eventful, deletions(), deletions(), on_pods()), min_size=2, max_size=8),
).map(lambda parts: [*parts[0], *parts[1]])
"""Begins with objects that are there, so that the rest finds something."""


def path_of(step: Step, name: str, *, namespace: str) -> str:
    """The path of a request to the object of that name, or to the list for an empty one."""
    version, _, namespaced = KINDS[step.plural]
    version = BETA[step.plural] if step.beta else version
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    found = f"{root}/namespaces/{namespace}/{step.plural}" if namespaced else f"{root}/{step.plural}"
    if step.method != "POST" or step.subresource:
        found += f"/{name}" if name else ""
    return f"{found}/{step.subresource}" if step.subresource else found
