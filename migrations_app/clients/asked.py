"""What one request asks for, in the words of RBAC: so that a refusal can name the rule that is missing."""

import re
from dataclasses import dataclass
from typing import Literal

from migrations_app.errors import Garbled

Verb = Literal["get", "list", "create", "patch", "delete"]

_SEGMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,252}")
LONGEST_PATH = 2048


@dataclass(frozen=True, slots=True)
class Asked:
    """`plural` is empty for documents such as /version, which RBAC knows as nonResourceURLs."""

    verb: Verb
    path: str
    group: str = ""
    plural: str = ""
    namespace: str = ""
    name: str = ""

    @property
    def what(self) -> str:
        """Such as `nodepools.karpenter.sh` or `pods in kube-system`."""
        if not self.plural:
            return self.path
        full = f"{self.plural}.{self.group}" if self.group else self.plural
        return f"{full} in {self.namespace}" if self.namespace else full

    @property
    def rule(self) -> str:
        """The RBAC rule that allows it, as one line of YAML."""
        if not self.plural:
            return f'{{nonResourceURLs: ["{self.path}"], verbs: ["{self.verb}"]}}'
        return f'{{apiGroups: ["{self.group}"], resources: ["{self.plural}"], verbs: ["{self.verb}"]}}'


def asked(verb: Verb, path: str) -> Asked:
    """The request in words. Raises Garbled when the path is not one of an API server (K13)."""
    parts = check_path(path)
    if parts[0] == "api" and len(parts) > 2:
        group, rest = "", parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, rest = parts[1], parts[3:]
    else:
        return Asked(verb, path)
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    return Asked(verb, path, group, rest[0], namespace, rest[1] if len(rest) > 1 else "")


def check_path(path: str) -> list[str]:
    """The segments of the path, none of them empty, `.` or `..`. Raises Garbled with code `bad_path`."""
    parts = path[1:].split("/")
    odd = not path.startswith("/") or len(path) > LONGEST_PATH
    if odd or any(not _SEGMENT.fullmatch(part) for part in parts):
        raise Garbled("a name in the path is not one of Kubernetes", code="bad_path")
    return parts
