"""Settings are read once and refused by name (T30)."""

import base64
from pathlib import Path

import pytest

from karpdash import docs
from karpdash.env import Raw, read, settings_rows
from migrations_app.errors import BadSetting

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


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", "mysql://x/y"),
        ("DATABASE_URL", "postgres://host"),
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
    ],
)
def test_a_bad_value_is_refused_with_its_name(name, value):
    with pytest.raises(BadSetting) as refused:
        read({f"KARPDASH_{name}": value})
    assert refused.value.where == f"KARPDASH_{name}"


def test_every_setting_is_described():
    rows = settings_rows()
    assert len(rows) == len(Raw.__dataclass_fields__)
    assert all(doc.endswith(".") for _, _, doc in rows)


def test_generated_pages_are_up_to_date():
    assert docs.stale() == []


def test_a_stale_page_is_told(tmp_path):
    Path(tmp_path, "settings.md").write_text("old")
    assert "settings.md" in docs.stale(tmp_path)
