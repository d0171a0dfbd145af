"""Opens the pull request that a person approved: stored first, one request per change, nothing left half-done.

The row has the state `opening` before the first write. Then the branch is created with its commit, and the request; if
that fails, the branch is deleted again. If that fails, too, the row records that the branch was left.
"""

import uuid
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import IntegrityError, transaction

from migrations_app.access import Person, Refusal, may_start
from migrations_app.clients.git_hosts.host import BranchOrder, GitHost, HostRequest, RequestOrder
from migrations_app.errors import Conflict, InvalidInput, KarpdashError, NotFound, ReadError
from migrations_app.models.pull_request import PullRequest
from migrations_app.queries.visibility import visible_clusters
from migrations_app.readiness.pull_requests.proposal import Proposal
from migrations_app.use_cases.accounts.rights import person_over_cluster, refuse_person
from migrations_app.use_cases.audit.log import assert_writable, record_audit_event
from migrations_app.use_cases.pull_requests.preview import proposal_of
from migrations_app.use_cases.pull_requests.repositories import connect_repository, repository_of

PREVIEW_LIFETIME: Final = timedelta(days=1)
"""How long after its creation a preview may be approved."""
OPENING_TIMEOUT: Final = timedelta(minutes=2)
"""From this age on, a request that is still being opened counts as interrupted."""
PullRequestState = PullRequest.State


def may_open(person: Person) -> Refusal | None:
    """Whether the person may open pull requests: a person in the browser who may start changes, never a token (A42)."""
    if person.method != "session":
        return Refusal(code="person_needed", why="a pull request is approved by a person in the browser")
    return may_start(person)


def open_request(request_id: uuid.UUID, person: Person, *, digest: str, now: datetime) -> None:
    """Opens the request with exactly the content of that digest.

    Raises PermissionDenied, NotFound, Conflict, InvalidInput, ReadError; the outcome is stored in the row.
    """
    row = _store_approval(request_id, person, digest=digest, now=now)
    proposal = proposal_of(row)
    try:
        if row.repository is None:
            raise Conflict("the repository was removed meanwhile", code="repository_gone")
        host = connect_repository(row.repository)
        existing = host.open_request(row.branch, row.base)
        if existing is None:
            _check_unchanged(host, row, proposal=proposal)
    except KarpdashError as wrong:
        _store_outcome(row, state=PullRequestState.FAILED, error=wrong, now=now)
        raise
    host_request = existing or _write_branch(host, row, proposal=proposal, now=now)
    _store_outcome(
        row,
        state=PullRequestState(host_request.status),
        number=host_request.number,
        now=now,
        existed=existing is not None,
    )


def refresh_request(request_id: uuid.UUID, *, now: datetime) -> None:
    """Reads the state from the Git host.

    A request whose opening was interrupted is settled by reading. Raises NotFound, Conflict if there is nothing to
    read, ReadError.
    """
    row = request_of(request_id)
    if row.repository is None:
        raise Conflict("the repository was removed together with its credential", code="repository_gone")
    if row.number is not None:
        host_request = connect_repository(row.repository).request(row.number)
        _store_outcome(
            row, state=PullRequestState(host_request.status), number=host_request.number, now=now, before=row.state
        )
    elif row.state == PullRequestState.OPENING and row.approved_at and now - row.approved_at >= OPENING_TIMEOUT:
        _settle(connect_repository(row.repository), row, now=now)
    else:
        raise Conflict("there is no open pull request", code="nothing_open")


def request_of(request_id: uuid.UUID, *, locked: bool = False) -> PullRequest:
    """The row, if the caller may see its cluster. Raises NotFound."""
    rows = PullRequest.objects.filter(pk=request_id, cluster__in=visible_clusters())
    rows = rows.select_for_update(of=("self",)) if locked else rows.select_related("repository")
    row = rows.first()
    if row is None:
        raise NotFound("no such pull request")
    return row


def _store_approval(request_id: uuid.UUID, person: Person, *, digest: str, now: datetime) -> PullRequest:
    """Stores the approval and returns the row. Raises Conflict if it differs from the preview."""
    try:
        with transaction.atomic():
            row = request_of(request_id, locked=True)
            _refuse(person_over_cluster(person, row.cluster_id))
            _refuse_repository(row, person)
            assert_writable()
            if row.state != PullRequestState.PREVIEWED:
                raise Conflict("this preview has been used already", code="stale")
            if row.digest != digest or now - row.made_at > PREVIEW_LIFETIME:
                raise Conflict("the preview is stale; preview again", code="stale")
            row.state, row.approved_by_name, row.approved_at = PullRequestState.OPENING, person.name, now
            row.save(update_fields=["state", "approved_by_name", "approved_at"])
            _record("pull_request.approved", row, digest=row.digest, base=row.base)
    except IntegrityError:
        raise Conflict("a pull request of this change is open already", code="already_open") from None
    return request_of(request_id)


