"""Previews a pull request: reads the repository, decides what would change, and stores that with its digest.

Nothing is written to the repository here.
"""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final

import msgspec
from django.db import transaction
from msgspec import UnsetType

from migrations_app.access import Person, may_prepare
from migrations_app.checks.base import Finding
from migrations_app.checks.changes import Change
from migrations_app.clients.git_hosts.host import GitHost
from migrations_app.errors import Conflict, InvalidInput, NotFound
from migrations_app.inventory.facts.delivery_sources import GitSource
from migrations_app.models.cluster import Cluster
from migrations_app.models.pull_request import CodeRepository, PullRequest
from migrations_app.queries.clusters.detail import report_of
from migrations_app.queries.visibility import visible_clusters
from migrations_app.readiness.pull_requests.conversion import (
    CONVERSION,
    TARGETS,
    may_hold_objects,
    propose_conversion,
)
from migrations_app.readiness.pull_requests.object_edits import change_of
from migrations_app.readiness.pull_requests.proposal import (
    Proposal,
    RequestSubject,
    further_files,
    may_hold,
    propose,
)
from migrations_app.readiness.pull_requests.value_sources import GitOrigin
from migrations_app.use_cases.accounts.rights import person_over_cluster, refuse_person
from migrations_app.use_cases.audit.log import record_audit_event
from migrations_app.use_cases.pull_requests.repositories import connect_repository, repository_of
from migrations_app.use_cases.runtime.connections import keys

