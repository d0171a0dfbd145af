"""Detects and removes secrets, by their format and by the name before them, in all text that leaves karpdash.

Used for logs, the audit log, Helm values, bundles, server responses and messages. Every pattern runs in linear time: no
part may restart within a run of characters that it has read, or the run is bounded.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

REMOVED = "(removed)"
MAX_TEXT_LENGTH = 2000
"""Maximum number of characters that are kept of a text."""
MAX_DEPTH = 40
Substitute = Callable[[str], str]
"""A function that returns the replacement of a secret."""

_PLAIN = r"\[secret\]|\(removed\)|\*{3}|hmac:|(?:null|none|true|false)\b|[$%][({]|<"
"""The beginning of a value that is not a secret: already removed, a placeholder, or a keyword of the format."""
_VALUE = rf"(?!{_PLAIN})([^\s&,;\\\"'<>()\[\]{{}}]{{1,8192}})"
_QUOTED = rf"(?!{_PLAIN})([^\"'\\\r\n]{{1,8192}})"
_RANDOM = r"(?=[A-Za-z_+/~-]{0,200}(?:[0-9=]|(?<=[a-z])[A-Z]))"
"""Lookahead: what follows is not a plain word."""
_STRONG = (
    r"password|passwd|passphrase|pass_?phrase|(?<![a-z])pwd|(?<![a-z])pass|smtp_?pass|client[_-]?secret|secret[_-]?key"
    r"|secret[_-]?access[_-]?key|session[_-]?token|security[_-]?token|(?:access|refresh|id|auth|api)[_-]?token"
    r"|api[_-]?key|private[_-]?key|account[_-]?key|shared[_-]?access[_-]?key|signing[_-]?key|routing[_-]?key"
    r"|client[_-]?key(?:-data)?|amz-signature|amz-credential|awsaccesskeyid"
)
_WEAK = r"token|secret|credential|signature|(?<![a-z])sig|sessionid|access[_-]?key"
_OPTION = r"--[a-z-]{0,30}(?:password|passphrase|secret|token|api-?key)"
_AT = r"[ \t]{0,4}"
_IS = r"\\{0,2}[\"']?[ \t]{0,4}(?:=>|=|:)[ \t]{0,4}"
_QUOTE = r"\\{0,2}[\"']"
_SCHEMES = r"(?:basic|bearer|digest|negotiate|token|apikey)[ \t]{1,4}+"
_SCHEME = rf"(?!{_SCHEMES}(?:{_PLAIN}))(?:{_SCHEMES})?"
_BEGIN = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_END = _BEGIN.replace("BEGIN", "END")
_FORMS = (
    # a complete key, also on one line with escaped line breaks, and base64-encoded as in a kubeconfig
    rf"{_BEGIN}(?s:.*?)(?:{_END}|\Z)",
    r"LS0tLS1CRUdJTiB(?:QUklW|SU0Eg|FQyBQ|PUEVOU1NI|FTkNSWVBU|EU0Eg)[A-Za-z0-9+/=]*",
    r"AGE-SECRET-KEY-1[A-Z0-9]{20,}",
    # tokens with a prefix of the product that made them
    r"(?<![A-Za-z0-9])kd_[A-Za-z0-9_-]{20,}",
    r"k8s-aws-v1\.[A-Za-z0-9_=-]{8,}",
    r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?",
    r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])",
    r"(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|gl(?:pat|ptt|dt|rt|cbt|ft|soat|agent|oas|imt|ffct)-[A-Za-z0-9_.-]{20,})",
    r"(?<![A-Za-z0-9])(?:xox[a-z]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{30,})",
    r"(?<![A-Za-z0-9])(?:[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{20,})",
    r"(?<![A-Za-z0-9])(?:hv[sb]\.[A-Za-z0-9_-]{20,}|do[opr]_v1_[a-f0-9]{40,}|SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,})",
    # URLs that contain a secret
    r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_+-]{8,})",
    r"webhook\.office\.com/webhookb2/([^\s\"'<>]{8,})",
    r"discord(?:app)?\.com/api/webhooks/([A-Za-z0-9/_-]{8,})",
    r"(?<=://)([^\s/?#:@]{0,256}:[^\s/?#]{1,1024})(?=@)",
    r"(?<=://)([^\s/?#:@]{20,256})(?=@)",
    r"(?<=:)([^\s:@/]{1,256})(?=@(?:tcp|unix)\()",
    # values after a telling name
    rf"(?i:(?<![a-z])(?:proxy-)?authorization{_IS}{_QUOTE}?{_SCHEME}{_VALUE})",
    rf"(?i:(?<![a-z])(?:set-)?cookie{_QUOTE}?:[ \t]{{0,4}}+{_QUOTE}?{_QUOTED})",
    rf"(?i:(?<![a-z])bearer[ \t]{{1,4}}(?!auth|token|{_PLAIN})([a-z0-9._~+/=-]{{12,}}))",
    rf"(?<![A-Za-z])[Bb](?:earer|asic)[ \t]{{1,4}}(?!{_PLAIN}){_RANDOM}([A-Za-z0-9._~+/=-]{{8,}})",
    rf"(?<![A-Za-z])[Bb]earer[ \t]{{1,4}}(?!{_PLAIN})([A-Za-z0-9_-]{{1,4096}}\.[A-Za-z0-9._~+/=-]{{1,8192}})",
    r"(?i:(?<![a-z])auth[ \t](?:plain|login|cram-md5|xoauth2)[ \t]([a-z0-9+/=]{8,}))",
    rf"(?i:(?:{_STRONG}){_IS}(?:{_QUOTE}{_QUOTED}|{_VALUE}))",
    rf"(?i:(?:{_WEAK})(?:{_QUOTE}?{_AT}:{_AT}{_QUOTE}|{_QUOTE}?{_AT}={_AT}{_QUOTE}?){_VALUE})",
    rf"(?i:{_WEAK})[\"']?:[ \t]{{0,4}}{_RANDOM}(?!{_PLAIN})([A-Za-z0-9._~+/=-]{{8,}})(?![^\s,;\"'}}\])])",
    rf"(?i:{_OPTION}[ \t]{{1,4}}{_QUOTE}?{_VALUE})",
)
_HINTS = (
    *(
        "private",
        "ls0tls1",
        "secret",
        "kd_",
        "k8s-aws-v1",
        "eyj",
        "akia",
        "asia",
        "ghp_",
        "gho_",
        "ghu_",
        "ghs_",
        "ghr_",
    ),
    *(
        "github_pat_",
        "glpat-",
        "glptt-",
        "gldt-",
        "glrt-",
        "glcbt-",
        "glft-",
        "glsoat-",
        "glagent-",
        "gloas-",
        "glimt-",
    ),
    *(
        "glffct-",
        "xox",
        "xapp-",
        "npm_",
        "pypi-",
        "sk_",
        "rk_",
        "aiza",
        "ya29.",
        "hvs.",
        "hvb.",
        "_v1_",
        "sg.",
        "hooks.",
    ),
    *("webhook", "@", "auth", "cookie", "bearer", "basic", "pass", "pwd", "token", "credential", "sig", "session"),
    *("apikey", "api-key", "api_key", "account", "access", "signing", "routing", "client"),
)
"""In lower case. A text without any of these contains no secret; this check costs a fiftieth of the patterns."""
_SECRET = re.compile("|".join(f"(?:{form})" for form in _FORMS))

_NAMES = re.compile(
    r"pass(?:word|wd|phrase)|secret|token(?!refresh)|credential|apikey|privatekey|accesskey|signingkey|sessionkey"
    r"|clientkey|externalid|authorization|cookie|kubeconfig|bearer|auth$"
)
_HARMLESS_NAMES = frozenset(("tokens", "httptokens"))
"""`httpTokens` is the setting for reading an instance's metadata."""
_HARMLESS_ENDS = frozenset(("id", "ids", "name", "names", "prefix", "version", "count"))
"""Last words of names such as `token_id` or `secret_name`, which identify a secret but do not contain it."""
_IDS = frozenset(("externalid", "accesskeyid"))
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[0-9]+")


