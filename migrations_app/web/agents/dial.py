"""The endpoints that agents connect to. They accept only the agent's token: no session, no cookie, no right of a
person.
"""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from migrations_app.errors import Conflict, InvalidInput, KarpdashError, ReadError
from migrations_app.use_cases.agents import sessions
from migrations_app.use_cases.agents.sessions import LONGEST_MESSAGE, MEDIA_TYPE, MESSAGES, SESSION_FIELD, AgentMessage
from migrations_app.use_cases.agents.tokens import agent_of
from migrations_app.web.access import open_page

Dial = Callable[[HttpRequest], HttpResponseBase]
STATUSES: tuple[tuple[type[KarpdashError], int], ...] = ((InvalidInput, 400), (Conflict, 409), (ReadError, 503))


def _receiver(name: str) -> Dial:
    """Returns the view for messages of that name."""
    serve = MESSAGES[name]

    def receive(request: HttpRequest) -> HttpResponse:
        """Answers 401 for a token that is unknown or revoked; other refusals have the code of the error."""
        if int(request.META.get("CONTENT_LENGTH") or 0) > LONGEST_MESSAGE:
            return _refused(413, "agent_message", words="the message is larger than the limit")
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        agent = agent_of(secret.strip()) if scheme.lower() == "bearer" else None
        if agent is None:
            return _refused(401, "agent_token", words="the agent's token is unknown or revoked")
        address = str(getattr(request, "client_address", ""))
        message = AgentMessage(agent, request.body, request.headers.get(SESSION_FIELD, ""), address)
        try:
            return HttpResponse(serve(message), content_type=MEDIA_TYPE)
        except (InvalidInput, Conflict, ReadError) as error:
            status = next(number for kind, number in STATUSES if isinstance(error, kind))
            return _refused(status, error.code, words=error.message, message=message)

    receive.__name__ = name
    # No CSRF token is needed: a browser never sends an agent's token by itself, so another site cannot misuse it.
    return csrf_exempt(open_page(require_POST(receive)))


def _refused(status: int, code: str, *, words: str, message: AgentMessage | None = None) -> HttpResponse:
    answer = HttpResponse(sessions.refusal(code, words, message=message), status=status, content_type=MEDIA_TYPE)
    if status == 401:
        answer["WWW-Authenticate"] = 'Bearer realm="karpdash agent"'
    return answer


hello = _receiver("hello")
poll = _receiver("poll")
begin = _receiver("begin")
piece = _receiver("piece")
bye = _receiver("bye")
