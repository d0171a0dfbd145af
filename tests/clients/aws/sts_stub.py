"""An STS on loopback that opens a role only to who brings its external id, and lists what it was asked."""

import datetime
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl

_OPENED = """<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>
<AccessKeyId>ASIA{number}</AccessKeyId><SecretAccessKey>taken</SecretAccessKey><SessionToken>session</SessionToken>
<Expiration>{ends}</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"""
_REFUSED = """<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type>
<Code>{code}</Code><Message>User: arn:aws:iam::1:user/k is not authorized to perform: sts:AssumeRole on resource:
{role}</Message></Error></ErrorResponse>"""


class StsStub:
    """`guarded` maps a role to its external id; an empty id opens to everybody. `code` is how it refuses."""

    def __init__(self, guarded, code="AccessDenied", seconds=3600):
        self.guarded, self.code, self.seconds = guarded, code, seconds
        self.asked = []
        stub = self

        class Door(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                status, answer = stub.answer(dict(parse_qsl(body)), self.headers)
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *given):
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def answer(self, given, headers):
        self.asked.append(given | {"agent": headers["User-Agent"], "signed": headers["Authorization"]})
        wanted = self.guarded.get(given["RoleArn"])
        if wanted is None or (wanted and given.get("ExternalId") != wanted):
            return 403, _REFUSED.format(code=self.code, role=given["RoleArn"]).encode()
        ends = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=self.seconds)
        text = _OPENED.format(number=len(self.asked), ends=ends.strftime("%Y-%m-%dT%H:%M:%SZ"))
        return 200, text.encode()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