def find_secrets(text: str) -> Iterator[tuple[int, int]]:
    """The (start, end) positions of secrets in the text, in order."""
    small = text.lower()
    for match in _SECRET.finditer(text) if any(hint in small for hint in _HINTS) else ():
        yield match.span(match.lastindex or 0)


def contains_secret(text: str) -> bool:
    """Whether the text contains a secret."""
    return next(find_secrets(text), None) is not None


def replace_secrets(text: str, by: str | Substitute = REMOVED) -> str:
    """The text with every secret replaced by `by`, or by the result of `by`; the name before it stays."""
    parts, done = [], 0
    for start, end in find_secrets(text):
        parts += [text[done:start], by if isinstance(by, str) else by(text[start:end])]
        done = end
    return "".join((*parts, text[done:])) if parts else text


def is_secret_name(name: str) -> bool:
    """Whether the value of a field, key or variable with that name is a secret."""
    words = [word.lower() for word in _WORDS.findall(name)]
    whole = "".join(words)
    if not words or whole in _HARMLESS_NAMES:
        return False
    if words[-1] in _HARMLESS_ENDS and not whole.endswith(tuple(_IDS)):
        return False
    return _NAMES.search(whole) is not None


def is_unredacted(tree: Any) -> bool:  # noqa: ANN401 - any JSON
    """Whether `redacted` removed nothing from the tree that it returned."""
    if isinstance(tree, dict):
        return all(map(is_unredacted, tree.values()))
    if isinstance(tree, list):
        return all(map(is_unredacted, tree))
    return not isinstance(tree, str) or (REMOVED not in tree and len(tree) < MAX_TEXT_LENGTH)


def redacted_tree(tree: Any, *, by: str = REMOVED, longest: int = MAX_TEXT_LENGTH, depth: int = 0) -> Any:  # noqa: ANN401 - any JSON
    """A copy of the tree without secrets, found by name or format; each text is cut to `longest` characters."""
    if depth > MAX_DEPTH:
        return by
    if isinstance(tree, dict):
        return {
            key: by
            if isinstance(value, str) and value and is_secret_name(str(key))
            else redacted_tree(value, by=by, longest=longest, depth=depth + 1)
            for key, value in tree.items()
        }
    if isinstance(tree, list):
        return [redacted_tree(value, by=by, longest=longest, depth=depth + 1) for value in tree]
    if isinstance(tree, str):
        return by if contains_secret(tree) else tree[:longest]
    return tree
