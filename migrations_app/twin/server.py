"""The entry point of the twin: takes one HTTP request, returns one response."""

from collections.abc import Collection, Iterable, Mapping
from threading import RLock
from typing import Any

from migrations_app.manifests import JsonMap
from migrations_app.twin import deletion, discovery, eviction, lists, loading, writes
from migrations_app.twin.access import ADMIN, REVIEW_KINDS, REVIEWS, Access
from migrations_app.twin.answers import Answer, RequestRefused, bad_request, no_such_path
from migrations_app.twin.calls import JSON, Call, check_options, read_path
from migrations_app.twin.definitions import Converter, Definitions
from migrations_app.twin.loading import SavedTwin
from migrations_app.twin.objects.kinds import Place
from migrations_app.twin.owner_gc import GarbageCollector, settle_definitions
from migrations_app.twin.state import State, TwinClock, Work
from migrations_app.twin.watches import Watch

NEWEST_MINOR = 33


class Twin:
    """A Kubernetes API server in memory. Thread-safe; documents in and out are never changed in place.

    `clock` tells the time, `minor` is the server's minor version, `seed` makes uids repeatable. Kinds in `untracked`
    get no managedFields: used for pods and nodes, whose fields nobody applies. Without `collects` no garbage is
    collected, as without a controller manager. With `open_definitions` the schemas of CustomResourceDefinitions are
    stored and not applied, and `converters` run without a service.
    """

    def __init__(
        self,
        clock: TwinClock,
        *,
        minor: int = NEWEST_MINOR,
        seed: str = "twin",
        untracked: Collection[Place] = (),
        collects: bool = True,
        version: JsonMap | None = None,
        open_definitions: bool = False,
    ) -> None:
        definitions = Definitions(minor, is_open=open_definitions)
        self._state = State(clock, minor, seed, frozenset(untracked), definitions)
        self._access = Access()
        self._paged_lists = lists.PagedLists()
        self._garbage = GarbageCollector(self._state) if collects else None
        self._lock = RLock()
        self._watched: dict[str, Call | None] = {}
        """Parsed paths of lists: watches ask for the same ones again and again."""
        self._watched_at = -1
        self._version = version or {"major": "1", "minor": str(minor), "gitVersion": f"v1.{minor}.0"}
        loading.load(self._state, ())

    @property
    def converters(self) -> dict[str, Converter]:
        """The working conversion webhooks, by the name of their CustomResourceDefinition."""
        return self._state.definitions.converters

    @property
    def down(self) -> set[str]:
        """The services, as `namespace/name`, or addresses whose webhooks do not answer."""
        return self._state.definitions.down

    def grant(self, user: str, rules: Iterable[Mapping[str, Any]]) -> None:
        """Grants a user exactly the rules of a ClusterRole; `admin` may do everything."""
        self._access.grant(user, rules)

    def load(self, documents: Iterable[Mapping[str, Any]]) -> None:
        """Adds the objects of a scan unchanged, with their uids and without validation."""
        with self._lock:
            loading.load(self._state, documents)

    def saved(self) -> SavedTwin:
        """Returns everything that is stored, for `restore`. The documents must not be changed."""
        with self._lock:
            return loading.saved(self._state)

    def restore(self, saved: SavedTwin) -> None:
        """Restores what another twin saved, with its resource versions. Only for an empty twin."""
        with self._lock:
            loading.restore(self._state, saved)

    @property
    def revision(self) -> int:
        """Grows with each write."""
        return self._state.store.revision

    def expire_lists(self) -> None:
        """Makes every continue token expire, as a compaction does."""
        self._paged_lists.expire()

    def watch(self) -> Watch:
        """Starts a watch: it has every existing object first, and changes from now on."""
        with self._lock:
            new_watch = Watch()
            for place in self._state.store.places():
                for key, stored in self._state.store.collection(place).objects.items():
                    new_watch.note(place, key, stored=stored)
            self._state.watches.append(new_watch)
            return new_watch

    def unwatch(self, watch: Watch) -> None:
        """Ends a watch."""
        with self._lock:
            self._state.watches = [other for other in self._state.watches if other is not watch]

    def taken(self, watch: Watch, path: str) -> list[tuple[JsonMap, bool]] | None:
        """Returns (object, whether it was deleted) for each object of the list at this path that changed since the
        last call; None if the list is not served. Of several changes of one object only the last is returned."""
        with self._lock:
            call = self._list_at(path)
            if call is None:
                return None
            changes = watch.take(call.kind.place, call.namespace)
            return [(self._state.view(call, change.stored), change.gone) for change in changes]

    def objects(self, path: str) -> list[JsonMap] | None:
        """Returns the objects of the list at this path, in order, as GET returns them; None if it is not served.

        Raises RequestRefused if an object cannot be converted.
        """
        with self._lock:
            call = self._list_at(path)
            if call is None:
                return None
            serial, api_version = call.definition.serial, call.api_version
            stored_objects = self._state.store.collection(call.kind.place).between(call.namespace)
            return [
                stored_object.document
                if stored_object.serial == serial and stored_object.document["apiVersion"] == api_version
                else self._state.view(call, stored_object)
                for stored_object in stored_objects
            ]

    def _list_at(self, path: str) -> Call | None:
        """Returns the list at this path; None if it is not served."""
        if self._watched_at != self._state.definitions.changes:
            self._watched.clear()
            self._watched_at = self._state.definitions.changes
        if path not in self._watched:
            try:
                self._watched[path] = read_path(path, self._state.definitions)
            except RequestRefused:
                self._watched[path] = None
        return self._watched[path]

    def now(self) -> str:
        """The twin's time in the format of objects."""
        return self._state.now()

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,  # noqa: ANN401 - what is sent may be anything
        content_type: str = JSON,
        user: str = ADMIN,
    ) -> Answer:
        """Returns the response to one HTTP request; a refusal is a response, too."""
        with self._lock:
            try:
                return self._dispatch(method, path, query=query or {}, body=body, content_type=content_type, user=user)
            except RequestRefused as refused:
                return refused.answer
            finally:
                self._settle()

    def _settle(self) -> None:
        if self._state.touched:
            settle_definitions(self._state)
            if self._garbage is not None:
                self._garbage.collect()
            self._state.touched.clear()

    def _dispatch(self, method: str, path: str, **sent: Any) -> Answer:  # noqa: ANN401 - the fields of Call
        parts = path.strip("/").split("/")
        if parts[:2] == ["apis", REVIEWS] and len(parts) == 4 and method == "POST":
            if parts[3] not in REVIEW_KINDS:
                raise no_such_path()
            return self._access.review(parts[3], sent["body"], user=sent["user"])
        call = read_path(path, self._state.definitions, method=method, **sent)
        if call is None:
            return discovery.answer(path, self._state.definitions, version=self._version)
        self._access.check(call)
        check_options(call)
        return self._perform(Work(self._state, call))

    def _perform(self, work: Work) -> Answer:
        call = work.call
        if call.query.get("watch") in ("1", "true"):
            raise bad_request("the twin answers no watches")
        if call.method == "POST" and call.subresource:
            return eviction.post_subresource(work)
        if call.subresource and not (call.subresource == "status" and call.definition.has_status(call.version)):
            raise no_such_path()
        match call.method, bool(call.name):
            case "GET", False:
                return lists.get_list(work, self._paged_lists)
            case "POST", False:
                return self._create(work)
            case "GET", True:
                return lists.get(work)
            case "PUT", True:
                return writes.replace(work)
            case "PATCH", True:
                return self._patch(work)
            case "DELETE", True:
                return deletion.delete(work)
        message = "the server does not allow this method on the requested resource"
        raise RequestRefused(405, "MethodNotAllowed", message=message, details={})

    def _create(self, work: Work) -> Answer:
        if work.call.definition.ending:
            message = "create not allowed while custom resource definition is terminating"
            raise RequestRefused(405, "MethodNotAllowed", message=message, details={})
        return writes.create(work)

    def _patch(self, work: Work) -> Answer:
        if self._state.store.find(work.call.kind.place, work.call.key) is None:
            self._access.check_creation(work.call)
        return writes.patch(work)
