"""Settings are read once and refused by name (T30)."""

import base64
import re
from pathlib import Path

import pytest

from karpdash import docs
from karpdash.configuration.declaration import ELSEWHERE
from karpdash.configuration.env import Env, read, settings
from migrations_app.clients.aws.cross_account import AwsCredentials, OwnIdentity
from migrations_app.clients.secret import Secret
from migrations_app.errors import InvalidSetting
from tests.house import measures

KEY = base64.b64encode(bytes(32)).decode()


def test_nothing_set_means_sqlite_and_an_embedded_broker_in_the_data_folder(tmp_path):
    env = read({"KARPDASH_DATA_DIR": str(tmp_path)})
    assert env.database["NAME"] == f"{tmp_path}/karpdash.sqlite3"
    assert env.database["OPTIONS"]["transaction_mode"] == "IMMEDIATE"
    assert env.broker_url == f"redis+socket://{tmp_path}/broker/broker.sock?virtual_host=0"
    assert (env.secret_key, env.encryption_keys) == ("", ())


def test_keys_are_found_again_in_the_data_folder(tmp_path):
    (tmp_path / "secret.key").write_text("s\n")
    (tmp_path / "encryption.keys").write_text(f"k2:{KEY},k1:{KEY}")
    env = read({"KARPDASH_DATA_DIR": str(tmp_path)})
    assert env.secret_key == "s"
    assert [name for name, _ in env.encryption_keys] == ["k2", "k1"]


def test_a_postgres_address_is_taken_apart():
    env = read({"KARPDASH_DATABASE_URL": "postgres://u:p%40ss@db.example:5433/name"})
    wanted = {"NAME": "name", "HOST": "db.example", "PORT": "5433", "USER": "u", "PASSWORD": "p@ss"}
    assert {key: env.database[key] for key in wanted} == wanted
    assert env.database["OPTIONS"] == {}


def test_tls_to_the_database_stands_in_its_address():
    query = "sslmode=verify-full&sslrootcert=/etc/ca%20of%20db.pem"
    env = read({"KARPDASH_DATABASE_URL": f"postgres://u:p@db.example/name?{query}"})
    assert env.database["OPTIONS"] == {"sslmode": "verify-full", "sslrootcert": "/etc/ca of db.pem"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", "mysql://x/y"),
        ("DATABASE_URL", "postgres://host"),
        ("DATABASE_URL", "postgres://u@host/name?ssl_mode=verify-full"),
        ("BROKER_URL", "amqp://x"),
        ("ENCRYPTION_KEYS", "k1:short"),
        ("ENCRYPTION_KEYS", f":{KEY}"),
        ("ENCRYPTION_KEYS", "k1:AAAA"),
        ("HTTPS", "yes"),
        ("ALLOW_LOOPBACK", "true"),
        ("SCAN_INTERVAL", "-1"),
        ("SCAN_INTERVAL", "1h"),
        ("SCAN_DEADLINE", "5"),
        ("WORKER_SLOTS", "0"),
        ("WORKER_SLOTS", "65"),
        ("LOG_LEVEL", "LOUD"),
        ("CHART_REGISTRY", "https://registry.example/karpenter"),
        ("CHART_REGISTRY", "oci://me:you@registry.example"),
        ("AWS_AMBIENT", "yes"),
        ("AWS_ENDPOINT", "http://10.0.0.9:4566"),
        ("AWS_ENDPOINT", "http://aws.example"),
        ("AWS_ENDPOINT", "http://127.0.0.1.example"),
        ("AWS_ENDPOINT", "http://me:you@127.0.0.1"),
        ("AWS_ENDPOINT", "http://127.0.0.1:port"),
        ("AWS_ENDPOINT", "ftp://127.0.0.1"),
        ("AWS_ENDPOINT", "127.0.0.1:4566"),
        ("AUDIT_SIGNING_KEY", "short"),
        ("AUDIT_SIGNING_KEY", "c2hvcnQ="),
        ("AUDIT_FILE", "log/outside.jsonl"),
        ("AUDIT_URL", "http://audit.example/in"),
        ("AUDIT_URL", "http://127.0.0.1:9/in"),
        ("AUDIT_URL", "https://me:you@audit.example/in"),
        ("AUDIT_URL", "https://audit.example/in#there"),
        ("AUDIT_URL", "https://audit.example/a b"),
        ("AUDIT_URL", "https://audit.example:port/"),
        ("AUDIT_URL", "file:///etc/passwd"),
        ("AUDIT_TOKEN", "two words"),
        ("AUDIT_TOKEN", "a\r\nHost: b"),
    ],
)
def test_a_bad_value_is_refused_with_its_name(name, value):
    with pytest.raises(InvalidSetting) as refused:
        read({f"KARPDASH_{name}": value})
    assert refused.value.where == f"KARPDASH_{name}"


