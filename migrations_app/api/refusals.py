"""The exception of the API's own refusals. Imports no views, so that DRF's defaults can be made of our classes."""

from rest_framework.exceptions import APIException

from migrations_app.api.codes import CODES


class Problem(APIException):
    """A refusal of our own, by its code."""

    def __init__(self, code: str, detail: str = "", *, retry_after: int | None = None) -> None:
        super().__init__(detail or CODES[code].meaning, code=code)
        self.code = code
        self.status_code = CODES[code].status
        self.retry_after = retry_after
