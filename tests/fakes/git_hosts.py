"""Stand-ins for GitHub and GitLab, made from their published API descriptions; no real host was asked.

GitHub: REST API 2022-11-28 (repos, git/trees, git/blobs, git/commits, git/refs, pulls, app installations).
GitLab: REST API v4 (projects, repository/tree, files, blobs, branches, commits, merge_requests).
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


class Told(Exception):
    """The answer: status and JSON."""

    def __init__(self, status: int, body: Any = None) -> None:
        super().__init__(status)
        self.status, self.body = status, body


def sha(value: Any) -> str:
    return hashlib.sha1(json.dumps(value, sort_keys=True).encode()).hexdigest()


@dataclass
class FakeHost(ABC):
    """A repository as maps: commits to files, branches to commits. `breaks` answers a route with that status, and
    `drops` ends the connection after the route has done its work."""

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
        status, told = self._told(request, path, body)
        if any(f"{request.method} {path}".endswith(one) for one in self.drops):
            wire.cut()
            return
        text = told if isinstance(told, bytes) else json.dumps(told).encode()
        wire.answer(b"" if status == 204 else text, status=f"{status} {HTTPStatus(status).phrase}")

    def _told(self, request: Request, path: str, body: Any) -> tuple[int, Any]:
        try:
            self.check(request, path)
            broken = next((code for one, code in self.breaks.items() if f"{request.method} {path}".endswith(one)), 0)
            if broken:
                return broken, {"message": "Something is broken"}
            return 200, self.route(request.method, path, request.query, body)
        except Told as told:
            return told.status, told.body

    @abstractmethod
    def check(self, request: Request, path: str) -> None:
        """Raises Told where the credential is refused."""

    @abstractmethod
    def route(self, method: str, path: str, query: dict[str, str], body: Any) -> Any:
        """The JSON of an answer 200. Raises Told for any other."""

    def new_branch(self, branch: str, commit: str) -> None:
        if self.refuses_branches:
            raise Told(422, {"message": "Changes must be made through a protected branch rule"})
        if branch in self.branches:
            raise Told(422, {"message": f"Reference already exists: A branch called '{branch}' already exists"})
        self.branches[branch] = commit

    def written(self) -> list[str]:
        """The requests that write, in order."""
        return [f"{method} {path}" for method, path, _ in self.bodies]


class FakeGitHub(FakeHost):
    kind = "github"
    base = "/api/v3"

    def check(self, request: Request, path: str) -> None:
        if "/app/installations/" in path:
            self.installation(request, path)
        if request.headers.get("authorization") != f"Bearer {self.token}":
            raise Told(401, {"message": "Bad credentials"})

    def installation(self, request: Request, path: str) -> None:
        raise Told(401, {"message": "A JSON web token could not be decoded"})

    def route(self, method: str, path: str, query: dict[str, str], body: Any) -> Any:
        at = f"{self.base}/repos/{PATH}"
        if not f"{path}/".startswith(f"{at}/"):
            raise Told(404, {"message": "Not Found"})
        rest = path.removeprefix(at)
        if (method, rest) == ("GET", ""):
            return {"default_branch": "main", "permissions": {"pull": True, "push": self.may_push}}
        if rest.startswith("/pulls"):
            return self.pulls(method, rest, query, body)
        return self.git(method, rest, query, body)

    def git(self, method: str, rest: str, query: dict[str, str], body: Any) -> Any:
        _, _, what, *names = unquote(rest).split("/")
        name = "/".join(names)
        if (method, what) == ("GET", "ref"):
            branch = name.removeprefix("heads/")
            if branch not in self.branches:
                raise Told(404, {"message": "Not Found"})
            return {"ref": f"refs/heads/{branch}", "object": {"type": "commit", "sha": self.branches[branch]}}
        if (method, what) == ("GET", "commits"):
            return {"sha": name, "tree": {"sha": self.tree(self.commits[name])}}
        if (method, what) == ("GET", "trees"):
            return {"sha": name, "truncated": False, "tree": self.entries(name, whole=query.get("recursive") == "1")}
        if (method, what) == ("GET", "blobs"):
            text = base64.b64encode(self.blobs[name].encode()).decode()
            return {"encoding": "base64", "content": "\n".join(text[at : at + 60] for at in range(0, len(text), 60))}
        return self.write(method, what, name, body)

    def write(self, method: str, what: str, name: str, body: Any) -> Any:
        if not self.may_push:
            raise Told(403, {"message": "Resource not accessible by personal access token"})
        if (method, what) == ("POST", "trees"):
            files = dict(self.trees[body["base_tree"]])
            files |= {one["path"]: one["content"] for one in body["tree"]}
            raise Told(201, {"sha": self.tree(files)})
        if (method, what) == ("POST", "commits"):
            commit = sha(body)
            self.commits[commit] = self.trees[body["tree"]]
            raise Told(201, {"sha": commit})
        if (method, what) == ("POST", "refs"):
            self.new_branch(body["ref"].removeprefix("refs/heads/"), body["sha"])
            raise Told(201, {"ref": body["ref"]})
        if (method, what) == ("DELETE", "refs"):
            del self.branches[name.removeprefix("heads/")]
            raise Told(204)
        raise Told(404, {"message": "Not Found"})

    def tree(self, files: dict[str, str]) -> str:
        key = sha(files)
        self.trees[key] = files
        return key

    def entries(self, key: str, *, whole: bool) -> list[dict[str, Any]]:
        files = self.trees[key]
        if whole:
            return [{"path": p, "mode": "100644", "type": "blob", "sha": sha(text)} for p, text in files.items()]
        found: dict[str, dict[str, Any]] = {}
        for path, text in files.items():
            first, _, rest = path.partition("/")
            inner = {p.removeprefix(f"{first}/"): t for p, t in files.items() if p.startswith(f"{first}/")}
            here = {"mode": "040000", "type": "tree", "sha": self.tree(inner)} if rest else None
            found[first] = {"path": first} | (here or {"mode": "100644", "type": "blob", "sha": sha(text)})
        return list(found.values())

    def pulls(self, method: str, rest: str, query: dict[str, str], body: Any) -> Any:
        number = rest.removeprefix("/pulls").strip("/")
        if number:
            return self.requests[int(number) - 1]
        if method == "GET":
            wanted = query["head"].partition(":")[2]
            rows = [
                one for one in self.requests if one["head"]["ref"] == wanted and one["base"]["ref"] == query["base"]
            ]
            return [one for one in rows if one["state"] == query["state"]]
        if body["head"] not in self.branches:
            raise Told(422, {"message": "Validation Failed", "errors": [{"field": "head", "code": "invalid"}]})
        made = {
            "number": len(self.requests) + 1, "state": "open", "merged_at": None, "title": body["title"],
            "body": body["body"], "base": {"ref": body["base"]},
            "head": {"ref": body["head"], "sha": self.branches[body["head"]]},
        }  # fmt: skip
        self.requests.append(made)
        raise Told(201, made)

    def end(self, *, merged: bool) -> None:
        self.requests[-1] |= {"state": "closed", "merged_at": "2026-01-01T00:00:00Z" if merged else None}


class FakeGitLab(FakeHost):
    kind = "gitlab"
    base = "/api/v4"

    def check(self, request: Request, path: str) -> None:
        if request.headers.get("private-token") != self.token:
            raise Told(401, {"message": "401 Unauthorized"})

    def route(self, method: str, path: str, query: dict[str, str], body: Any) -> Any:
        at = f"{self.base}/projects/{PATH.replace('/', '%2F')}"
        if not f"{path}/".startswith(f"{at}/"):
            raise Told(404, {"message": "404 Project Not Found"})
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
        _, _, what, *names = rest.split("/")
        name = unquote("/".join(names))
        if what == "branches":
            if name not in self.branches:
                raise Told(404, {"message": "404 Branch Not Found"})
            return {"name": name, "commit": {"id": self.branches[name]}}
        if what == "blobs":
            return self.blobs[name.removesuffix("/raw")].encode()
        files = self.commits[query["ref"]]
        if what == "files":
            if name not in files:
                raise Told(404, {"message": "404 File Not Found"})
            return {"file_path": name, "blob_id": sha(files[name])}
        below = f"{query['path']}/" if query.get("path") else ""
        rows = [{"path": p, "mode": "100644", "id": sha(text)} for p, text in files.items() if p.startswith(below)]
        if not rows:
            raise Told(404, {"message": "404 Tree Not Found"})
        start = (int(query["page"]) - 1) * int(query["per_page"])
        return rows[start : start + int(query["per_page"])]

    def write(self, method: str, rest: str, body: Any) -> Any:
        if not self.may_push:
            raise Told(403, {"message": "403 Forbidden"})
        if method == "DELETE":
            del self.branches[unquote(rest.rpartition("/")[2])]
            raise Told(204)
        commit = sha(body)
        self.commits[commit] = self.commits[body["start_sha"]] | {
            one["file_path"]: one["content"] for one in body["actions"]
        }
        self.new_branch(body["branch"], commit)
        raise Told(201, {"id": commit})

    def merge_requests(self, method: str, rest: str, query: dict[str, str], body: Any) -> Any:
        number = rest.removeprefix("/merge_requests").strip("/")
        if number:
            return self.requests[int(number) - 1]
        if method == "GET":
            names = (query["source_branch"], query["target_branch"], query["state"])
            rows = self.requests
            return [one for one in rows if (one["source_branch"], one["target_branch"], one["state"]) == names]
        branch = body["source_branch"]
        made = {"iid": len(self.requests) + 1, "state": "opened", "sha": self.branches[branch], **body}
        self.requests.append(made)
        raise Told(201, made)

    def end(self, *, merged: bool) -> None:
        self.requests[-1]["state"] = "merged" if merged else "closed"