FIELD: Final = "proposal"
MAX_FILES: Final = 60
"""Maximum number of files that are read in a folder for one preview; each is a request."""
MAX_BYTES: Final = 512 * 1024
MAX_BESIDES: Final = 10
"""Maximum number of values files elsewhere in the repository that are read for one preview."""
ACTIVE: Final = (PullRequest.State.OPENING, PullRequest.State.OPEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewRequest:
    """The fix, and the place of its file: `path` is a file or a folder, `branch` is empty for the default branch.

    The check CONVERSION converts the manifests there; its hop is the generation.
    """

    cluster: uuid.UUID
    check: str
    hop: str
    repository: uuid.UUID
    path: str
    branch: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _RepositoryChange:
    """The requested change: which files may be part of it, and how they are changed."""

    cluster: Cluster
    may_hold: Callable[[str, str], bool]
    """Whether a file may be part of the change, by path and text."""
    proposed: Callable[[Mapping[str, str], GitOrigin], Proposal]
    besides: Callable[[Mapping[str, str], GitOrigin], tuple[str, ...]] = lambda _texts, _origin: ()
    """Paths of files elsewhere in the repository that those texts name."""


def preview_request(request: PreviewRequest, person: Person, *, now: datetime) -> uuid.UUID:
    """The id of the request: a new preview, or the open request of the same change.

    Raises PermissionDenied, NotFound, InvalidInput, Conflict, ReadError.
    """
    refuse_person(may_prepare(person_over_cluster(person, request.cluster)))
    change = _conversion(request) if request.check == CONVERSION else _fix(request)
    if (active_id := active_request(request)) is not None:
        return active_id
    repository = repository_of(request.repository, cluster=request.cluster, person=person)
    host = connect_repository(repository)
    head = host.head(request.branch.strip())
    origin = GitOrigin(repository.address, head.branch)
    texts = dict(texts_below(host, head.commit, path=_place(request.path), may_hold=change.may_hold))
    for path in change.besides(texts, origin)[:MAX_BESIDES]:
        texts |= texts_below(host, head.commit, path=_place(path), may_hold=lambda _path, _text: False)
    proposal = change.proposed(texts, origin)
    row = PullRequest(
        cluster=change.cluster, repository=repository, kind=repository.kind, address=repository.address,
        check_id=request.check, hop=request.hop, base=head.branch, commit=head.commit, branch=proposal.branch,
        digest=proposal.digest, made_by_name=person.name, made_at=now,
    )  # fmt: skip
    return _store_preview(row, proposal)


def _fix(request: PreviewRequest) -> _RepositoryChange:
    """The change for the fix of a check. Raises NotFound, InvalidInput."""
    cluster, finding, change = require_change(request.cluster, check=request.check, hop=request.hop)
    subject = _subject(cluster, request, title=finding.title)
    return _RepositoryChange(
        cluster=cluster,
        may_hold=partial(may_hold, change=change),
        proposed=lambda texts, origin: propose(change, texts, subject=subject, origin=origin),
        besides=lambda texts, origin: further_files(change, texts, origin=origin),
    )


def _conversion(request: PreviewRequest) -> _RepositoryChange:
    """The change that converts the manifests to a generation. Raises NotFound, InvalidInput `bad_generation`."""
    cluster = visible_clusters().filter(pk=request.cluster).first()
    if cluster is None:
        raise NotFound("no such cluster")
    if request.hop not in TARGETS:
        raise InvalidInput(f"is none of {', '.join(TARGETS)}", where="hop", code="bad_generation")
    subject = _subject(cluster, request, title=f"Convert manifests of Karpenter to {request.hop}")
    return _RepositoryChange(
        cluster=cluster,
        may_hold=may_hold_objects,
        proposed=lambda texts, _origin: propose_conversion(texts, to=TARGETS[request.hop], subject=subject),
    )


def _subject(cluster: Cluster, request: PreviewRequest, *, title: str) -> RequestSubject:
    return RequestSubject(key=str(cluster.pk), cluster=cluster.name, check=request.check, hop=request.hop, title=title)


def active_request(request: PreviewRequest) -> uuid.UUID | None:
    """The id of the request of that change that is open or being opened; None if there is none."""
    rows = PullRequest.objects.filter(
        cluster=request.cluster, check_id=request.check, hop=request.hop, state__in=ACTIVE
    )
    key = rows.values_list("pk", flat=True).first()
    return key if key is None else uuid.UUID(str(key))


def require_change(cluster_id: uuid.UUID, *, check: str, hop: str) -> tuple[Cluster, Finding, Change]:
    """The cluster, the failing finding of its newest snapshot, and the change that files can contain.

    Raises NotFound, and InvalidInput `no_file_change` if the fix changes no object in a file.
    """
    cluster = visible_clusters().filter(pk=cluster_id).first()
    if cluster is None or cluster.latest_id is None:
        raise NotFound("no such cluster, or it was not scanned yet")
    report = report_of(cluster.latest_id)
    finding = next((finding for finding in report.checks if (finding.id, finding.hop) == (check, hop)), None)
    if finding is None or finding.status != "fail":
        raise NotFound("this check does not fail at that hop")
    change = change_of(finding)
    if change is None:
        raise InvalidInput("the fix changes no object that can be in a file", code="no_file_change")
    return cluster, finding, change


def texts_below(host: GitHost, commit: str, *, path: str, may_hold: Callable[[str, str], bool]) -> Mapping[str, str]:
    """The texts of the files at that path that may be part of the change.

    Raises InvalidInput `too_many_files`, ReadError.
    """
    listed = host.files(commit, path)
    exact = listed if list(listed) == [path] else {}
    likely = exact or {name: content for name, content in listed.items() if name.endswith((".yaml", ".yml"))}
    if len(likely) > MAX_FILES:
        words = f"{len(likely)} YAML files were found, and at most {MAX_FILES} are read: name the file, or its folder"
        raise InvalidInput(words, code="too_many_files", where="path")
    # One by one, so that no more than one file that is too large is held at a time.
    read = ((name, host.text(content)) for name, content in likely.items())
    return {name: text for name, text in read if len(text) <= MAX_BYTES and (exact or may_hold(name, text))}


def proposal_of(row: PullRequest) -> Proposal:
    """The stored proposal of the preview. Raises InvalidSetting if the encryption key is missing."""
    return msgspec.json.decode(keys().open(bytes(row.sealed), owner=str(row.pk), field=FIELD), type=Proposal)


def _store_preview(row: PullRequest, proposal: Proposal) -> uuid.UUID:
    """Stores the preview in place of earlier previews of the same change, and returns its id."""
    row.sealed = keys().seal(msgspec.json.encode(proposal), owner=str(row.pk), field=FIELD)
    same = PullRequest.objects.filter(cluster=row.cluster, check_id=row.check_id, hop=row.hop)
    with transaction.atomic():
        if not Cluster.objects.select_for_update().filter(pk=row.cluster_id).exists():
            raise NotFound("no such cluster")
        if row.repository is None or not CodeRepository.objects.filter(pk=row.repository.pk).exists():
            raise Conflict("the repository was removed meanwhile", code="repository_gone")
        same.filter(state=PullRequest.State.PREVIEWED).delete()
        row.save(force_insert=True)
        record_audit_event(
            "pull_request.previewed", row.address, cluster_id=row.cluster_id, request=str(row.pk), check=row.check_id,
            base=row.base, branch=row.branch, digest=row.digest, files=[file.path for file in proposal.files],
        )  # fmt: skip
    return row.pk


def _place(path: str) -> str:
    """The path without surrounding spaces, slashes and `./`. Raises InvalidInput."""
    place = path.strip().removeprefix("./").strip("/")
    parts = place.split("/")
    if len(place) > 500 or not place.isprintable() or "\\" in place or ".." in parts:
        raise InvalidInput("name a file or folder of the repository", where="path", code="bad_path")
    return "" if place == "." else place


def git_places(cluster_id: uuid.UUID) -> tuple[GitSource, ...]:
    """The places in Git repositories that deliveries of the cluster name; empty if none is known."""
    cluster = visible_clusters().filter(pk=cluster_id).first()
    if cluster is None or cluster.latest_id is None:
        return ()
    installed = report_of(cluster.latest_id).cluster.installed
    if installed is None or isinstance(installed.git, UnsetType):
        return ()
    return installed.git
