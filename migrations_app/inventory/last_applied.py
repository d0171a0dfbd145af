"""Of what kubectl applied last: the API version, and no more. The text itself may hold anything."""

import re

import msgspec

_OWN = re.compile(r"karpenter\.(?:sh|k8s\.aws)/v1(?:alpha[0-9]+|beta[0-9]+)?")


class _Applied(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str = ""


def applied_version(text: str) -> str:
    """The version of Karpenter's API in which it was applied; empty for other kinds and for what is no manifest.

    A version alone stays as it is: so a bundle holds it.
    """
    if _OWN.fullmatch(text):
        return text
    try:
        told = msgspec.json.decode(text, type=_Applied).api_version
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return ""
    return told if _OWN.fullmatch(told) else ""