def _refuse(person: Person) -> None:
    refuse_person(may_open(person))


def _refuse_repository(row: PullRequest, person: Person) -> None:
    """Raises Conflict if the repository has become one of other clusters since the preview."""
    try:
        if row.repository_id is not None:
            repository_of(row.repository_id, cluster=row.cluster_id, person=person)
    except NotFound as gone:
        raise Conflict(gone.message, code="repository_of_others") from None


def _check_unchanged(host: GitHost, row: PullRequest, *, proposal: Proposal) -> None:
    """Raises Conflict if the files differ from those of the preview, or the branch exists without a request."""
    head = host.head(row.base)
    if head.commit != row.commit:
        for file in proposal.files:
            listed = host.files(head.commit, file.path)
            if file.path not in listed or host.text(listed[file.path]) != file.old:
                raise Conflict(f"{file.path} was changed in {row.base} meanwhile; preview again", code="stale")
        row.commit = head.commit
    if host.branch_commit(row.branch):
        words = f"the branch {row.branch} exists already, without an open pull request: check it and delete it there"
        raise Conflict(words, code="branch_exists")


def _write_branch(host: GitHost, row: PullRequest, *, proposal: Proposal, now: datetime) -> HostRequest:
    """The new request. An error after the first write is settled by reading, and the branch is deleted."""
    commit = ""
    try:
        files = {file.path: file.new for file in proposal.files}
        order = BranchOrder(branch=row.branch, commit=row.commit, message=proposal.title, files=files)
        commit = host.make_branch(order)
        return host.make_request(
            RequestOrder(branch=row.branch, base=row.base, title=proposal.title, body=proposal.body)
        )
    except (ReadError, Conflict, InvalidInput) as wrong:
        if isinstance(wrong, Conflict) and not commit:
            _store_outcome(row, state=PullRequestState.FAILED, error=wrong, now=now)
            raise
        existing, left = _clean_up(host, row, commit=commit)
        if existing is not None:
            return existing
        _store_outcome(row, state=PullRequestState.FAILED, error=wrong, now=now, branch_left=left)
        raise


def _clean_up(host: GitHost, row: PullRequest, *, commit: str) -> tuple[HostRequest | None, bool]:
    """The request if it exists after all; else whether the branch is left. The branch is only deleted if it is still at
    karpdash's own commit.
    """
    try:
        if (existing := host.open_request(row.branch, row.base)) is not None:
            return existing, False
        stands = host.branch_commit(row.branch)
        if not stands:
            return None, False
        if stands != commit:
            return None, True
        host.drop_branch(row.branch)
    except (ReadError, Conflict):
        return None, True
    return None, False


def _settle(host: GitHost, row: PullRequest, *, now: datetime) -> None:
    existing = host.open_request(row.branch, row.base)
    if existing is not None:
        _store_outcome(row, state=PullRequestState.OPEN, number=existing.number, now=now, existed=True)
        return
    left = bool(host.branch_commit(row.branch))
    error = Conflict("karpdash was stopped while it opened the pull request", code="interrupted")
    _store_outcome(row, state=PullRequestState.FAILED, error=error, now=now, branch_left=left)


def _store_outcome(
    row: PullRequest,
    *,
    state: PullRequestState,
    now: datetime,
    number: int | None = None,
    error: KarpdashError | None = None,
    branch_left: bool = False,
    existed: bool = False,
    before: str = PullRequestState.OPENING,
) -> None:
    """Stores the outcome, unless it was stored meanwhile."""
    fields: dict[str, Any] = {
        "state": state,
        "number": number,
        "looked_at": now,
        "branch_left": branch_left,
        "error_code": error.code if error else "",
        "error": error.message[:2000] if error else "",
    }
    with transaction.atomic():
        if PullRequest.objects.filter(pk=row.pk, state=before).update(**fields) and state != before:
            detail = {"number": number, "found": existed, "code": fields["error_code"], "branch_left": branch_left}
            _record(f"pull_request.{state}", row, **detail)


def _record(verb: str, row: PullRequest, **detail: Any) -> None:  # noqa: ANN401 - any JSON
    about = {"request": str(row.pk), "branch": row.branch, "check": row.check_id}
    record_audit_event(verb, row.address, cluster_id=row.cluster_id, **about, **detail)
