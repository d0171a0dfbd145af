"""AWS sessions with exactly one identity. They read no environment variable and no file unless ambient credentials are
allowed (T20).
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from boto3.session import Session
from botocore.config import Config
from botocore.configprovider import BOTOCORE_DEFAUT_SESSION_VARIABLES
from botocore.loaders import Loader
from botocore.session import Session as Core

from migrations_app.clients.aws import errors
from migrations_app.clients.aws.cross_account import (
    DEFAULT,
    AwsCredentials,
    AwsLimits,
    ClusterAccountAccess,
    OwnIdentity,
    checked,
)
from migrations_app.clients.aws.permissions import ASSUME, WHO_AM_I
from migrations_app.clients.secret import Secret
from migrations_app.errors import Unauthorized

Now = Callable[[], datetime]

AMBIENT = ("env", "assume-role-with-web-identity", "container-role")
"""The ambient credential providers that may be allowed: none runs a program or queries instance metadata."""
RENEW_BEFORE = timedelta(minutes=20)
"""A token is valid for up to 15 minutes, but never longer than the session that signed it."""
# These libraries log requests with their headers at debug level (K17).
for _name in ("boto3", "botocore", "urllib3"):
    logging.getLogger(_name).setLevel(logging.WARNING)


class _SharedLoader(Loader):
    """botocore's service descriptions, parsed once for the sessions of all clusters; none from the home directory."""

    @property
    def search_paths(self) -> list[str]:
        """A new list each time: boto3 appends its own folder for each session."""
        return [Loader.BUILTIN_DATA_PATH]


_DESCRIPTIONS = _SharedLoader()


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class _CachedSession:
    keys: AwsCredentials
    ends: datetime | None
    session: Session


class AwsSession:
    """One identity in one region: static keys, or an assumed role that is renewed before its credentials expire.

    Thread-safe. Raises ReadError if AWS refuses the identity.
    """

    def __init__(
        self,
        entry: ClusterAccountAccess,
        own: OwnIdentity,
        *,
        limits: AwsLimits = DEFAULT,
        now: Now = utc_now,
        purpose: str = "",
    ) -> None:
        self._role = checked(entry)
        self._entry = entry
        self._own = own
        self._limits = limits
        self._now = now
        self._purpose = purpose or entry.action
        self._lock = threading.Lock()
        self._cached: _CachedSession | None = None

    @property
    def region(self) -> str:
        return self._entry.region

    @property
    def account(self) -> str:
        """The account of this session; empty if it is not known."""
        return self._entry.account or (self._role.account if self._role else "")

    def keys(self) -> AwsCredentials:
        """Credentials that are valid for at least another 20 minutes, if AWS issues them for that long."""
        with self._lock:
            return self._current_session().keys

    def client(self, service: str) -> Any:  # noqa: ANN401 - stubs of most services are not installed
        """A client of that service with the current credentials. Creating one takes about 40 ms and opens no
        connection.
        """
        with self._lock:  # clients are thread-safe, creating them is not
            return made_client(self._current_session().session, service, own=self._own, config=self.config)

    @property
    def config(self) -> Config:
        return client_config(self._limits, self._purpose)

    def close(self) -> None:
        """Drops the credentials."""
        with self._lock:
            self._cached = None

    def _current_session(self) -> _CachedSession:
        cached = self._cached
        if cached is None or (cached.ends is not None and self._now() >= cached.ends - RENEW_BEFORE):
            cached = self._cached = self._new_session()
        return cached

    def _new_session(self) -> _CachedSession:
        if self._entry.keys is not None:
            return _CachedSession(self._entry.keys, None, session_of(self._entry.keys, self.region))
        own = own_keys(self._own, region=self.region, config=self.config)
        if self._entry.via:
            own = self._assume(own, self._entry.via).keys
        return self._assume(own, self._entry.role_arn)

    def _assume(self, own: AwsCredentials, role_arn: str) -> _CachedSession:
        parameters = {
            "RoleArn": role_arn,
            "RoleSessionName": self._entry.session_name,
            "ExternalId": self._entry.external_id,
            "DurationSeconds": self._limits.session_seconds,
        }
        client = made_client(session_of(own, self.region), "sts", own=self._own, config=self.config)
        try:
            answer = client.assume_role(**parameters)
            credentials = answer["Credentials"]
            keys = AwsCredentials(
                access_key_id=credentials["AccessKeyId"],
                secret=Secret(credentials["SecretAccessKey"]),
                token=Secret(credentials["SessionToken"]),
            )
            return _CachedSession(keys, credentials["Expiration"], session_of(keys, self.region))
        except errors.CAUGHT as error:
            raise errors.from_exception(error, ASSUME) from None
        except (KeyError, TypeError):
            raise Unauthorized("AWS gave no credentials for the role") from None


def client_config(limits: AwsLimits, purpose: str) -> Config:
    """botocore configuration with timeouts and bounded retries, without proxy or endpoint from the environment."""
    return Config(
        connect_timeout=limits.connect_seconds,
        read_timeout=limits.read_seconds,
        retries={"mode": "standard", "total_max_attempts": limits.tries},
        proxies={},
        ignore_configured_endpoint_urls=True,  # type: ignore[call-arg]  # the stubs are older than the option
        user_agent_extra=f"karpdash/{purpose}",
    )


def session_of(keys: AwsCredentials, region: str) -> Session:
    """A session that has only these keys."""
    core = _silent()
    core.set_credentials(keys.access_key_id, keys.secret.reveal(), keys.token.reveal() or None)
    return Session(botocore_session=core, region_name=region)


def made_client(session: Any, service: str, *, own: OwnIdentity, config: Config) -> Any:  # noqa: ANN401 - as above
    """A client of the session. Certificates are always verified against the CA bundle shipped with botocore."""
    return session.client(service, config=config, endpoint_url=own.endpoint or None, verify=True)


def _silent() -> Core:
    """A botocore session that ignores environment variables and configuration files."""
    silent = {name: (None, None, *rest) for name, (_, _, *rest) in BOTOCORE_DEFAUT_SESSION_VARIABLES.items()}
    core = Core(session_vars=silent)
    core.register_component("data_loader", _DESCRIPTIONS)
    for name in ("config_file", "credentials_file"):
        core.set_config_variable(name, "")
    return core


def own_keys(own: OwnIdentity, *, region: str, config: Config) -> AwsCredentials:
    """The keys of karpdash's own identity. Raises Unauthorized with code `no_identity` if it has none."""
    if own.keys is not None:
        return own.keys
    credentials = _ambient(region, config) if own.ambient else None
    if credentials is None:
        raise Unauthorized("karpdash has no AWS identity of its own that could assume the role", code="no_identity")
    return credentials


def _ambient(region: str, config: Config) -> AwsCredentials | None:
    core = Core()
    core.set_config_variable("region", region)
    core.set_default_client_config(config)
    try:
        resolver: Any = core.get_component("credential_provider")
        resolver.providers = [provider for provider in resolver.providers if provider.METHOD in AMBIENT]
        credentials: Any = core.get_credentials()
        frozen = credentials.get_frozen_credentials() if credentials else None
    except errors.CAUGHT as error:
        raise errors.from_exception(error, WHO_AM_I) from None
    if frozen is None:
        return None
    return AwsCredentials(
        access_key_id=frozen.access_key, secret=Secret(frozen.secret_key), token=Secret(frozen.token or "")
    )
