"""Reading bodies under limits (T29)."""

from collections.abc import Mapping
from typing import IO, Any

import msgspec
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser


class StrictJson(BaseParser):
    """JSON by the book: no NaN, no half characters, no depth that exhausts the stack."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,  # noqa: ARG002 - DRF's signature
        parser_context: Mapping[str, Any] | None = None,  # noqa: ARG002 - DRF's signature
    ) -> Any:  # noqa: ANN401 - plain JSON
        """Plain JSON. Raises ParseError saying where the text breaks."""
        try:
            return msgspec.json.decode(stream.read())
        except RecursionError:
            raise ParseError("the body is nested too deeply") from None
        except (msgspec.DecodeError, UnicodeDecodeError) as wrong:
            raise ParseError(f"the body is not JSON: {wrong}") from None
