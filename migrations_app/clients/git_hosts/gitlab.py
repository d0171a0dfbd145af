"""A project on GitLab.

Source: the published description of GitLab's REST API (version 4): repository, commits, branches, merge_requests.
Branch and commit are made by one request, so that no branch exists without its change.
"""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from migrations_app.clients.git_hosts.host import BranchHead, BranchOrder, HostRequest, RequestOrder, RequestStatus
from migrations_app.clients.git_hosts.rest import HostServer, decoded, field, rows
from migrations_app.errors import Conflict, Forbidden, InvalidResponse, NotServed, TooLarge

PLAIN: Final = "100644"
DEVELOPER: Final = 30
"""The lowest access level that may push branches and open merge requests."""
PAGE, PAGES = 100, 20


class GitLabProject:
    """One project, as a GitHost."""

    def __init__(self, server: HostServer, path: str) -> None:
        self._server = server
        self._root = f"/projects/{quote(path, safe='')}"

    def head(self, branch: str) -> BranchHead:
        project = self._server.get(self._root)
        if (level := _level(project)) is not None and level < DEVELOPER:
            raise Forbidden("the credential can read the project, but not write to it", code="read_only")
        name = branch or field(project, "default_branch")
        commit = self.branch_commit(name)
        if not commit:
            raise NotServed(f"the project has no branch {name}", code="no_branch")
        return BranchHead(branch=name, commit=commit)

    def files(self, commit: str, place: str) -> Mapping[str, str]:
        if place:
            file = self._server.find(f"{self._root}/repository/files/{quote(place, safe='')}", {"ref": commit})
            if file is not None:
                return {place: field(file, "blob_id")}
        content_ids: dict[str, str] = {}
        for page in range(1, PAGES + 1):
            query = {"ref": commit, "recursive": "true", "per_page": str(PAGE), "page": str(page)}
            query |= {"path": place} if place else {}
            document = self._server.find(f"{self._root}/repository/tree", query)
            if document is None:
                break
            entries = rows(document)
            content_ids |= {field(entry, "path"): field(entry, "id") for entry in entries if entry.get("mode") == PLAIN}
            if len(entries) < PAGE:
                break
        else:
            raise TooLarge("the folder has too many files to search: name the file")
        if not content_ids:
            raise NotServed(f"the project has no file or folder {place}", code="no_path")
        return content_ids

    def text(self, content: str) -> str:
        answer = self._server.answer("GET", f"{self._root}/repository/blobs/{quote(content)}/raw")
        try:
            return answer.body.decode()
        except UnicodeDecodeError:
            raise InvalidResponse("the file is not UTF-8 text") from None

    def branch_commit(self, branch: str) -> str:
        document = self._server.find(f"{self._root}/repository/branches/{quote(branch, safe='')}")
        return "" if document is None else field(document, "commit", "id")

    def open_request(self, branch: str, base: str) -> HostRequest | None:
        query = {"state": "opened", "source_branch": branch, "target_branch": base}
        requests = (_request(row) for row in rows(self._server.get(f"{self._root}/merge_requests", query)))
        return next(requests, None)

    def make_branch(self, order: BranchOrder) -> str:
        actions = [
            {"action": "update", "file_path": path, "content": text, "encoding": "text"}
            for path, text in order.files.items()
        ]
        body = {"branch": order.branch, "start_sha": order.commit, "commit_message": order.message, "actions": actions}
        try:
            return field(self._server.post(f"{self._root}/repository/commits", body), "id")
        except Conflict:
            if self.branch_commit(order.branch):
                raise Conflict(f"the branch {order.branch} exists already", code="branch_exists") from None
            raise

    def make_request(self, order: RequestOrder) -> HostRequest:
        body = {
            "source_branch": order.branch,
            "target_branch": order.base,
            "title": order.title,
            "description": order.body,
        }
        return _request(self._server.post(f"{self._root}/merge_requests", body))

    def drop_branch(self, branch: str) -> None:
        self._server.extend()
        self._server.answer("DELETE", f"{self._root}/repository/branches/{quote(branch, safe='')}")

    def request(self, number: int) -> HostRequest:
        return _request(decoded(self._server.answer("GET", f"{self._root}/merge_requests/{number}")))


def _level(project: Any) -> int | None:  # noqa: ANN401 - JSON of strangers
    """The access level of the credential, by the project or by its group; None if the answer has none."""
    rights = project.get("permissions") if isinstance(project, Mapping) else None
    if not isinstance(rights, Mapping):
        return None
    levels = [
        access["access_level"]
        for access in (rights.get("project_access"), rights.get("group_access"))
        if isinstance(access, Mapping) and isinstance(access.get("access_level"), int)
    ]
    return max(levels, default=None)


def _request(merge_request: Any) -> HostRequest:  # noqa: ANN401 - JSON of strangers
    number = merge_request.get("iid") if isinstance(merge_request, Mapping) else None
    if not isinstance(number, int):
        raise InvalidResponse("the host's answer has no number of a merge request")
    states: dict[str, RequestStatus] = {"opened": "open", "locked": "open", "merged": "merged"}
    return HostRequest(
        number=number,
        status=states.get(str(merge_request.get("state")), "closed"),
        commit=str(merge_request.get("sha") or ""),
    )
