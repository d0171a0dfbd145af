"""Stand-ins for GitHub and GitLab, written from their published API descriptions; they were not compared with the real
hosts.

GitHub: REST API 2022-11-28 (repos, git/trees, git/blobs, git/commits, git/refs, pulls, app installations). GitLab: REST
API v4 (projects, repository/tree, files, blobs, branches, commits, merge_requests).
"""

import base64
import hashlib
import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote

from tests.fakes.evilk8s import Request, Wire

TOKEN = "token-of-a-robot-1"
PATH = "acme/clusters"


class HostRefusal(Exception):
    """An error answer: status and JSON."""

    def __init__(self, status: int, body: Any = None) -> None:
        super().__init__(status)
        self.status, self.body = status, body


def sha(value: Any) -> str:
    return hashlib.sha1(json.dumps(value, sort_keys=True).encode()).hexdigest()


@dataclass
class FakeHost(ABC):
    """A repository as maps: commits to files, branches to commits. `breaks` makes a route answer with that status, and
    `drops` closes the connection after the route has done its work.
    """

    files: dict[str, str]
    token: str = TOKEN
    may_push: bool = True
    refuses_branches: bool = False
    breaks: dict[str, int] = field(default_factory=dict)
    drops: set[str] = field(default_factory=set)
    commits: dict[str, dict[str, str]] = field(default_factory=dict)
    trees: dict[str, Any] = field(default_factory=dict)
    blobs: dict[str, str] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    requests: list[dict[str, Any]] = field(default_factory=list)
    bodies: list[tuple[str, str, Any]] = field(default_factory=list)
    redirect: bool = False

    def __post_init__(self) -> None:
        self.push("main", self.files)

    def push(self, branch: str, files: dict[str, str]) -> str:
        commit = sha([branch, files, len(self.commits)])
        self.commits[commit] = files
        self.branches[branch] = commit
        self.blobs |= {sha(text): text for text in files.values()}
        return commit

    def __call__(self, request: Request, wire: Wire) -> None:
        path = request.path.partition("?")[0]
        body = json.loads(request.body) if request.body else None
        if request.method != "GET":
            self.bodies.append((request.method, path, body))
        if self.redirect:
            wire.answer(status="301 Moved Permanently", Location="https://127.0.0.1:1/")
            return
        status, document = self._response(request, path, body)
        if any(f"{request.method} {path}".endswith(suffix) for suffix in self.drops):
            wire.cut()
            return
        text = document if isinstance(document, bytes) else json.dumps(document).encode()
        wire.answer(b"" if status == 204 else text, status=f"{status} {HTTPStatus(status).phrase}")

    def _response(self, request: Request, path: str, body: Any) -> tuple[int, Any]:
        try:
            self.check(request, path)
            broken = next(
                (code for suffix, code in self.breaks.items() if f"{request.method} {path}".endswith(suffix)), 0
            )
            if broken:
                return broken, {"message": "Something is broken"}
            return 200, self.route(request.method, path, request.query, body)
        except HostRefusal as refusal:
            return refusal.status, refusal.body

    @abstractmethod
    def check(self, request: Request, path: str) -> None:
        """Raises HostRefusal if the credential is refused."""

    @abstractmethod
    def route(self, method: str, path: str, query: dict[str, str], body: Any) -> Any:
        """Returns the JSON of an answer 200. Raises HostRefusal for any other status."""

    def new_branch(self, branch: str, commit: str) -> None:
        if self.refuses_branches:
            raise HostRefusal(422, {"message": "Changes must be made through a protected branch rule"})
        if branch in self.branches:
            raise HostRefusal(422, {"message": f"Reference already exists: A branch called '{branch}' already exists"})
        self.branches[branch] = commit

    def written(self) -> list[str]:
        """Returns the requests that write, in order."""
        return [f"{method} {path}" for method, path, _ in self.bodies]


