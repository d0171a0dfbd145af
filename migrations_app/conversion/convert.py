"""Entry point of the conversion: a list of objects in, their converted objects and findings out, in input order."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from migrations_app.conversion import accelerators, kubelet, metadata, node_class, schema
from migrations_app.conversion.findings import ConversionFinding, FindingCollector
from migrations_app.conversion.metadata import name_of
from migrations_app.conversion.node_class import convert_class
from migrations_app.conversion.node_pool import convert_claim, convert_pool
from migrations_app.conversion.node_template import convert_template
from migrations_app.conversion.objects import KnownNames, ObjectDraft, Options, spec_of, template_spec
from migrations_app.conversion.provisioner import convert_provisioner
from migrations_app.conversion.refusals import note_older_fields, note_refusals
from migrations_app.conversion.required_fields import note_missing_fields, note_refused_budgets
from migrations_app.karpenter import labels

_CHECKS = {"NodePool": schema.NODE_POOL, "EC2NodeClass": schema.NODE_CLASS}


def already_beta(body: Mapping[str, Any], notes: FindingCollector, *, generation: str) -> list[ObjectDraft]:
    """A v1beta1 object with cleaned metadata, if v1beta1 is the target; empty for v1 objects and NodeClaims."""
    if generation == "v1":
        notes.add(
            "no-way-back", (), what="a v1 object is not converted to v1beta1; use the rollback of Karpenter's webhook"
        )
        return []
    if body["kind"] == "NodeClaim":
        notes.add("nodeclaim-view-only", (), what="a v1beta1 NodeClaim is left alone")
        return []
    head = metadata.cleaned(body, notes)
    _CHECKS[body["kind"]](spec_of(body), ("spec",), notes=notes)
    if notes.failed:
        return []
    kubelet.check(template_spec(body).get("kubelet") or {}, ("spec", "template", "spec", "kubelet"), notes=notes)
    notes.add("already-v1beta1", (), what="already v1beta1, printed as it is")
    manifest = {key: head if key == "metadata" else value for key, value in body.items() if key != "status"}
    return [ObjectDraft(manifest, notes)]


Body = Mapping[str, Any]

_ALPHA: Final = "karpenter.sh/v1alpha5"
_ALPHA_AWS: Final = "karpenter.k8s.aws/v1alpha1"
_GENERATIONS: Final[dict[tuple[str, str], str]] = {
    (_ALPHA, "Provisioner"): "alpha",
    (_ALPHA, "Machine"): "machine",
    (_ALPHA_AWS, "AWSNodeTemplate"): "alpha",
    ("karpenter.sh/v1beta1", "NodePool"): "beta",
    ("karpenter.sh/v1beta1", "NodeClaim"): "beta",
    ("karpenter.k8s.aws/v1beta1", "EC2NodeClass"): "beta",
    ("karpenter.sh/v1", "NodePool"): "v1",
    ("karpenter.sh/v1", "NodeClaim"): "v1",
    ("karpenter.k8s.aws/v1", "EC2NodeClass"): "v1",
}
_OF_KARPENTER: Final = re.compile(r"(^|\.)karpenter\.(sh|k8s\.aws)/")
"""Matches an apiVersion of Karpenter or of a group below its own, which the first releases had."""


@dataclass(slots=True)
class Item:
    """The result for one input object. `objects` is empty if it has an error or is of another kind."""

    source: Body
    generation: str
    kind: str
    name: str
    objects: list[dict[str, Any]] = field(default_factory=list)
    losses: list[ConversionFinding] = field(default_factory=list)
    view_only: bool = False
    """True if the objects are for viewing only and must not be applied."""


@dataclass(frozen=True, slots=True)
class ConversionResult:
    items: tuple[Item, ...]

    @property
    def objects(self) -> list[dict[str, Any]]:
        """Every result, in input order."""
        return [body for item in self.items for body in item.objects]

    @property
    def losses(self) -> list[ConversionFinding]:
        """Every finding, in input order."""
        return [loss for item in self.items for loss in item.losses]


class _Work:
    """One item with its drafts and the findings of both steps."""

    def __init__(self, item: Item) -> None:
        self.item = item
        self.drafts: list[ObjectDraft] = []
        self.notes = [FindingCollector(item.kind, item.name)]

    def second_notes(self, kind: str, name: str) -> FindingCollector:
        self.notes.append(FindingCollector(kind, name))
        return self.notes[-1]

    @property
    def failed(self) -> bool:
        return any(notes.failed for notes in self.notes)

    def losses(self) -> list[ConversionFinding]:
        """The findings of all steps; the second step does not repeat codes of the first."""
        first, *later = self.notes
        first_codes = {loss.code for loss in first.losses}
        return first.losses + [loss for notes in later for loss in notes.losses if loss.code not in first_codes]


def generation_of(body: Body) -> str:
    """alpha, machine, beta or v1; "other" for objects that are not Karpenter's or have an unknown version."""
    api_version, kind = body.get("apiVersion"), body.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return "other"
    return _GENERATIONS.get((api_version, kind), "other")


