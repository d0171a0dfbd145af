"""Every error of the product. Each has a stable `code`; the text may change.

KarpdashError
├── InvalidInput        input of a person or file cannot be used (exit code 2, HTTP 400)
│   ├── InvalidKubeconfig
│   ├── InvalidBundle
│   ├── InvalidManifest
│   └── InvalidPolicy
├── ReadError           a cluster, AWS or another server did not give what was read (exit code 3, a part is Unseen)
│   ├── Forbidden  Unauthorized  NotServed  NotCollected  TimedOut  Unreachable  TooLarge  Expired
│   ├── InvalidResponse  ServerFailed
│   └── AddressRefused  TlsRefused  OtherCluster
├── NotFound            no such row, or not visible to the caller (HTTP 404)
├── Conflict            a concurrent change came first, or the state does not allow it (HTTP 409)
├── PermissionDenied    the caller may not do that; the code says why (HTTP 403)
└── InvalidSetting      karpdash's own configuration cannot be used (exit code 2)
"""


class KarpdashError(Exception):
    """Base class: `code` is for machines, `message` for people and safe to show, `where` names the field or file.

    `inside` names the fields around `where`, from the outermost, for a pointer into a body.
    """

    code = "error"

    def __init__(self, message: str, *, code: str | None = None, where: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.inside: tuple[str, ...] = ()
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


class InvalidInput(KarpdashError):
    code = "bad_input"


class InvalidKubeconfig(InvalidInput):
    code = "bad_kubeconfig"


class InvalidBundle(InvalidInput):
    code = "bad_bundle"


class InvalidManifest(InvalidInput):
    code = "bad_manifest"


class InvalidPolicy(InvalidInput):
    """An IAM policy document that AWS could not parse, or one far larger than any that AWS stores."""

    code = "bad_policy"


class ReadError(KarpdashError):
    code = "could_not_look"


class Forbidden(ReadError):
    code = "forbidden"


class Unauthorized(ReadError):
    code = "unauthorized"


class NotServed(ReadError):
    code = "not_served"


class NotCollected(ReadError):
    """A bundle that does not hold this part, because it was not read: neither absent nor present."""

    code = "not_asked"


class TimedOut(ReadError):
    code = "timeout"


class Unreachable(ReadError):
    code = "unreachable"


class TooLarge(ReadError):
    code = "too_large"


class Expired(ReadError):
    """A list could not be completed in one resource version (HTTP 410 on continue)."""

    code = "expired"


class InvalidResponse(ReadError):
    """The response breaks the API's contract: broken JSON, wrong types, endless continue."""

    code = "garbled"


class ServerFailed(ReadError):
    code = "server_failed"


CONVERSION_FAILED = "conversion_failed"
"""Code of ServerFailed if the server could not convert objects from the version in which they are stored."""


STORED_VERSION_GONE = "stored_version_gone"
"""Code of ServerFailed if objects are stored in a version that their CRD no longer has."""


class AddressRefused(ReadError):
    code = "address_refused"


class TlsRefused(ReadError):
    code = "tls_refused"


class OtherCluster(ReadError):
    """A cluster answers at the address that is not the registered one."""

    code = "other_cluster"


class NotFound(KarpdashError):
    code = "not_found"


class Conflict(KarpdashError):
    code = "conflict"


class PermissionDenied(KarpdashError):
    code = "forbidden"


class InvalidSetting(KarpdashError):
    code = "bad_setting"


class TaskFailed(Exception):
    """A Celery task ended with an exception, which its process has logged. The text is the name of the exception's
    type.
    """
