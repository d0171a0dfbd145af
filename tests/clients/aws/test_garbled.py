"""Answers that do not come from AWS at all, such as the page of a proxy: a reason for each, never a crash or a find."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from migrations_app.clients.aws.client import open_aws
from migrations_app.clients.aws.cross_account import AwsCredentials, AwsLimits, ClusterAccountAccess, OwnIdentity
from migrations_app.clients.aws.session import AwsSession
from migrations_app.clients.secret import Secret
from migrations_app.collect.aws import collect_aws
from migrations_app.errors import InvalidResponse, ReadError, ServerFailed
from migrations_app.inventory.objects.aws import AWS_PART_NAMES
from migrations_app.inventory.parts import Unseen
from tests.fakes.aws_api import PLACE
from tests.fakes.aws_inventory import an_inventory

LIMITS = AwsLimits(tries=1, read_seconds=3)
CALLS = {
    "xml": lambda api: api.caller(),
    "xml, may be absent": lambda api: api.role("karpenter"),
    "xml, in pages": lambda api: api.attached_policies("karpenter"),
    "json": lambda api: api.cluster(),
    "json of sqs": lambda api: api.queue("shop", account="111122223333"),
    "xml of ec2": lambda api: api.tagged_instances(),
}
ANSWERS = {
    "page of a proxy": (200, b"<html><br>Please sign in</html>"),
    "cut off": (200, b"<GetRoleResponse><GetRoleResult>"),
    "nothing": (200, b""),
    "no text": (200, b"\xff\x00\xfe"),
    "another shape": (200, b"[]"),
    "refusing page": (403, b"<html>no"),
    "redirect": (302, b""),
}


class Odd:
    """Answers everything with the same bytes."""

    def __init__(self, status, body):
        class Door(BaseHTTPRequestHandler):
            def do_GET(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self):
                self.do_GET()

            def log_message(self, *_given):
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def api(self):
        own = OwnIdentity(endpoint=f"http://127.0.0.1:{self.server.server_port}")
        keys = AwsCredentials(access_key_id="AKIA", secret=Secret("s"))
        return open_aws(
            AwsSession(ClusterAccountAccess(region="eu-west-1", keys=keys), own, limits=LIMITS), PLACE, limits=LIMITS
        )


@pytest.fixture
def odd():
    """odd(status, body) -> a client of AWS that gets this for every call."""
    made = []

    def make(status, body):
        made.append(Odd(status, body))
        return made[-1].api()

    yield make
    for one in made:
        one.server.shutdown()
        one.server.server_close()


@pytest.mark.parametrize("call", CALLS.values(), ids=list(CALLS))
@pytest.mark.parametrize(("status", "body"), ANSWERS.values(), ids=list(ANSWERS))
def test_what_is_not_of_aws_has_a_reason(odd, status, body, call):
    with pytest.raises(ReadError) as caught:
        call(odd(status, body))
    assert type(caught.value) in (InvalidResponse, ServerFailed)


def test_it_leaves_every_part_unseen(odd):
    seen = collect_aws(odd(*ANSWERS["page of a proxy"]), an_inventory())
    told = Unseen("garbled", "the answer to sts:GetCallerIdentity is not in the form that AWS documents")
    assert {name: seen.part(name) for name in AWS_PART_NAMES if name != "aws_auth"} == dict.fromkeys(
        (name for name in AWS_PART_NAMES if name != "aws_auth"), told
    )