def convert(
    bodies: Iterable[Body],
    options: Options = Options(),  # noqa: B008 - frozen
    *,
    known_names: KnownNames = KnownNames(),  # noqa: B008 - frozen
) -> ConversionResult:
    """Each object converted to the target generation, with its findings; never raises because of an
    object's content.
    """
    works = [_Work(_item(body)) for body in bodies]
    _refuse_repeats(works)
    taken = {work.item.name for work in works if work.item.kind in ("AWSNodeTemplate", "EC2NodeClass")}
    _first_step(works, options=options, known_names=known_names, taken=taken)
    later = [work for work in works if _goes_to_v1(work, options)]
    for work in later:
        _second_step(work, options=options, known_names=known_names)
    copies = _settle(later, known_names=known_names, taken=taken)
    _view_claims(later)
    for work in works:
        _note_refusals(work)
        _finish(work, copies)
    _note_same_names(works)
    return ConversionResult(tuple(work.item for work in works))


def _item(body: Body) -> Item:
    kind = body.get("kind")
    return Item(body, generation_of(body), kind if isinstance(kind, str) and kind else "document", name_of(body))


def _key(body: Body) -> tuple[str, str, str]:
    return (str(body.get("apiVersion")).partition("/")[0], str(body.get("kind")), name_of(body))


def _refuse_repeats(works: Sequence[_Work]) -> None:
    seen: set[tuple[str, str, str]] = set()
    for work in works:
        if work.item.generation == "other" or not work.item.name:
            continue
        key = _key(work.item.source)
        if key in seen:
            message = (
                f"{work.item.kind} {work.item.name} is in the input twice; the first one is converted, this one is not"
            )
            work.notes[0].add("duplicate-object", ("metadata", "name"), what=message)
        seen.add(key)


def _cluster_dns(works: Sequence[_Work]) -> dict[str, list[str]]:
    """clusterDNS of the Provisioners by the template they use; values of the wrong type are left out."""
    dns_by_class: dict[str, list[str]] = {}
    for work in works:
        spec = work.item.source.get("spec")
        if work.item.kind == "Provisioner" and isinstance(spec, Mapping):
            reference, settings = spec.get("providerRef"), spec.get("kubeletConfiguration")
            if isinstance(reference, Mapping) and isinstance(settings, Mapping):
                addresses = settings.get("clusterDNS")
                listed = addresses if isinstance(addresses, list) else []
                dns_by_class.setdefault(str(reference.get("name")), []).extend(map(str, listed))
    return dns_by_class


def _first_step(works: Sequence[_Work], *, options: Options, known_names: KnownNames, taken: set[str]) -> None:
    """Alpha to v1beta1, and findings about objects that are not converted."""
    dns = _cluster_dns(works)
    for work in works:
        item, notes = work.item, work.notes[0]
        if work.failed:
            continue
        if item.generation == "alpha" and item.kind == "Provisioner":
            work.drafts = convert_provisioner(item.source, notes, options=options, known_names=known_names, taken=taken)
            taken.update(draft.name for draft in work.drafts[1:])
        elif item.generation == "alpha":
            addresses = dns.get(item.name, [])
            work.drafts = convert_template(
                item.source, notes, options=options, known_names=known_names, cluster_dns=addresses
            )
        elif item.generation == "machine":
            message = "Machines are not converted; they go when their nodes are replaced"
            notes.add("machine-not-migrated", (), what=message)
        elif item.generation == "other":
            _leave_alone(item, notes)
        elif options.to == "v1beta1":
            work.drafts = already_beta(item.source, notes, generation=item.generation)


def _leave_alone(item: Item, notes: FindingCollector) -> None:
    """Says why the object is not converted: a kind of Karpenter in a version that it does not have is an error."""
    api_version = item.source.get("apiVersion", "no apiVersion")
    known = [version for version, kind in _GENERATIONS if kind == item.kind]
    if known and _OF_KARPENTER.search(str(api_version)):
        message = f"{api_version} has no {item.kind} that can be converted; it is of {', '.join(known)}"
        notes.add("unknown-api-version", ("apiVersion",), what=message)
    else:
        notes.add("skipped-kind", (), what=f"{api_version} {item.kind} is left alone")


