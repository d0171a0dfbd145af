"""Changes chart values where a delivery takes them from: ConfigMaps of `valuesFrom` (Flux), or files of `valueFiles`
(Argo CD) that another source of the Application names.

Later sources override earlier ones, and the delivery's own values override all. A value is changed in its source if
that is a file of the repository. If a source cannot be read, a value to set is written into the delivery, which
overrides the source, and a value to remove is left to a person.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple

import msgspec

from migrations_app.checks.changes import HelmChange, HelmValue
from migrations_app.conversion.chart_values.trees import laid, value_of
from migrations_app.errors import InvalidInput, InvalidManifest
from migrations_app.inventory.facts.delivery_sources import (
    APPLICATION,
    HELM_RELEASE,
    below,
    chart_place,
    git_address,
)
from migrations_app.manifests import JsonMap, edits
from migrations_app.manifests.kustomize import KUSTOMIZATIONS

Readings = Mapping[str, Sequence[Any]]
"""The documents of each file, by path."""
VALUES_KEY: Final = "values.yaml"


class GitOrigin(NamedTuple):
    """The repository and branch that the files were read from."""

    address: str
    branch: str


class ValuePlace(NamedTuple):
    """Where values are written: a whole document, or the text below the path `at` in one."""

    path: str
    number: int = 0
    at: tuple[str, ...] = ()


class ValueSource(NamedTuple):
    """One source. `place` is None if no file that was read holds it, for the reason in `why`."""

    display_name: str
    place: ValuePlace | None = None
    why: str = ""


class SplitValues(NamedTuple):
    """A change in two parts: values of the delivery itself, and values of its sources by place."""

    own: HelmChange
    elsewhere: Mapping[ValuePlace, tuple[HelmValue, ...]]


def value_sources(
    document: JsonMap, edit: HelmChange, *, readings: Readings, origin: GitOrigin
) -> tuple[ValueSource, ...]:
    """Returns the sources of the delivery; later ones override earlier ones."""
    spec = document["spec"]
    if document["kind"] == HELM_RELEASE:
        named = spec.get("valuesFrom")
        return (
            tuple(_flux_source(reference, document, readings=readings) for reference in named)
            if isinstance(named, list)
            else ()
        )
    place = chart_place(APPLICATION, spec, chart=edit.chart)
    files = below(spec, (*place.at, "helm", "valueFiles")) if place else None
    return tuple(_argo_source(str(file), spec, origin=origin) for file in files or ())


def files_to_read(document: JsonMap, edit: HelmChange, *, readings: Readings, origin: GitOrigin) -> Iterator[str]:
    """Yields the paths of files that sources name and that were not read yet."""
    for value_source in value_sources(document, edit, readings=readings, origin=origin):
        if value_source.place is not None and value_source.place.path not in readings:
            yield value_source.place.path


def split_values(document: JsonMap, edit: HelmChange, *, readings: Readings, origin: GitOrigin) -> SplitValues:
    """Returns each value with the place where it is set. Raises InvalidInput `edit_refused` if that is needed and
    not known."""
    sources = value_sources(document, edit, readings=readings, origin=origin)
    if not sources:
        return SplitValues(edit, {})
    inline = _inline(document, edit)
    source_trees = [(source, _tree(source, readings, edit=edit)) for source in sources]
    own_values: list[HelmValue] = []
    elsewhere: dict[ValuePlace, tuple[HelmValue, ...]] = {}
    for value in edit.values:
        places = (
            _places_to_remove(value, source_trees, edit=edit)
            if not value.text
            else _place_to_set(value, source_trees, inline=inline)
        )
        for place in places:
            elsewhere[place] = (*elsewhere.get(place, ()), value)
        if (value.text and not places) or (not value.text and value_of(inline, value.key) is not None):
            own_values.append(value)
    for place in elsewhere:
        _refuse_shared(place, document, readings=readings, edit=edit)
    return SplitValues(msgspec.structs.replace(edit, values=tuple(own_values)), elsewhere)


def with_source_values(document: Any, place: ValuePlace, *, values: Sequence[HelmValue], edit: HelmChange) -> Any:  # noqa: ANN401 - a document of YAML
    """Returns the document after the change of its values; comments in a text stay."""
    pairs = [(helm_value.key, helm_value.text) for helm_value in values]
    if not place.at:
        return laid(document, pairs, prune=True)
    after = copy.deepcopy(document)
    holder = below(after, place.at[:-1])
    text = holder[place.at[-1]]
    try:
        holder[place.at[-1]] = edits.edited(text, {0: laid(edits.values(text)[0], pairs, prune=True)})
    except InvalidManifest as wrong:
        raise edit_refused(f"the values in {place.path}: {wrong.message}", edit) from None
    return after


def edit_refused(why: str, edit: HelmChange) -> InvalidInput:
    """Returns the error that says why a person has to make the change."""
    return InvalidInput(f"{why}; change it by hand", code="edit_refused", where=f"release {edit.release}")


SourceTrees = Sequence[tuple[ValueSource, Mapping[str, Any] | None]]


def _place_to_set(value: HelmValue, source_trees: SourceTrees, *, inline: Mapping[str, Any]) -> list[ValuePlace]:
    """Returns the source that sets the value now, or the last source; empty for the delivery itself."""
    if value_of(inline, value.key) is not None:
        return []
    for source, tree in reversed(source_trees):
        if tree is None or source.place is None:
            return []
        if value_of(tree, value.key) is not None:
            return [source.place]
    last = source_trees[-1][0].place
    return [] if inline or last is None else [last]


def _places_to_remove(value: HelmValue, source_trees: SourceTrees, *, edit: HelmChange) -> list[ValuePlace]:
    """Returns every source that sets the value. Raises InvalidInput if one cannot be read."""
    for source, tree in source_trees:
        if tree is None:
            raise edit_refused(f"{value.key} has to go, and {source.display_name} may give it: {source.why}", edit)
    return [
        value_source.place
        for value_source, tree in source_trees
        if value_source.place and tree and value_of(tree, value.key) is not None
    ]


def _inline(document: JsonMap, edit: HelmChange) -> Mapping[str, Any]:
    """Returns the values in the delivery itself."""
    spec = document["spec"]
    if document["kind"] == HELM_RELEASE:
        values = spec.get("values")
    else:
        place = chart_place(APPLICATION, spec, chart=edit.chart)
        helm = below(spec, (*place.at, "helm")) if place else None
        values = below(helm, ("valuesObject",)) or _parsed(str(below(helm, ("values",)) or ""))
    return values if isinstance(values, dict) else {}


def _tree(source: ValueSource, readings: Readings, *, edit: HelmChange) -> Mapping[str, Any] | None:
    if source.place is None:
        return None
    documents = readings.get(source.place.path)
    if documents is None:
        raise edit_refused(
            f"{source.display_name} is {source.place.path}, which cannot be read as YAML or is not there", edit
        )
    if not documents:
        return {}
    values = documents[source.place.number]
    values = _parsed(below(values, source.place.at)) if source.place.at else values
    if (len(documents) > 1 and not source.place.at) or not isinstance(values, dict):
        raise edit_refused(f"{source.display_name} in {source.place.path} is no map", edit)
    return values


def _parsed(text: str) -> Any:  # noqa: ANN401 - any YAML
    try:
        parsed = edits.values(text)
    except InvalidManifest:
        return None
    return parsed[0] if len(parsed) == 1 else {} if not parsed else None


def _flux_source(ref: Any, document: JsonMap, *, readings: Readings) -> ValueSource:  # noqa: ANN401 - as the file has it
    kind, name = str(below(ref, ("kind",))), str(below(ref, ("name",)))
    key = str(below(ref, ("valuesKey",)) or VALUES_KEY)
    label = f"{kind} {name}, key {key}"
    if kind != "ConfigMap":
        return ValueSource(label, why="a Secret is not read")
    if below(ref, ("targetPath",)):
        return ValueSource(label, why="it gives one value below its targetPath")
    namespace = document["metadata"].get("namespace")
    value_places = [
        *_config_maps(name, key, namespace=namespace, readings=readings),
        *_generated(name, key, readings=readings),
    ]
    if len(value_places) == 1:
        return ValueSource(label, value_places[0])
    return ValueSource(label, why="several files make it" if value_places else "no file that was read holds it")


def _config_maps(name: str, key: str, *, namespace: object, readings: Readings) -> Iterator[ValuePlace]:
    for path, documents in readings.items():
        for number, config_map in enumerate(documents):
            has_name = below(config_map, ("kind",)) == "ConfigMap" and below(config_map, ("metadata", "name")) == name
            matches = has_name and below(config_map, ("metadata", "namespace")) in (None, namespace)
            if matches and isinstance(below(config_map, ("data", key)), str):
                yield ValuePlace(path, number, ("data", key))


def _generated(name: str, key: str, *, readings: Readings) -> Iterator[ValuePlace]:
    """Yields the files from which a Kustomization generates the ConfigMap."""
    for path, documents in readings.items():
        if PurePosixPath(path).name not in KUSTOMIZATIONS:
            continue
        for generator in below(documents[0] if documents else {}, ("configMapGenerator",)) or ():
            for file in (below(generator, ("files",)) or ()) if below(generator, ("name",)) == name else ():
                file_key, _, source = str(file).rpartition("=")
                if (file_key or PurePosixPath(source).name) == key:
                    yield from _place_in_repository(PurePosixPath(path).parent, source)


def _place_in_repository(folder: PurePosixPath, file: str) -> Iterator[ValuePlace]:
    steps: list[str] = []
    for step in (*folder.parts, *PurePosixPath(file).parts):
        if step == "..":
            if not steps:
                return
            steps.pop()
        elif step not in (".", "/"):
            steps.append(step)
    yield ValuePlace("/".join(steps))


def _argo_source(file: str, spec: JsonMap, *, origin: GitOrigin) -> ValueSource:
    label = f"the values file {file}"
    if not file.startswith("$"):
        return ValueSource(label, why="it comes with the chart or from an address")
    ref, _, path = file[1:].partition("/")
    source = next((git_source for git_source in spec.get("sources") or () if below(git_source, ("ref",)) == ref), None)
    if source is None or not origin.address or git_address(str(source.get("repoURL"))) != git_address(origin.address):
        return ValueSource(label, why="it is in another repository")
    if source.get("targetRevision") not in (None, "", "HEAD", origin.branch):
        return ValueSource(label, why=f"it is read at {source['targetRevision']}, not at {origin.branch}")
    place = next(_place_in_repository(PurePosixPath(), path), None)
    return ValueSource(label, place, why="" if place else "it leaves the repository")


def _refuse_shared(place: ValuePlace, document: JsonMap, *, readings: Readings, edit: HelmChange) -> None:
    """Raises InvalidInput if another delivery that was read uses the same source."""
    name = below(readings[place.path][place.number], ("metadata", "name")) if place.at else place.path
    for documents in readings.values():
        for other in documents:
            if (
                below(other, ("kind",)) in (HELM_RELEASE, APPLICATION)
                and other != document
                and _uses_source(other, str(name))
            ):
                who = f"{other['kind']} {below(other, ('metadata', 'name'))}"
                raise edit_refused(f"{place.path} gives values to {who}, too", edit)


def _uses_source(other: JsonMap, name: str) -> bool:
    spec = other.get("spec")
    named = [below(reference, ("name",)) for reference in below(spec, ("valuesFrom",)) or ()]
    for source in (below(spec, ("source",)), *(below(spec, ("sources",)) or ())):
        named += [str(file).partition("/")[2] for file in below(source, ("helm", "valueFiles")) or ()]
    return name in named
