"""Text that came from a cluster or a file, made harmless for terminals, XML and tables."""


def plain(text: str) -> str:
    """The text on one line: every control, bidi or other invisible character is shown as its escape."""
    return text if text.isprintable() else "".join(map(_printable, text))


def plain_lines(text: str) -> str:
    """As `plain`, with the line breaks kept: for commands and manifests."""
    return "\n".join(plain(line.replace("\t", "    ")) for line in text.splitlines())


def escaped_json(text: str) -> str:
    """Indented JSON whose invisible characters are escapes: they occur inside strings only, so the value stays."""
    return text if text.isprintable() else "".join(char if _harmless(char) else _unit_escapes(char) for char in text)


def _printable(char: str) -> str:
    return char if char.isprintable() else repr(char)[1:-1]


def _harmless(char: str) -> bool:
    return char == "\n" or char.isprintable()


def _unit_escapes(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
