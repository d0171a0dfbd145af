"""Records in a session when its person was last active, so that an abandoned session ends."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from karpdash.sign_in.sessions import is_by_person, note_activity


class SessionActivity:
    """Updates only sessions that were read for the request anyway."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if request.session.accessed and is_by_person(request):
            note_activity(request.session)
        return response