class FakeGitHub(FakeHost):
    kind = "github"
    base = "/api/v3"

    def check(self, request: Request, path: str) -> None:
        if "/app/installations/" in path:
            self.installation(request, path)
        if request.headers.get("authorization") != f"Bearer {self.token}":
            raise HostRefusal(401, {"message": "Bad credentials"})

    def installation(self, request: Request, path: str) -> None:
        raise HostRefusal(401, {"message": "A JSON web token could not be decoded"})

    def route(self, method: str, path: str, query: dict[str, str], body: Any) -> Any:
        at = f"{self.base}/repos/{PATH}"
        if not f"{path}/".startswith(f"{at}/"):
            raise HostRefusal(404, {"message": "Not Found"})
        rest = path.removeprefix(at)
        if (method, rest) == ("GET", ""):
            return {"default_branch": "main", "permissions": {"pull": True, "push": self.may_push}}
        if rest.startswith("/pulls"):
            return self.pulls(method, rest, query, body)
        return self.git(method, rest, query, body)

    def git(self, method: str, rest: str, query: dict[str, str], body: Any) -> Any:
        _, _, kind, *names = unquote(rest).split("/")
        name = "/".join(names)
        if (method, kind) == ("GET", "ref"):
            branch = name.removeprefix("heads/")
            if branch not in self.branches:
                raise HostRefusal(404, {"message": "Not Found"})
            return {"ref": f"refs/heads/{branch}", "object": {"type": "commit", "sha": self.branches[branch]}}
        if (method, kind) == ("GET", "commits"):
            return {"sha": name, "tree": {"sha": self.tree(self.commits[name])}}
        if (method, kind) == ("GET", "trees"):
            return {
                "sha": name,
                "truncated": False,
                "tree": self.entries(name, recursive=query.get("recursive") == "1"),
            }
        if (method, kind) == ("GET", "blobs"):
            text = base64.b64encode(self.blobs[name].encode()).decode()
            return {"encoding": "base64", "content": "\n".join(text[at : at + 60] for at in range(0, len(text), 60))}
        return self.write(method, kind, name, body)

    def write(self, method: str, kind: str, name: str, body: Any) -> Any:
        if not self.may_push:
            raise HostRefusal(403, {"message": "Resource not accessible by personal access token"})
        if (method, kind) == ("POST", "trees"):
            files = dict(self.trees[body["base_tree"]])
            files |= {entry["path"]: entry["content"] for entry in body["tree"]}
            raise HostRefusal(201, {"sha": self.tree(files)})
        if (method, kind) == ("POST", "commits"):
            commit = sha(body)
            self.commits[commit] = self.trees[body["tree"]]
            raise HostRefusal(201, {"sha": commit})
        if (method, kind) == ("POST", "refs"):
            self.new_branch(body["ref"].removeprefix("refs/heads/"), body["sha"])
            raise HostRefusal(201, {"ref": body["ref"]})
        if (method, kind) == ("DELETE", "refs"):
            del self.branches[name.removeprefix("heads/")]
            raise HostRefusal(204)
        raise HostRefusal(404, {"message": "Not Found"})

    def tree(self, files: dict[str, str]) -> str:
        key = sha(files)
        self.trees[key] = files
        return key

    def entries(self, key: str, *, recursive: bool) -> list[dict[str, Any]]:
        files = self.trees[key]
        if recursive:
            return [{"path": p, "mode": "100644", "type": "blob", "sha": sha(text)} for p, text in files.items()]
        entries_by_name: dict[str, dict[str, Any]] = {}
        for path, text in files.items():
            first, _, rest = path.partition("/")
            inner = {p.removeprefix(f"{first}/"): t for p, t in files.items() if p.startswith(f"{first}/")}
            entry = {"mode": "040000", "type": "tree", "sha": self.tree(inner)} if rest else None
            entries_by_name[first] = {"path": first} | (entry or {"mode": "100644", "type": "blob", "sha": sha(text)})
        return list(entries_by_name.values())

    def pulls(self, method: str, rest: str, query: dict[str, str], body: Any) -> Any:
        number = rest.removeprefix("/pulls").strip("/")
        if number:
            return self.requests[int(number) - 1]
        if method == "GET":
            branch = query["head"].partition(":")[2]
            rows = [
                row for row in self.requests if row["head"]["ref"] == branch and row["base"]["ref"] == query["base"]
            ]
            return [row for row in rows if row["state"] == query["state"]]
        if body["head"] not in self.branches:
            raise HostRefusal(422, {"message": "Validation Failed", "errors": [{"field": "head", "code": "invalid"}]})
        pull_request = {
            "number": len(self.requests) + 1, "state": "open", "merged_at": None, "title": body["title"],
            "body": body["body"], "base": {"ref": body["base"]},
            "head": {"ref": body["head"], "sha": self.branches[body["head"]]},
        }  # fmt: skip
        self.requests.append(pull_request)
        raise HostRefusal(201, pull_request)

    def end(self, *, merged: bool) -> None:
        self.requests[-1] |= {"state": "closed", "merged_at": "2026-01-01T00:00:00Z" if merged else None}


