"""The mark of a run changes with whatever its live part shows, on either database, and only who may see it has it."""

import uuid

import pytest
from django.contrib.auth import get_user_model

from migrations_app.access import EffectivePermissions
from migrations_app.errors import NotFound
from migrations_app.models.rehearsal import Rehearsal
from migrations_app.models.rollout import Rollout
from migrations_app.queries.rehearsals.rehearsals import mark_of
from migrations_app.queries.rollouts.page_version import page_version_of
from migrations_app.queries.visibility import VisibilityScope, visibility_scope
from tests.builders.rollouts import a_line, a_picture, a_rollout, an_approval
from tests.builders.rows import a_cluster

pytestmark = pytest.mark.django_db


@pytest.fixture
def run():
    return a_rollout(a_cluster("shop"), state="running")


def test_each_thing_that_happens_is_another_mark_and_nothing_is_the_same_one(run):
    other = a_rollout(a_cluster("other"), state="running")
    seen = [page_version_of(run.pk).etag]

    def happened() -> None:
        assert page_version_of(run.pk).etag == page_version_of(run.pk).etag
        seen.append(page_version_of(run.pk).etag)

    for columns in (
        {"picture": a_picture()},
        {"stop_request": "pause"},
        {"waits_for": "a node"},
        {"version": run.version + 1},
    ):
        Rollout.objects.filter(pk=run.pk).update(**columns)
        happened()
    line = a_line(run)
    happened()
    type(line).objects.filter(pk=line.pk).update(outcome_at=None)
    happened()
    an_approval(run, get_user_model().objects.create_user("cleo"))
    happened()
    a_line(other)
    assert len(set(seen)) == len(seen)
    assert page_version_of(run.pk).etag == seen[-1]


def test_the_page_is_loaded_anew_with_another_rehearsal_or_another_state_of_it(run):
    before = page_version_of(run.pk).page_version
    row = Rehearsal.objects.create(rollout=run, digest=run.digest, requested_by="ada")
    asked = page_version_of(run.pk).page_version
    assert asked == before + mark_of(row.pk, "queued")
    Rehearsal.objects.filter(pk=row.pk).update(state="running")
    assert page_version_of(run.pk).page_version == before + mark_of(row.pk, "running")


def test_there_is_none_for_who_may_not_see_the_run(run):
    with pytest.raises(NotFound):
        page_version_of(uuid.uuid4())
    with visibility_scope(VisibilityScope(EffectivePermissions())), pytest.raises(NotFound):
        page_version_of(run.pk)
