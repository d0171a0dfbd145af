"""A real kube-apiserver on etcd, with an audit log, static tokens, a client CA, and RBAC created on demand."""

import base64
import json
import secrets
import ssl
import subprocess
from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import NamedTuple

import yaml

from tests.servers import apiserver_files, crds
from tests.servers.access import grant, wait_for_access
from tests.servers.api_client import Client, Document
from tests.servers.apiserver_files import AUDIT_LOG, User
from tests.servers.etcd import SELDOM_COLLECTED, Etcd
from tests.servers.pki import Authority
from tests.servers.processes import Child, discard, folder, free_port, missing, program
from tests.servers.waiting import eventually

POOL_SIZE = 100
_FIRST_NAMESPACES = {"default", "kube-system", "kube-public", "kube-node-lease"}
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_DEFINITION_KEYS = "/registry/apiextensions.k8s.io/customresourcedefinitions/"
# The server makes and ends these by itself, so a wipe leaves them alone.
_ITS_OWN = (
    "/registry/apiregistration.k8s.io/",
    "/registry/flowschemas/",
    "/registry/masterleases/",
    "/registry/prioritylevelconfigurations/",
    "/registry/ranges/",
)
# Of what was there at the start, these are put back where a test changed them.
_RESTORED = ("/registry/clusterrole", "/registry/namespaces/", "/registry/configmaps/", "/registry/role")


def installed() -> tuple[Path, Path]:
    """Returns the paths of etcd and kube-apiserver; skips or fails the test if one is missing."""
    script = Path(__file__).with_name("build_kube_apiserver.sh")
    found = subprocess.run([script, "--where"], capture_output=True, text=True, check=False)
    if found.returncode:
        missing("kube-apiserver")
    server = Path(found.stdout.strip())
    return program("etcd", server.parent), server


class _Loaded(NamedTuple):
    """A CustomResourceDefinition that was created, and the revision of its key when it was served."""

    definition: Document
    revision: int


