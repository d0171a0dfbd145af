"""The pages of notifications: no barrier, nothing beyond the edge of a phone, and a channel made by hand."""

import dataclasses
import os
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from migrations_app.models.cluster import ClusterGroup
from migrations_app.models.notification import Channel, Delivery
from migrations_app.readiness.notification_events import EVENTS
from migrations_app.use_cases.notifications.channels import ChannelSettings, create_channel
from migrations_app.use_cases.notifications.publish import publish_event
from migrations_app.use_cases.notifications.routing import route_events
from tests.browser.barriers import WIDTHS, barriers, faults

PAGE = "/settings/notifications"


@pytest.fixture
def channels(settings, transactional_db):
    """A narrowed webhook that works, and one with a long name that does not."""
    settings.ENV = dataclasses.replace(settings.ENV, encryption_keys=(("k1", b"0" * 32),))
    group = ClusterGroup.objects.create(name="production in eu-west-1")
    now = timezone.now()
    wanted = ChannelSettings(
        name="ops", kind="webhook", target="https://hooks.example/x", events=EVENTS, groups=(group.pk,)
    )
    create_channel(wanted, by="ada", now=now)
    far = "https://a-very-long-name-of-a-host-in-some-company.internal.example.com:8443/x"
    named = ChannelSettings(name="the night shift of the platform team", kind="slack", target=far, events=EVENTS)
    bad = create_channel(named, by="ada", now=now)
    for topic in ("rollout.paused", "waiver.ended", "kill_switch.on"):
        publish_event(topic, "all clusters")
    route_events(now)
    tried = [{"at": (now - timedelta(minutes=n)).isoformat(), "code": "sink_503"} for n in (9, 4)]
    Delivery.objects.filter(channel=bad.id).update(state="failed", attempts=2, last_error="sink_503", log=tried)
    Delivery.objects.filter(channel__name="ops").update(
        state="sent", attempts=1, log=[{"at": now.isoformat(), "code": ""}]
    )
    Channel.objects.filter(pk=bad.id).update(failures=2)
    return Channel.objects.order_by("made_at")


@pytest.mark.parametrize("width", WIDTHS)
def test_no_barriers_and_no_sideways_scroll(browse, channels, width):
    page = browse(viewport={"width": width, "height": 800})
    for name, path in (("list", PAGE), ("change", f"/settings/channels/{channels[0].pk}")):
        page.goto(path)
        if folder := os.environ.get("KARPDASH_SCREENSHOTS"):
            page.screenshot(path=Path(folder) / f"news-{name}-{width}.png", full_page=True)
        assert (name, faults(page)) == (name, [])


def test_a_channel_is_made_its_secret_fits_a_phone_and_it_is_found_from_the_menu(browse, settings):
    settings.ENV = dataclasses.replace(settings.ENV, encryption_keys=(("k1", b"0" * 32),))
    page = browse(viewport={"width": 390, "height": 800})
    page.goto("/")
    page.locator("summary:has-text('your account')").click()
    page.get_by_role("link", name="Notifications").click()
    page.get_by_label("Name").fill("ops")
    page.get_by_label("Address").fill("https://hooks.example/canary")
    page.get_by_label("Scans fail").check()
    page.get_by_role("button", name="Add the channel").click()
    expect(page.locator("main")).to_contain_text("kdw_")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert barriers(page) == []