def test_the_audit_log_has_a_key_and_sinks(tmp_path):  # A53, T23
    (tmp_path / "audit.key").write_text(KEY)
    given = {
        "KARPDASH_DATA_DIR": str(tmp_path), "KARPDASH_AUDIT_FILE": "/var/log/outside.jsonl",
        "KARPDASH_AUDIT_URL": "http://localhost:9/in", "KARPDASH_ALLOW_LOOPBACK": "1", "KARPDASH_AUDIT_TOKEN": "canary",
    }  # fmt: skip
    env = read(given)
    assert env.audit_sinks.targets == ("file:/var/log/outside.jsonl", "http://localhost:9/in")
    assert (len(env.audit_signing_key), env.audit_sinks.token.reveal()) == (32, "canary")
    assert ("canary" in repr(env), repr(env.audit_signing_key) in repr(env)) == (False, False)
    assert (read({}).audit_signing_key, read({}).audit_sinks.targets) == (b"", ())


def test_the_mail_server_has_a_password_that_is_not_shown():  # T23
    env = read({"KARPDASH_EMAIL_URL": "smtps://u:canary@mail.example?from=karpdash@example.com"})
    assert env.email is not None
    assert (env.email.host, env.email.password.reveal(), "canary" in repr(env)) == ("mail.example", "canary", False)
    assert read({}).email is None
    with pytest.raises(InvalidSetting) as refused:
        read({"KARPDASH_EMAIL_URL": "smtp://u:canary@mail.example"})
    assert (refused.value.where, "canary" in str(refused.value)) == ("KARPDASH_EMAIL_URL", False)


AWS = {
    "KARPDASH_AWS_ACCESS_KEY_ID": "AKIA-canary",
    "KARPDASH_AWS_SECRET_ACCESS_KEY": "secret-canary",
    "KARPDASH_AWS_SESSION_TOKEN": "token-canary",
}


def test_without_aws_settings_karpdash_is_nobody_to_aws():
    assert read({}).aws == OwnIdentity()


def test_a_whole_aws_identity():
    given = AWS | {"KARPDASH_AWS_ENDPOINT": "http://127.0.0.1:4566"}
    keys = AwsCredentials(access_key_id="AKIA-canary", secret=Secret("secret-canary"), token=Secret("token-canary"))
    assert read(given).aws == OwnIdentity(keys=keys, endpoint="http://127.0.0.1:4566")
    assert read({"KARPDASH_AWS_AMBIENT": "1"}).aws == OwnIdentity(ambient=True)


@pytest.mark.parametrize(
    "url", ["https://vpce-1.sts.eu-west-1.vpce.amazonaws.com", "http://localhost:1", "http://[::1]:1"]
)
def test_an_endpoint_is_on_this_machine_or_behind_tls(url):
    assert read({"KARPDASH_AWS_ENDPOINT": url}).aws.endpoint == url


@pytest.mark.parametrize(
    ("missing", "named"),
    [
        (("ACCESS_KEY_ID",), "ACCESS_KEY_ID"),
        (("SECRET_ACCESS_KEY",), "SECRET_ACCESS_KEY"),
        (("ACCESS_KEY_ID", "SESSION_TOKEN"), "ACCESS_KEY_ID"),
        (("ACCESS_KEY_ID", "SECRET_ACCESS_KEY"), "ACCESS_KEY_ID"),
    ],
)
def test_half_an_aws_identity_is_refused_and_not_shown(missing, named):  # T23
    given = {name: value for name, value in AWS.items() if not name.endswith(tuple(f"AWS_{one}" for one in missing))}
    with pytest.raises(InvalidSetting) as refused:
        read(given)
    assert (refused.value.where, "canary" in str(refused.value)) == (f"KARPDASH_AWS_{named}", False)


def test_aws_keys_stand_in_no_text():  # T23
    env = read(AWS)
    assert [text for text in (repr(env), str(env), repr(env.aws), repr(env.aws.keys)) if "canary" in text] == []


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("KARPDASH_HTTPS", "true", "'true' is none of 0, 1"),
        ("KARPDASH_FREE_PERCENT", "1e1", "'1e1' is not a whole number from 0 to 90"),
        ("KARPDASH_FREE_PERCENT", "91", "'91' is not a whole number from 0 to 90"),
        ("KARPDASH_FREE_PERCENT", "", "'' is not a whole number from 0 to 90"),
        ("KARPDASH_LOG_LEVEL", "LOUD", "'LOUD' is none of DEBUG, INFO, WARNING, ERROR"),
        ("KARPDASH_SCAN_INTERVALL", "60", "there is no such setting; did you mean KARPDASH_SCAN_INTERVAL?"),
        ("KARPDASH_QUITE_ANOTHER", "x", "there is no such setting; the settings are listed in docs/settings.md"),
        ("KARPDASH_SCAN_INTERVAL_FILE", "x", "there is no such setting; did you mean KARPDASH_SCAN_INTERVAL?"),
    ],
)
def test_what_is_wrong_with_a_value_or_a_name(name, value, message):
    with pytest.raises(InvalidSetting) as refused:
        read({name: value})
    assert (refused.value.where, refused.value.message) == (name, message)


