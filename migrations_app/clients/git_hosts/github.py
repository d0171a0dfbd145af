"""A repository on GitHub or GitHub Enterprise Server.

Source: the published description of GitHub's REST API (version 2022-11-28), git/trees, git/commits, git/refs, pulls.
A commit is made before its branch, so that a branch never stands there without its change.
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
    """One repository, as `GitHost` tells."""

    def __init__(self, server: HostServer, path: str) -> None:
        self._server = server
        self._owner = path.partition("/")[0]
        self._at = f"/repos/{quote(path)}"

    def head(self, branch: str) -> BranchHead:
        told = self._server.get(self._at)
        rights = told.get("permissions") if isinstance(told, Mapping) else None
        if isinstance(rights, Mapping) and not rights.get("push"):
            raise Forbidden("the credential may read the repository and not write to it", code="read_only")
        name = branch or field(told, "default_branch")
        commit = self.branch_commit(name)
        if not commit:
            raise NotServed(f"the repository has no branch {name}", code="no_branch")
        return BranchHead(branch=name, commit=commit)

    def files(self, commit: str, place: str) -> Mapping[str, str]:
        tree = field(self._server.get(f"{self._at}/git/commits/{quote(commit)}"), "tree", "sha")
        parts = [part for part in place.split("/") if part]
        for number, part in enumerate(parts):
            found = next((one for one in self._tree(tree) if one.get("path") == part), None)
            if found and found.get("type") == "tree":
                tree = field(found, "sha")
            elif found and found.get("mode") in PLAIN and number == len(parts) - 1:
                return {place: field(found, "sha")}
            else:
                raise NotServed(f"the repository has no file or folder {place}", code="no_path")
        before = "".join(f"{part}/" for part in parts)
        inside = (one for one in self._tree(tree, whole=True) if one.get("mode") in PLAIN)
        return {f"{before}{field(one, 'path')}": field(one, "sha") for one in inside}

    def _tree(self, tree: str, *, whole: bool = False) -> list[Mapping[str, Any]]:
        told = self._server.get(f"{self._at}/git/trees/{quote(tree)}", {"recursive": "1"} if whole else None)
        if whole and told.get("truncated"):
            raise TooLarge("the folder holds too many files to look through: name the file")
        return rows(told.get("tree") if isinstance(told, Mapping) else None)

    def text(self, content: str) -> str:
        told = self._server.get(f"{self._at}/git/blobs/{quote(content)}")
        try:
            return base64.b64decode(told["content"]).decode()
        except (KeyError, TypeError, binascii.Error, UnicodeDecodeError):
            raise InvalidResponse("the file is no UTF-8 text") from None

    def branch_commit(self, branch: str) -> str:
        told = self._server.find(f"{self._at}/git/ref/heads/{quote(branch)}")
        return "" if told is None else field(told, "object", "sha")

    def open_request(self, branch: str, base: str) -> HostRequest | None:
        query = {"state": "open", "head": f"{self._owner}:{branch}", "base": base}
        # An owner that GitHub does not know makes it leave the filter out, so that the branch is compared here, too.
        requests = (_request(row) for row in rows(self._server.get(f"{self._at}/pulls", query)) if _from(row) == branch)
        return next(requests, None)

    def make_branch(self, order: BranchOrder) -> str:
        tree = field(self._server.get(f"{self._at}/git/commits/{quote(order.commit)}"), "tree", "sha")
        entries = [
            {"path": path, "mode": PLAIN[0], "type": "blob", "content": text} for path, text in order.files.items()
        ]
        made = field(self._server.post(f"{self._at}/git/trees", {"base_tree": tree, "tree": entries}), "sha")
        body = {"message": order.message, "tree": made, "parents": [order.commit]}
        commit = field(self._server.post(f"{self._at}/git/commits", body), "sha")
        try:
            self._server.post(f"{self._at}/git/refs", {"ref": f"refs/heads/{order.branch}", "sha": commit})
        except Conflict:
            if self.branch_commit(order.branch):
                raise Conflict(f"the branch {order.branch} is there already", code="branch_exists") from None
            raise
        return commit

    def make_request(self, order: RequestOrder) -> HostRequest:
        body = {"title": order.title, "body": order.body, "head": order.branch, "base": order.base}
        return _request(self._server.post(f"{self._at}/pulls", body))

    def drop_branch(self, branch: str) -> None:
        self._server.extend()
        self._server.answer("DELETE", f"{self._at}/git/refs/heads/{quote(branch)}")

    def request(self, number: int) -> HostRequest:
        return _request(self._server.get(f"{self._at}/pulls/{number}"))


def _request(told: Any) -> HostRequest:  # noqa: ANN401 - JSON of strangers
    number = told.get("number") if isinstance(told, Mapping) else None
    if not isinstance(number, int):
        raise InvalidResponse("the host's answer has no number of a pull request")
    status: RequestStatus = "open" if told.get("state") == "open" else "closed"
    merged = told.get("merged") is True or bool(told.get("merged_at"))
    return HostRequest(number=number, status="merged" if merged else status, commit=field(told, "head", "sha"))


def _from(told: Mapping[str, Any]) -> str:
    head = told.get("head")
    return str(head.get("ref")) if isinstance(head, Mapping) else ""
