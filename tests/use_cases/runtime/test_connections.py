"""K05: where this installation may connect to, from its settings."""

from dataclasses import replace

from migrations_app.clients.addresses import InternalEndpoint, OutboundPolicy
from migrations_app.use_cases.runtime.connections import network_policy


def test_the_database_and_the_broker_of_the_settings_are_never_reached(settings):
    database = {"ENGINE": "django.db.backends.postgresql", "HOST": "db.internal", "PORT": "5433"}
    settings.ENV = replace(
        settings.ENV, allow_private=False, database=database, broker_url="rediss://queue.internal:6380/0"
    )
    assert network_policy() == OutboundPolicy(
        allow_loopback=settings.ENV.allow_loopback,
        allow_private=False,
        allowed=settings.ENV.allowed_networks,
        own=(InternalEndpoint("db.internal", 5433), InternalEndpoint("queue.internal", 6380)),
    )


def test_files_and_sockets_take_nothing_away(settings):
    database = {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}
    settings.ENV = replace(settings.ENV, database=database, broker_url="redis+socket:///data/broker.sock")
    assert network_policy().own == ()