def test_what_kubernetes_sets_for_a_service_is_not_refused():
    links = {
        "KARPDASH_SERVICE_HOST", "KARPDASH_SERVICE_PORT", "KARPDASH_PORT", "KARPDASH_WEB_SERVICE_PORT_HTTP",
        "KARPDASH_WEB_PORT", "KARPDASH_WEB_PORT_8000_TCP_ADDR",
    }  # fmt: skip
    assert read(dict.fromkeys(links, "x")) == read({})


def test_every_name_in_the_repository_is_a_setting_or_a_known_name_of_something_else():
    given = set(re.findall(r"\bKARPDASH_[A-Z_]*[A-Z]\b", "\n".join(map(measures.text, places()))))
    known = {one.variable for one in settings()} | {f"{one.variable}_FILE" for one in settings() if one.secret}
    assert given - known - ELSEWHERE == {"KARPDASH_NAME"}
    assert given >= ELSEWHERE


def places():
    wanted = (".py", ".sh", ".yml", ".yaml", ".md", ".tpl", ".service", "Makefile", "Dockerfile")
    return [
        path
        for path in measures.files()
        if path.endswith(wanted) and path != "tests/karpdash/configuration/test_env.py"
    ]


SECRETS = {
    "SECRET_KEY": "s" * 40, "ENCRYPTION_KEYS": f"k1:{KEY}", "AUDIT_SIGNING_KEY": KEY, "AUDIT_TOKEN": "token",
    "DATABASE_URL": "postgres://u:p@db.example/name", "BROKER_URL": "rediss://:p@broker.example/0",
    "EMAIL_URL": "smtps://u:p@mail.example?from=karpdash@example.com", "AWS_ACCESS_KEY_ID": "AKIA",
    "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "session", "OIDC_CLIENT_SECRET": "oidc",
}  # fmt: skip
OIDC = {"KARPDASH_OIDC_ISSUER": "https://id.example", "KARPDASH_OIDC_CLIENT_ID": "karpdash"}


def test_every_secret_may_come_from_a_file(tmp_path):
    for name, text in SECRETS.items():
        (tmp_path / name).write_text(f"{text}\n")
    files = {f"KARPDASH_{name}_FILE": str(tmp_path / name) for name in SECRETS}
    assert read(OIDC | files) == read(OIDC | {f"KARPDASH_{name}": text for name, text in SECRETS.items()})
    assert {one.variable for one in settings() if one.secret} == {f"KARPDASH_{name}" for name in SECRETS}


def test_no_secret_is_in_the_repr():  # T23
    shown = repr(read(OIDC | {f"KARPDASH_{name}": text for name, text in SECRETS.items()}))
    assert [name for name, text in SECRETS.items() if f"'{text}'" in shown or f":{text}@" in shown] == []
    assert ("p@db" in shown, "p@mail" in shown, "p@broker" in shown) == (False, False, False)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "cannot read the file: No such file or directory"),
        (b"", "the file is empty or longer than 65,536 bytes"),
        (b" \n", "the file is empty or longer than 65,536 bytes"),
        (b"x" * 65_537, "the file is empty or longer than 65,536 bytes"),
        (b"\xff\xfe", "the file is not UTF-8 text"),
    ],
)
def test_a_secret_that_cannot_be_read_ends_the_start(tmp_path, content, reason):
    if content is not None:
        (tmp_path / "key").write_bytes(content)
    with pytest.raises(InvalidSetting) as refused:
        read({"KARPDASH_SECRET_KEY_FILE": str(tmp_path / "key")})
    assert (refused.value.where, refused.value.message) == ("KARPDASH_SECRET_KEY_FILE", reason)


def test_a_secret_is_not_given_twice(tmp_path):
    (tmp_path / "key").write_text("s" * 40)
    file = {"KARPDASH_SECRET_KEY_FILE": str(tmp_path / "key")}
    with pytest.raises(InvalidSetting, match="is set beside KARPDASH_SECRET_KEY: give one of them"):
        read(file | {"KARPDASH_SECRET_KEY": "other"})
    assert read(file | {"KARPDASH_SECRET_KEY": ""}).secret_key == "s" * 40
    assert read({"KARPDASH_SECRET_KEY_FILE": ""}).secret_key == ""


def test_every_setting_is_described():
    assert {one.name for one in settings()} == set(Env.__dataclass_fields__) - {"aws", "audit_sinks", "oidc"}
    assert [one.variable for one in settings() if not one.doc.endswith(".")] == []


def test_generated_pages_are_up_to_date():
    assert docs.outdated_pages() == []


def test_a_stale_page_is_told(tmp_path):
    Path(tmp_path, "settings.md").write_text("old")
    assert "settings.md" in docs.outdated_pages(tmp_path)
