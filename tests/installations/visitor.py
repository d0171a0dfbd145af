"""A person at the browser over plain HTTP: cookies, forms with their tokens, redirects."""

import re
import urllib.parse
import urllib.request
from http.cookiejar import CookieJar

FIRST_OWN_PASSWORD = "correct-horse-battery-9"
_TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


class Visitor:
    """`page` is the text of the last page, `at` its URL."""

    def __init__(self, address: str) -> None:
        self._address = address
        cookies = urllib.request.HTTPCookieProcessor(CookieJar())
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), cookies)
        self.page, self.at = "", ""

    def get(self, path: str) -> str:
        return self._open(urllib.request.Request(self._address + path))

    def send(self, path: str, **fields: str) -> str:
        """Fills in the form of that page and submits it; returns the page that follows."""
        found = _TOKEN.search(self.get(path))
        assert found is not None, f"{path} shows no form"
        body = urllib.parse.urlencode(fields | {"csrfmiddlewaretoken": found[1]}).encode()
        return self._open(urllib.request.Request(self._address + path, data=body))

    def sign_in(self, password: str) -> None:
        """Signs in with the one-time password, and sets a new one."""
        self.send("/login", username="admin", password=password)
        assert self.at.endswith("/password"), f"a one-time password leads to {self.at}"
        chosen = {"new_password1": FIRST_OWN_PASSWORD, "new_password2": FIRST_OWN_PASSWORD}
        self.send("/password", old_password=password, **chosen)

    def _open(self, request: urllib.request.Request) -> str:
        with self._opener.open(request, timeout=30) as answer:
            self.page, self.at = answer.read().decode(), answer.url
        return self.page
