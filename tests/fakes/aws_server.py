"""STS and EKS on loopback: roles with an external id, clusters to describe, and a record of all requests.

It replaces moto where moto differs from AWS: moto's roles can be assumed by everybody, and its clusters have no server.
"""

import json
import threading
import urllib.parse
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from migrations_app.clients.aws.cross_account import AwsCredentials, OwnIdentity
from migrations_app.clients.secret import Secret

ACCOUNT = "111122223333"
REGION = "eu-west-1"
ARN = f"arn:aws:eks:{REGION}:{ACCOUNT}:cluster/shop"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/karpdash-reader"
OWN_ARN = "arn:aws:iam::999900001111:user/karpdash"
OWN_KEY = "AKIAOWN"
TAKEN_SECRET = "taken-secret"
TAKEN_TOKEN = "taken-session"
_XMLNS = "https://sts.amazonaws.com/doc/2011-06-15/"
Answer = tuple[int, bytes]


@dataclass
class AwsServer:
    """`roles` maps a role to its external id; a role with an empty id can be assumed by everybody. `refused` holds
    actions that are always refused. `asked` lists the requests: the action and its parameters. `trusted` maps a role to
    the only role that may assume it; `accounts` is the organization, and `fleet` its clusters by account and region.
    """

    roles: dict[str, str] = field(default_factory=dict)
    clusters: dict[str, dict[str, Any]] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    trusted: dict[str, str] = field(default_factory=dict)
    accounts: list[dict[str, str]] = field(default_factory=list)
    fleet: dict[tuple[str, str], dict[str, dict[str, Any]]] = field(default_factory=dict)
    own_arn: str = OWN_ARN
    asked: list[dict[str, str]] = field(default_factory=list)
    sessions: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def identity(self) -> OwnIdentity:
        """Returns the settings with which karpdash has an identity at this AWS."""
        return OwnIdentity(keys=AwsCredentials(access_key_id=OWN_KEY, secret=Secret("own-secret")), endpoint=self.url)

    def cluster(self, url: str, ca: str, **changed: Any) -> None:
        """Describes the cluster `shop` with that endpoint and CA (base64)."""
        facts = {
            "name": "shop",
            "arn": ARN,
            "status": "ACTIVE",
            "version": "1.30",
            "endpoint": url,
            "certificateAuthority": {"data": ca},
        }
        self.clusters["shop"] = facts | changed

    def opened(self) -> list[str | None]:
        """Returns the external id of each attempt to assume a role; None for an attempt without one."""
        return [request.get("ExternalId") for request in self.asked if request["action"] == "sts:AssumeRole"]

    def sts(self, parameters: dict[str, str], key: str) -> Answer:
        action = f"sts:{parameters['Action']}"
        self.asked.append(parameters | {"action": action})
        if action == "sts:AssumeRole":
            return self._assume(parameters, key)
        arn = self.own_arn if key == OWN_KEY else self.sessions.get(key, "")
        if not arn:
            return _error(403, "InvalidClientTokenId")
        account = arn.split(":")[4]
        return _xml("GetCallerIdentity", f"<Arn>{arn}</Arn><UserId>A</UserId><Account>{account}</Account>")

    def organization(self, key: str) -> Answer:
        self.asked.append({"action": "organizations:ListAccounts"})
        if key not in self.sessions or "organizations:ListAccounts" in self.refused:
            return _json(400, {"__type": "AccessDeniedException", "message": "You don't have permissions"})
        return _json(200, {"Accounts": self.accounts})

    def of_fleet(self, name: str, key: str, *, region: str) -> Answer:
        """Returns one cluster of the session's account in that region; without a name the list of names."""
        action = "eks:DescribeCluster" if name else "eks:ListClusters"
        account = self.sessions.get(key, "::::").split(":")[4]
        self.asked.append({"action": action, "name": name, "account": account, "region": region})
        if not account or action in self.refused or f"{account}/{region}" in self.refused:
            return _json(403, {"__type": "AccessDeniedException", "message": "not authorized to perform"})
        resources = self.fleet.get((account, region), {})
        if not name:
            return _json(200, {"clusters": list(resources)})
        if name not in resources:
            return _json(404, {"__type": "ResourceNotFoundException", "message": "No cluster found"})
        return _json(200, {"cluster": resources[name]})

    def eks(self, name: str, key: str) -> Answer:
        self.asked.append({"action": "eks:DescribeCluster", "name": name})
        if key not in self.sessions or "eks:DescribeCluster" in self.refused:
            return _json(403, {"__type": "AccessDeniedException", "message": "not authorized to perform"})
        if name not in self.clusters:
            return _json(404, {"__type": "ResourceNotFoundException", "message": "No cluster found"})
        return _json(200, {"cluster": self.clusters[name]})

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def _assume(self, parameters: dict[str, str], key: str) -> Answer:
        role = parameters["RoleArn"]
        external_id = self.roles.get(role)
        if role in self.trusted and f":assumed-role/{self.trusted[role]}/" not in self.sessions.get(key, ""):
            return _error(403, "AccessDenied")
        if external_id is None or (external_id and parameters.get("ExternalId") != external_id):
            return _error(403, "AccessDenied")
        key = f"ASIA{len(self.sessions):012}"
        _, _, _, _, account, name = role.split(":", 5)
        short = name.rsplit("/", 1)[-1]
        self.sessions[key] = f"arn:aws:sts::{account}:assumed-role/{short}/{parameters['RoleSessionName']}"
        ends = datetime.now(UTC) + timedelta(hours=1)
        return _xml(
            "AssumeRole",
            f"<Credentials><AccessKeyId>{key}</AccessKeyId><SecretAccessKey>{TAKEN_SECRET}</SecretAccessKey>"
            f"<SessionToken>{TAKEN_TOKEN}</SessionToken><Expiration>{ends:%Y-%m-%dT%H:%M:%SZ}</Expiration></Credentials>",
        )


def _handler(aws: AwsServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            if self.headers.get("X-Amz-Target", "").endswith(".ListAccounts"):
                self._say(aws.organization(self._key()))
                return
            self._say(aws.sts(dict(urllib.parse.parse_qsl(body)), self._key()))

        def do_GET(self) -> None:
            name = self.path.partition("?")[0].removeprefix("/clusters").removeprefix("/")
            if aws.fleet:
                self._say(aws.of_fleet(name, self._key(), region=self._scope(2)))
            else:
                self._say(aws.eks(name, self._key()))

        def log_message(self, *_given: object) -> None:
            return

        def _key(self) -> str:
            return self._scope(0)

        def _scope(self, place: int) -> str:
            """Returns the key, date, region or service that the request is signed for."""
            return self.headers["Authorization"].partition("Credential=")[2].split("/")[place]

        def _say(self, answer: Answer) -> None:
            status, body = answer
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler


def _xml(action: str, content: str) -> Answer:
    body = f'<{action}Response xmlns="{_XMLNS}"><{action}Result>{content}</{action}Result></{action}Response>'
    return 200, body.encode()


def _error(status: int, code: str) -> Answer:
    body = f"<Error><Type>Sender</Type><Code>{code}</Code><Message>no</Message></Error>"
    return status, f'<ErrorResponse xmlns="{_XMLNS}">{body}</ErrorResponse>'.encode()


def _json(status: int, body: dict[str, Any]) -> Answer:
    return status, json.dumps(body).encode()
