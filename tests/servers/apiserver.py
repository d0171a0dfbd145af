"""A real kube-apiserver on etcd, with an audit log, static tokens, a client CA, and RBAC made on demand."""

import base64
import json
import secrets
import ssl
import subprocess
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import yaml

from tests.servers import apiserver_files, crds
from tests.servers.access import grant, wait_for_access
from tests.servers.api_client import Client, Document
from tests.servers.apiserver_files import AUDIT_LOG, User
from tests.servers.etcd import Etcd
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
    """The paths of etcd and kube-apiserver; skips or fails the test when one is not there."""
    script = Path(__file__).with_name("build_kube_apiserver.sh")
    found = subprocess.run([script, "--where"], capture_output=True, text=True, check=False)
    if found.returncode:
        missing("kube-apiserver")
    server = Path(found.stdout.strip())
    return program("etcd", server.parent), server


class ApiServer:
    """A running server. `url`, `ca_pem` and `admin_token` are what a client needs; `admin` is one.

    `compaction_seconds` is how soon the server forgets old revisions by itself; `flags` are added to its command line.
    """

    def __init__(self, *, audit: bool = True, compaction_seconds: int = 300, flags: Sequence[str] = ()) -> None:
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
        self.url = f"https://127.0.0.1:{port}"
        self.admin = self.client(self.admin_token)
        self.etcd = Etcd(etcd_program, self.folder)
        ports = [f"--secure-port={port}", f"--etcd-servers={self.etcd.url}"]
        switches = [*apiserver_files.switches(self.folder, audit=audit), *ports, *flags]
        switches.append(f"--etcd-compaction-interval={compaction_seconds}s")
        self.child = Child([server_program, *switches], log=self.folder / "kube-apiserver.log")
        self.child.wait_until(self._is_ready, what="kube-apiserver")
        self._at_start = self.etcd.contents()

    def stop(self) -> None:
        for client in self._clients:
            client.close()
        self.child.stop()
        self.etcd.stop()
        discard(self.folder)

    def client(self, token: str = "", *, certificate: tuple[str, str] | None = None) -> Client:
        """A client for a token or for a (certificate, key) pair; the server closes it when it stops."""
        tls = ssl.create_default_context(cadata=self.ca_pem)
        if certificate is not None:
            pair = self.folder / f"{secrets.token_hex(8)}.pem"
            pair.write_text("".join(certificate))
            tls.load_cert_chain(pair)
        self._clients.append(Client(self.url, tls=tls, token=token))
        return self._clients[-1]

    def client_cert(self, user: str, groups: Sequence[str] = ()) -> tuple[str, str]:
        """(certificate, key) as PEM that log in as this user with these groups."""
        return self._issuing.client(user, groups)

    def kubeconfig(self, token: str = "", *, certificate: tuple[str, str] | None = None, context: str = "test") -> str:
        """A kubeconfig with everything inside: CA, and the token or the (certificate, key) pair."""
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
        """The token of a user who may do what these ClusterRole rules say, and nothing else; in force on return.

        The server sees `user-<n>`; `name` shows in the role. The pool goes round: the 101st is the first again.
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
        for definition in definitions:
            self._create_or_replace(definition)
        for served in crds.groups_and_plurals(definitions):
            eventually(partial(self._serves, *served), what=f"{served} to be served")
        return [self.admin.get(self.admin.path_of(definition)) for definition in definitions]

    def store_versions(self, crd_name: str, versions: Sequence[str]) -> Document:
        """Sets status.storedVersions of a CRD to what the objects of older days have left there."""
        patch = {"status": {"storedVersions": list(versions)}}
        return self.admin.patch(f"{_DEFINITIONS}/{crd_name}/status", patch)

    def wipe(self) -> None:
        """Takes the server back to how it started, CRDs and users' rights included; no finalizer holds it up."""
        now = self.etcd.revisions()
        made = [key for key in now if key not in self._at_start and not key.startswith(_ITS_OWN)]
        groups = {
            key.removeprefix(_DEFINITION_KEYS).partition(".")[2] for key in made if key.startswith(_DEFINITION_KEYS)
        }
        self.etcd.delete(made, beside=sorted(now.keys() - set(made)))
        for key, stored in self._at_start.items():
            if key.startswith(_RESTORED) and now.get(key) != stored.revision:
                self._at_start[key] = stored._replace(revision=self.etcd.put(key, stored.value))
        eventually(lambda: not groups & self._groups(), what="the removed CRDs to leave discovery")

    def compact(self) -> None:
        """Forgets what was: every continue token given out before the last write answers 410 from now on."""
        self.etcd.compact()

    def audit_mark(self) -> int:
        """Where the audit log ends now, for `audit_events(since)`."""
        return (self.folder / AUDIT_LOG).stat().st_size

    def audit_events(self, since: int = 0) -> list[Document]:
        """What was asked of the server after that mark, in order."""
        with (self.folder / AUDIT_LOG).open("rb") as log:
            log.seek(since)
            return [json.loads(line) for line in log if line.endswith(b"\n")]

    def _create_or_replace(self, definition: Document) -> None:
        path = f"{_DEFINITIONS}/{definition['metadata']['name']}"
        old = self.admin.request("GET", path)
        if old.status == 404:
            self.admin.create(definition)
            return
        version = old.good()["metadata"]["resourceVersion"]
        self.admin.replace({**definition, "metadata": {**definition["metadata"], "resourceVersion": version}})

    def _serves(self, group: str, version: str, plural: str) -> bool:
        listed = self.admin.request("GET", f"/apis/{group}/{version}")
        if listed.status != 200 or group not in self._groups():
            return False
        names = {resource["name"] for resource in listed.json()["resources"]}
        path = f"/apis/{group}/{version}/{plural}"
        # A listing through a conversion webhook that is not there answers 500, and is served all the same.
        return plural in names and self.admin.request("GET", path, limit=1).status in (200, 500)

    def _groups(self) -> set[str]:
        return {group["name"] for group in self.admin.get("/apis")["groups"]}

    def _is_ready(self) -> bool:
        try:
            if self.admin.request("GET", "/readyz").status != 200:
                return False
        except OSError:
            return False
        return {space["metadata"]["name"] for space in self.admin.items("/api/v1/namespaces")} >= _FIRST_NAMESPACES


def _inline(pem: str) -> str:
    return base64.b64encode(pem.encode()).decode()
