"""Makes text from a cluster or file safe to print in terminals, XML and tables."""


def plain(text: str) -> str:
    """Returns the text on one line; every control, bidi or other invisible character becomes its escape."""
    return text if text.isprintable() else "".join(map(_visible, text))


def plain_lines(text: str) -> str:
    """As `plain`, but keeps line breaks: for commands and manifests."""
    return "\n".join(plain(line.replace("\t", "    ")) for line in text.splitlines())


def escaped_json(text: str) -> str:
    """Returns indented JSON with invisible characters escaped. They occur in strings only, so the value stays the
    same."""
    return text if text.isprintable() else "".join(char if _may_stay(char) else _unit_escapes(char) for char in text)


def _visible(char: str) -> str:
    return char if char.isprintable() else repr(char)[1:-1]


def _may_stay(char: str) -> bool:
    return char == "\n" or char.isprintable()


def _unit_escapes(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