class ApiServer:
    """A running server. `url`, `ca_pem` and `admin_token` are what a client needs; `admin` is a client.

    `compaction_seconds` is how soon the server forgets old revisions by itself; `flags` are added to its command line.
    `progress_seconds` is how often watches get a bookmark, by default as often as in current clusters: one every second
    costs 4 % of a processor.
    """

    def __init__(
        self, *, audit: bool = True, compaction_seconds: int = 300, progress_seconds: int = 5, flags: Sequence[str] = ()
    ) -> None:
        etcd_program, server_program = installed()
        self.folder = folder("apiserver")
        self._serving, self._issuing = Authority("tests serving CA"), Authority("tests client CA")
        self._pool = [User(f"user-{number}", secrets.token_hex(16)) for number in range(POOL_SIZE)]
        self._users_made = 0
        self._clients: list[Client] = []
        self.ca_pem, self.admin_token = self._serving.pem, secrets.token_hex(16)
        users = (User("admin", self.admin_token, "system:masters"), *self._pool)
        apiserver_files.write(self.folder, serving=self._serving, clients=self._issuing, users=users)
        port = free_port()
        self._url = f"https://127.0.0.1:{port}"
        self._loaded: dict[str, _Loaded] = {}
        self._left: set[str] = set()
        self._admin = self.client(self.admin_token)
        self._etcd = Etcd(etcd_program, self.folder, progress_seconds=progress_seconds)
        ports = [f"--secure-port={port}", f"--etcd-servers={self._etcd.url}"]
        switches = [*apiserver_files.switches(self.folder, audit=audit), *ports, *flags]
        switches.append(f"--etcd-compaction-interval={compaction_seconds}s")
        self.child = Child([server_program, *switches], log=self.folder / "kube-apiserver.log", env=SELDOM_COLLECTED)
        self.child.wait_until(self._is_ready, what="kube-apiserver")
        self._at_start = self._etcd.contents()

    @property
    def url(self) -> str:
        self._remove_left()
        return self._url

    @property
    def admin(self) -> Client:
        self._remove_left()
        return self._admin

    @property
    def etcd(self) -> Etcd:
        self._remove_left()
        return self._etcd

    def stop(self) -> None:
        self.resume()
        for client in self._clients:
            client.close()
        self.child.stop()
        self._etcd.stop()
        discard(self.folder)

    def pause(self) -> None:
        """Stops both processes with SIGSTOP: without a request they use 7 % of a processor."""
        self.child.pause()
        self._etcd.child.pause()

    def resume(self) -> None:
        self._etcd.child.resume()
        self.child.resume()

    def client(self, token: str = "", *, certificate: tuple[str, str] | None = None) -> Client:
        """Returns a client for a token or for a (certificate, key) pair; the server closes it when it stops."""
        tls = ssl.create_default_context(cadata=self.ca_pem)
        if certificate is not None:
            pair = self.folder / f"{secrets.token_hex(8)}.pem"
            pair.write_text("".join(certificate))
            tls.load_cert_chain(pair)
        self._remove_left()
        self._clients.append(Client(self._url, tls=tls, token=token))
        return self._clients[-1]

    def client_cert(self, user: str, groups: Sequence[str] = ()) -> tuple[str, str]:
        """Returns (certificate, key) as PEM with which this user signs in, with these groups."""
        return self._issuing.client(user, groups)

    def kubeconfig(self, token: str = "", *, certificate: tuple[str, str] | None = None, context: str = "test") -> str:
        """Returns a kubeconfig with everything inside: CA, and the token or the (certificate, key) pair."""
        user = {"token": token} if token else {}
        if certificate is not None:
            user |= {"client-certificate-data": _inline(certificate[0]), "client-key-data": _inline(certificate[1])}
        cluster = {"server": self.url, "certificate-authority-data": _inline(self.ca_pem)}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": context,
            "clusters": [{"name": context, "cluster": cluster}],
            "users": [{"name": context, "user": user}],
            "contexts": [{"name": context, "context": {"cluster": context, "user": context}}],
        }
        return yaml.safe_dump(document)

    def make_user(self, name: str, rules: Sequence[Document] = ()) -> str:
        """Returns the token of a user who may do what these ClusterRole rules allow, and nothing else; in force on
        return.

        The server sees `user-<n>`; `name` is part of the role's name. Users are reused: the 101st is the first again.
        """
        user = self._pool[self._users_made % POOL_SIZE]
        self._users_made += 1
        if rules:
            grant(self.admin, role=f"test-{name}-{self._users_made}", user=user.name, rules=rules)
            wait_for_access(self.client(user.token), rules)
        return user.token

    def load_crds(self, set_name: str, *, conversion_webhook: bool = False) -> list[Document]:
        """Loads crds.SETS[set_name] as an upgrade would; objects and other CRDs stay (`wipe` removes them)."""
        return self.load_documents(crds.documents(set_name, conversion_webhook=conversion_webhook))

    def load_documents(self, definitions: Sequence[Document]) -> list[Document]:
        """Creates or replaces these CustomResourceDefinitions; returns them as stored, once each version is served."""
        if not self._are_left(definitions):
            self._remove_left()
            created = [definition for definition in definitions if self._create_or_replace(definition)]
            for served in crds.groups_and_plurals(definitions):
                eventually(partial(self._serves, *served), what=f"{served} to be served")
            self._remember(created)
        self._left.clear()
        return [self._admin.get(self._admin.path_of(definition)) for definition in definitions]

    def store_versions(self, crd_name: str, versions: Sequence[str]) -> Document:
        """Sets status.storedVersions of a CRD, as if objects had been stored in these versions."""
        patch = {"status": {"storedVersions": list(versions)}}
        return self._admin.patch(f"{_DEFINITIONS}/{crd_name}/status", patch)

    def wipe(self, *, leave_crds: bool = False) -> None:
        """Resets the server to its start, including CRDs and users' rights; finalizers do not delay it.

        With `leave_crds`, unchanged definitions are removed only at the next use of the server, unless that loads
        exactly the same ones: each added or removed definition costs the server a second, because it writes its OpenAPI
        again.
        """
        now = self._etcd.revisions()
        self._left = self._unchanged(now) if leave_crds else set()
        if not self._left:
            self._forget()
        definition_keys = {_DEFINITION_KEYS + name for name in self._left}
        new_keys = [
            key
            for key in now
            if key not in self._at_start and key not in definition_keys and not key.startswith(_ITS_OWN)
        ]
        self._delete(new_keys, now=now)
        for key, stored in self._at_start.items():
            if key.startswith(_RESTORED) and now.get(key) != stored.revision:
                self._at_start[key] = stored._replace(revision=self._etcd.put(key, stored.value))

    def compact(self) -> None:
        """Compacts etcd: every continue token given out before the last write answers 410 from now on."""
        self._etcd.compact()

    def audit_mark(self) -> int:
        """Returns the current end of the audit log, for `audit_events(since)`."""
        return (self.folder / AUDIT_LOG).stat().st_size

    def audit_events(self, since: int = 0) -> list[Document]:
        """Returns the requests to the server after that mark, in order."""
        with (self.folder / AUDIT_LOG).open("rb") as log:
            log.seek(since)
            return [json.loads(line) for line in log if line.endswith(b"\n")]

    def _unchanged(self, now: Mapping[str, int]) -> set[str]:
        """Returns the names of the loaded definitions; none if the test changed one of them or created others."""
        stored = {key.removeprefix(_DEFINITION_KEYS): now[key] for key in now if key.startswith(_DEFINITION_KEYS)}
        return set(stored) if stored == {name: loaded.revision for name, loaded in self._loaded.items()} else set()

    def _are_left(self, definitions: Sequence[Document]) -> bool:
        """Whether the last wipe left exactly these definitions."""
        by_name = {definition["metadata"]["name"]: definition for definition in definitions}
        return bool(by_name) and {name: self._loaded[name].definition for name in self._left} == by_name

    def _remove_left(self) -> None:
        """Completes a wipe that left definitions."""
        if self._left:
            keys = [_DEFINITION_KEYS + name for name in self._left]
            self._forget()
            self._delete(keys, now=self._etcd.revisions())

    def _delete(self, keys: Sequence[str], *, now: Mapping[str, int]) -> None:
        """Deletes these keys; returns when the groups of deleted definitions are no longer served."""
        names = {key.removeprefix(_DEFINITION_KEYS) for key in keys if key.startswith(_DEFINITION_KEYS)}
        self._etcd.delete(keys, beside=sorted(now.keys() - set(keys)))
        groups = {name.partition(".")[2] for name in names}
        if groups:
            eventually(lambda: not groups & self._groups(), what="the removed CRDs to leave discovery")

    def _forget(self) -> None:
        """Records that no loaded definition is left."""
        self._left.clear()
        self._loaded.clear()

    def _remember(self, definitions: Sequence[Document]) -> None:
        """Records definitions that were created, in their state once they are served."""
        now = self._etcd.revisions()
        for definition in definitions:
            name = definition["metadata"]["name"]
            self._loaded[name] = _Loaded(deepcopy(definition), now[_DEFINITION_KEYS + name])

    def _create_or_replace(self, definition: Document) -> bool:
        """Whether the definition was created; a replaced one keeps its stored versions."""
        path = f"{_DEFINITIONS}/{definition['metadata']['name']}"
        old = self._admin.request("GET", path)
        if old.status == 404:
            self._admin.create(definition)
            return True
        version = old.good()["metadata"]["resourceVersion"]
        self._admin.replace({**definition, "metadata": {**definition["metadata"], "resourceVersion": version}})
        return False

    def _serves(self, group: str, version: str, plural: str) -> bool:
        answer = self._admin.request("GET", f"/apis/{group}/{version}")
        if answer.status != 200 or group not in self._groups():
            return False
        names = {resource["name"] for resource in answer.json()["resources"]}
        path = f"/apis/{group}/{version}/{plural}"
        # A listing through a conversion webhook that is not there answers 500, and is served all the same.
        return plural in names and self._admin.request("GET", path, limit=1).status in (200, 500)

    def _groups(self) -> set[str]:
        return {group["name"] for group in self._admin.get("/apis")["groups"]}

    def _is_ready(self) -> bool:
        try:
            if self._admin.request("GET", "/readyz").status != 200:
                return False
        except OSError:
            return False
        return {space["metadata"]["name"] for space in self._admin.items("/api/v1/namespaces")} >= _FIRST_NAMESPACES


def _inline(pem: str) -> str:
    return base64.b64encode(pem.encode()).decode()
