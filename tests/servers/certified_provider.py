"""Runs oidc-provider, a certified OpenID Connect provider, as a process on loopback, and signs in to it like a
browser.
"""

import http.cookiejar
import json
import re
import shutil
import subprocess
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.servers.processes import program

FILES = Path(__file__).parents[1] / "oidc_provider"
CLIENT, SECRET, HERE = "karpdash", "a-secret-of-the-client", "http://testserver/sign-in/oidc/back"
STEPS = 6
"""Pages of the provider between the sign-in's begin and its end, at most."""


def install(folder: Path) -> None:
    """Installs the packages of the lock file into the folder."""
    for name in ("package.json", "package-lock.json", "provider.mjs"):
        shutil.copy(FILES / name, folder)
    words = [str(program("npm")), "ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


class CertifiedProvider:
    """The running process; `issuer` is its URL. It signs in `ada` and `ben`, with any password."""

    def __init__(self, folder: Path) -> None:
        words = [str(program("node")), "provider.mjs", HERE, CLIENT, SECRET]
        with (folder / "log").open("w") as log:
            self.process = subprocess.Popen(
                words, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self.process.stdout is not None
        self.issuer = self.process.stdout.readline().strip()
        assert self.issuer, (folder / "log").read_text()

    def rotate(self) -> None:
        """Signs with another key from now on; the old one is no longer published."""
        self._post("rotate", b"")

    def people(self, **groups: list[str]) -> None:
        """Sets the groups of people from now on."""
        self._post("people", json.dumps(groups).encode())

    def stop(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()

    def _post(self, path: str, body: bytes) -> None:
        request = urllib.request.Request(f"{self.issuer}/test/{path}", data=body, method="POST")
        with urllib.request.urlopen(request, timeout=10) as answer:
            assert answer.status == 200


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follows the provider's redirects, but none that leads back to karpdash."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        return None if newurl.startswith(HERE) else super().redirect_request(req, fp, code, msg, headers, newurl)


class ProviderBrowser:
    """A person's browser at the provider: its cookies, and the forms that it fills in. `asked` is the number of
    sign-ins.
    """

    def __init__(self, person: str) -> None:
        jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self._opener = urllib.request.build_opener(jar, _Stay())
        self._person = person
        self.asked = 0

    def authorize(self, address: str) -> str:
        """Opens that URL of the provider and returns the URL in karpdash that it redirects to."""
        place: str | urllib.request.Request = address
        for _ in range(STEPS):
            try:
                with self._opener.open(place, timeout=10) as answer:
                    page_url, page = answer.url, answer.read().decode()
            except urllib.error.HTTPError as answer:
                if answer.code != 303:
                    raise
                return str(answer.headers["Location"]).removeprefix("http://testserver")
            prompts = re.findall(r'name="prompt" value="(\w+)"', page)
            assert prompts, page[:500]
            form = {"prompt": prompts[0], "login": self._person, "password": "any"}
            self.asked += prompts[0] == "login"
            place = urllib.request.Request(page_url, data=urlencode(form).encode(), method="POST")
        raise AssertionError("the provider asks and asks")