class FakeGitLab(FakeHost):
    kind = "gitlab"
    base = "/api/v4"

    def check(self, request: Request, path: str) -> None:
        if request.headers.get("private-token") != self.token:
            raise HostRefusal(401, {"message": "401 Unauthorized"})

    def route(self, method: str, path: str, query: dict[str, str], body: Any) -> Any:
        at = f"{self.base}/projects/{PATH.replace('/', '%2F')}"
        if not f"{path}/".startswith(f"{at}/"):
            raise HostRefusal(404, {"message": "404 Project Not Found"})
        rest = path.removeprefix(at)
        if not rest:
            level = 30 if self.may_push else 20
            return {"default_branch": "main", "permissions": {"project_access": {"access_level": level}}}
        if rest.startswith("/merge_requests"):
            return self.merge_requests(method, rest, query, body)
        if method == "GET":
            return self.read(rest, query)
        return self.write(method, rest, body)

    def read(self, rest: str, query: dict[str, str]) -> Any:
        _, _, kind, *names = rest.split("/")
        name = unquote("/".join(names))
        if kind == "branches":
            if name not in self.branches:
                raise HostRefusal(404, {"message": "404 Branch Not Found"})
            return {"name": name, "commit": {"id": self.branches[name]}}
        if kind == "blobs":
            return self.blobs[name.removesuffix("/raw")].encode()
        files = self.commits[query["ref"]]
        if kind == "files":
            if name not in files:
                raise HostRefusal(404, {"message": "404 File Not Found"})
            return {"file_path": name, "blob_id": sha(files[name])}
        below = f"{query['path']}/" if query.get("path") else ""
        rows = [{"path": p, "mode": "100644", "id": sha(text)} for p, text in files.items() if p.startswith(below)]
        if not rows:
            raise HostRefusal(404, {"message": "404 Tree Not Found"})
        start = (int(query["page"]) - 1) * int(query["per_page"])
        return rows[start : start + int(query["per_page"])]

    def write(self, method: str, rest: str, body: Any) -> Any:
        if not self.may_push:
            raise HostRefusal(403, {"message": "403 Forbidden"})
        if method == "DELETE":
            del self.branches[unquote(rest.rpartition("/")[2])]
            raise HostRefusal(204)
        commit = sha(body)
        self.commits[commit] = self.commits[body["start_sha"]] | {
            action["file_path"]: action["content"] for action in body["actions"]
        }
        self.new_branch(body["branch"], commit)
        raise HostRefusal(201, {"id": commit})

    def merge_requests(self, method: str, rest: str, query: dict[str, str], body: Any) -> Any:
        number = rest.removeprefix("/merge_requests").strip("/")
        if number:
            return self.requests[int(number) - 1]
        if method == "GET":
            names = (query["source_branch"], query["target_branch"], query["state"])
            rows = self.requests
            return [row for row in rows if (row["source_branch"], row["target_branch"], row["state"]) == names]
        branch = body["source_branch"]
        merge_request = {"iid": len(self.requests) + 1, "state": "opened", "sha": self.branches[branch], **body}
        self.requests.append(merge_request)
        raise HostRefusal(201, merge_request)

    def end(self, *, merged: bool) -> None:
        self.requests[-1]["state"] = "merged" if merged else "closed"