def _goes_to_v1(work: _Work, options: Options) -> bool:
    if work.failed or options.to == "v1beta1":
        return False
    return work.item.generation in ("beta", "v1") or (work.item.generation == "alpha" and options.to == "v1")


def _second_step(work: _Work, *, options: Options, known_names: KnownNames) -> None:
    """v1beta1 to v1, and v1 to its clean form; claims are converted after their pools."""
    item = work.item
    if item.generation == "alpha":
        betas = [(draft.body, work.second_notes(draft.kind, draft.name)) for draft in work.drafts]
    else:
        betas = [(dict(item.source), work.notes[0])]
    work.drafts = []
    for body, notes in betas:
        if item.generation == "v1":
            work.drafts += _finish_v1(body, notes, known_names=known_names)
        elif body["kind"] == "NodePool":
            work.drafts += convert_pool(body, notes, options=options)
        elif body["kind"] == "EC2NodeClass":
            work.drafts += convert_class(body, notes, options=options)
    if work.failed:
        work.drafts = []


def _finish_v1(body: dict[str, Any], notes: FindingCollector, *, known_names: KnownNames) -> list[ObjectDraft]:
    if body["kind"] == "EC2NodeClass":
        return node_class.finish_class(body, notes)
    if body["kind"] == "NodePool":
        return node_class.finish_pool(body, notes, known_names=known_names)
    notes.add("nodeclaim-view-only", (), what="a v1 NodeClaim is left alone")
    return []


def _settle(works: Sequence[_Work], *, known_names: KnownNames, taken: set[str]) -> dict[str, list[ObjectDraft]]:
    drafts = [draft for work in works for draft in work.drafts]
    pools = [draft for draft in drafts if draft.kind == "NodePool"]
    classes = {draft.name: draft for draft in drafts if draft.kind == "EC2NodeClass"}
    accelerators.warn(pools, classes, of_v1={work.item.name for work in works if _was_written_for_v1(work.item)})
    return kubelet.move_kubelet_settings(pools, classes, known_names=known_names, taken=taken)


def _was_written_for_v1(item: Item) -> bool:
    """True for a NodePool of v1 that does not carry the annotation of the conversion webhook."""
    was_converted = labels.NODE_CLASS_REFERENCE_COMPATIBILITY in metadata.annotations_of(item.source)
    return item.generation == "v1" and item.kind == "NodePool" and not was_converted


def _view_claims(works: Sequence[_Work]) -> None:
    drafts = [draft for work in works for draft in work.drafts]
    expiry = {
        draft.name: str(template_spec(draft.body).get("expireAfter") or "720h")
        for draft in drafts
        if draft.kind == "NodePool"
    }
    for work in works:
        if work.item.kind == "NodeClaim" and work.item.generation == "beta":
            work.drafts = convert_claim(work.item.source, work.notes[0], expiry_of_pool=expiry)


def _note_refusals(work: _Work) -> None:
    """Findings for what the target refuses. Of v1 objects only what older generations had, what every release of v1
    requires, and refused budgets: newer releases accept more than the other rules know.
    """
    for draft in [] if work.failed else work.drafts:
        if work.item.generation == "v1":
            note_older_fields(draft.body, draft.notes)
            note_missing_fields(draft.body, draft.notes)
            note_refused_budgets(draft.body, draft.notes)
        else:
            note_refusals(draft.body, draft.notes)


def _finish(work: _Work, copies: Mapping[str, list[ObjectDraft]]) -> None:
    item = work.item
    item.view_only = any(draft.view_only for draft in work.drafts)
    for draft in [] if work.failed else work.drafts:
        item.objects.append(draft.body)
        if draft.kind == "EC2NodeClass" and "/v1beta1" not in draft.body["apiVersion"]:
            item.objects += [copy.body for copy in copies.get(draft.name, [])]
    if item.generation == "v1" and item.objects == [item.source]:
        work.notes[0].add("already-v1", (), what="already v1, printed as it is")
    item.losses = work.losses()


def _note_same_names(works: Sequence[_Work]) -> None:
    """Adds a finding if two results have the same kind and name, such as those of a Provisioner and a NodePool."""
    seen: set[tuple[str, str, str]] = set()
    for work in works:
        for body in work.item.objects:
            if _key(body) in seen:
                message = (
                    f"the input makes {body['kind']} {name_of(body)} a second time, from {work.item.kind}; keep one"
                )
                work.item.losses.append(
                    ConversionFinding("same-name-result", work.item.kind, work.item.name, ("metadata", "name"), message)
                )
            seen.add(_key(body))
