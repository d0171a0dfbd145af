"""The interface that both hosts implement, and its values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

HostKind = Literal["github", "gitlab"]
RequestStatus = Literal["open", "merged", "closed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchHead:
    """The default branch or a named one, and its newest commit."""

    branch: str
    commit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchOrder:
    """A new branch with one commit on top of `commit`; `files` are whole texts by path."""

    branch: str
    commit: str
    message: str
    files: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOrder:
    """A pull or merge request from `branch` into `base`."""

    branch: str
    base: str
    title: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRequest:
    """A pull or merge request. `number` is the one that people see; `commit` is the newest commit of its branch."""

    number: int
    status: RequestStatus
    commit: str


class GitHost(Protocol):
    """One repository on one host. Every method raises ReadError; writing methods raise Conflict if the host refuses."""

    def head(self, branch: str) -> BranchHead:
        """The newest commit of that branch, or of the default branch. Raises Forbidden if the token may not write."""

    def files(self, commit: str, place: str) -> Mapping[str, str]:
        """The plain files below a folder, or the one file of that path: path to the id of its content.

        Raises NotServed for a path that does not exist.
        """

    def text(self, content: str) -> str:
        """The content with that id. Raises InvalidResponse if it is not UTF-8."""

    def branch_commit(self, branch: str) -> str:
        """The newest commit of a branch; empty where there is none."""

    def open_request(self, branch: str, base: str) -> HostRequest | None:
        """The open request from that branch into that base."""

    def make_branch(self, order: BranchOrder) -> str:
        """The commit of the new branch. Raises Conflict `branch_exists` or `refused_by_host`."""

    def make_request(self, order: RequestOrder) -> HostRequest:
        """The new request. Raises Conflict `refused_by_host`."""

    def drop_branch(self, branch: str) -> None:
        """Deletes a branch."""

    def request(self, number: int) -> HostRequest:
        """The request of that number as it is now."""
