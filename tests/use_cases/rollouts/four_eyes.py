"""The people and plans for tests of attempts to avoid the second person, and the list of these attempts."""

from collections.abc import Callable

from django.contrib.auth.models import User

from migrations_app.models.rollout import Rollout
from migrations_app.models.service import ServiceAccountRow
from migrations_app.queries.rollouts.policies import policy_of
from migrations_app.use_cases.rollouts import approvals, lifecycle
from migrations_app.use_cases.rollouts.policies import Rules, change_policy
from tests.builders.rollouts import a_rollout, an_approval, entitled, taint
from tests.builders.rows import a_cluster
from tests.use_cases.people import ADMINISTER, APPROVE, OPERATE, actor, approval_request, person, user

DESTROYS = {"risk": "destructive"}


class Scene:
    """Ada operates and made the plan, Cleo approves, Eve does both, Gil administers, Ben only reads."""

    def __init__(self) -> None:
        self.cluster = a_cluster("shop")
        self.ada, self.ben = user("ada", OPERATE), user("ben")
        self.cleo, self.eve = user("cleo", APPROVE), user("eve", OPERATE, APPROVE)
        self.gil = user("gil", ADMINISTER)

    def plan(self, *steps, state="awaiting_approval", author=None, **columns) -> Rollout:
        return a_rollout(self.cluster, *(steps or (taint(),)), state=state, author=author or self.ada, **columns)

    def approved(self, *steps, by=None, **columns) -> Rollout:
        row = self.plan(*steps, state="approved", **columns)
        for one in by or (self.cleo,):
            an_approval(row, one)
        return row

    def program(self, name: str, *, made_by: User, token_by: User | None = None) -> User:
        """Creates the account of a program that operates, made by one person; with `token_by`, a token by another."""
        account = entitled(User.objects.create_user(f"service:{name}"), OPERATE)
        row = ServiceAccountRow.objects.create(user=account, name=name, created_by=made_by.username)
        if token_by is not None:
            row.tokens.create(name="x", prefix="kd_", digest=name, created_by=token_by.username)
        return account

    def approve(self, who: User, row: Rollout, *, method="session", fresh=True, **changed) -> Rollout:
        me = person(who, method=method, fresh=fresh)
        return approvals.approve(row.pk, me, approval_request=approval_request(row, **changed), by=actor(who))

    def start(self, who: User, row: Rollout, *, method="session", **changed) -> Rollout:
        told = {"digest": row.digest} | changed
        return lifecycle.start(row.pk, person(who, method=method), by=actor(who), **told)


BYPASSES: dict[str, tuple[str, Callable[[Scene], None]]] = {}


def refused(code: str) -> Callable[[Callable[[Scene], None]], Callable[[Scene], None]]:
    """Adds an attempt to BYPASSES, with the code of the expected refusal; `database`: the triggers refuse it."""

    def listed(way: Callable[[Scene], None]) -> Callable[[Scene], None]:
        BYPASSES[way.__name__] = (code, way)
        return way

    return listed


def rules(**approvals: int) -> Rules:
    return Rules(approvals={"low": 0, "medium": 1, "high": 1, "destructive": 2} | approvals)


def policy(on: Scene, *, cluster: object = ..., **approvals: int) -> None:
    """Changes the policy of the cluster as Gil; with `cluster=None` the general policy."""
    chosen = on.cluster.pk if cluster is ... else None
    change_policy(
        chosen, rules(**approvals), person=person(on.gil), version=policy_of(chosen).version, by=actor(on.gil)
    )
