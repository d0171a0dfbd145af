"""A repository on GitHub or GitHub Enterprise Server.

Source: the published description of GitHub's REST API (version 2022-11-28), git/trees, git/commits, git/refs, pulls.
A commit is made before its branch, so that no branch exists without its change.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from migrations_app.clients.git_hosts.host import BranchHead, BranchOrder, HostRequest, RequestOrder, RequestStatus
from migrations_app.clients.git_hosts.rest import HostServer, field, rows
from migrations_app.errors import Conflict, Forbidden, InvalidResponse, NotServed, TooLarge

VERSION: Final = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
PLAIN: Final = ("100644",)


class GitHubRepository:
    """One repository, as a GitHost."""

    def __init__(self, server: HostServer, path: str) -> None:
        self._server = server
        self._owner = path.partition("/")[0]
        self._root = f"/repos/{quote(path)}"

    def head(self, branch: str) -> BranchHead:
        repository = self._server.get(self._root)
        rights = repository.get("permissions") if isinstance(repository, Mapping) else None
        if isinstance(rights, Mapping) and not rights.get("push"):
            raise Forbidden("the credential can read the repository, but not write to it", code="read_only")
        name = branch or field(repository, "default_branch")
        commit = self.branch_commit(name)
        if not commit:
            raise NotServed(f"the repository has no branch {name}", code="no_branch")
        return BranchHead(branch=name, commit=commit)

    def files(self, commit: str, place: str) -> Mapping[str, str]:
        tree = field(self._server.get(f"{self._root}/git/commits/{quote(commit)}"), "tree", "sha")
        parts = [part for part in place.split("/") if part]
        for number, part in enumerate(parts):
            entry = next((candidate for candidate in self._tree(tree) if candidate.get("path") == part), None)
            if entry and entry.get("type") == "tree":
                tree = field(entry, "sha")
            elif entry and entry.get("mode") in PLAIN and number == len(parts) - 1:
                return {place: field(entry, "sha")}
            else:
                raise NotServed(f"the repository has no file or folder {place}", code="no_path")
        folder = "".join(f"{part}/" for part in parts)
        plain_files = (candidate for candidate in self._tree(tree, recursive=True) if candidate.get("mode") in PLAIN)
        return {f"{folder}{field(candidate, 'path')}": field(candidate, "sha") for candidate in plain_files}

    def _tree(self, tree: str, *, recursive: bool = False) -> list[Mapping[str, Any]]:
        document = self._server.get(f"{self._root}/git/trees/{quote(tree)}", {"recursive": "1"} if recursive else None)
        if recursive and document.get("truncated"):
            raise TooLarge("the folder has too many files to search: name the file")
        return rows(document.get("tree") if isinstance(document, Mapping) else None)

    def text(self, content: str) -> str:
        blob = self._server.get(f"{self._root}/git/blobs/{quote(content)}")
        try:
            return base64.b64decode(blob["content"]).decode()
        except (KeyError, TypeError, binascii.Error, UnicodeDecodeError):
            raise InvalidResponse("the file is not UTF-8 text") from None

    def branch_commit(self, branch: str) -> str:
        ref = self._server.find(f"{self._root}/git/ref/heads/{quote(branch)}")
        return "" if ref is None else field(ref, "object", "sha")

    def open_request(self, branch: str, base: str) -> HostRequest | None:
        query = {"state": "open", "head": f"{self._owner}:{branch}", "base": base}
        # GitHub ignores the filter if it does not know the owner, so the branch is compared here, too.
        requests = (
            _request(row)
            for row in rows(self._server.get(f"{self._root}/pulls", query))
            if _source_branch(row) == branch
        )
        return next(requests, None)

    def make_branch(self, order: BranchOrder) -> str:
        tree = field(self._server.get(f"{self._root}/git/commits/{quote(order.commit)}"), "tree", "sha")
        entries = [
            {"path": path, "mode": PLAIN[0], "type": "blob", "content": text} for path, text in order.files.items()
        ]
        new_tree = field(self._server.post(f"{self._root}/git/trees", {"base_tree": tree, "tree": entries}), "sha")
        body = {"message": order.message, "tree": new_tree, "parents": [order.commit]}
        commit = field(self._server.post(f"{self._root}/git/commits", body), "sha")
        try:
            self._server.post(f"{self._root}/git/refs", {"ref": f"refs/heads/{order.branch}", "sha": commit})
        except Conflict:
            if self.branch_commit(order.branch):
                raise Conflict(f"the branch {order.branch} exists already", code="branch_exists") from None
            raise
        return commit

    def make_request(self, order: RequestOrder) -> HostRequest:
        body = {"title": order.title, "body": order.body, "head": order.branch, "base": order.base}
        return _request(self._server.post(f"{self._root}/pulls", body))

    def drop_branch(self, branch: str) -> None:
        self._server.extend()
        self._server.answer("DELETE", f"{self._root}/git/refs/heads/{quote(branch)}")

    def request(self, number: int) -> HostRequest:
        return _request(self._server.get(f"{self._root}/pulls/{number}"))


def _request(pull_request: Any) -> HostRequest:  # noqa: ANN401 - JSON of strangers
    number = pull_request.get("number") if isinstance(pull_request, Mapping) else None
    if not isinstance(number, int):
        raise InvalidResponse("the host's answer has no number of a pull request")
    status: RequestStatus = "open" if pull_request.get("state") == "open" else "closed"
    merged = pull_request.get("merged") is True or bool(pull_request.get("merged_at"))
    return HostRequest(number=number, status="merged" if merged else status, commit=field(pull_request, "head", "sha"))


def _source_branch(pull_request: Mapping[str, Any]) -> str:
    head = pull_request.get("head")
    return str(head.get("ref")) if isinstance(head, Mapping) else ""
