"""Keeps text from a cluster on its line."""


def one_line(text: str) -> str:
    """The text without line breaks and other unprintable characters, so that a comment stays on its line."""
    return text if text.isprintable() else "".join(sign if sign.isprintable() else " " for sign in text)
