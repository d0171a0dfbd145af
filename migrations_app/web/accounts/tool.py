"""The user's preferred tool for fixes."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from migrations_app.errors import InvalidInput
from migrations_app.queries.accounts.tool_choice import tool_of
from migrations_app.readiness.outputs.preferred_tool import TOOLS
from migrations_app.texts import text as _
from migrations_app.use_cases.accounts.tool_choice import choose_tool
from migrations_app.web.access import require_right


@require_right()
@require_http_methods(["GET", "HEAD", "POST"])
def tool(request: HttpRequest) -> HttpResponse:
    """The choice; a POST stores it. A cluster's page also sends it, with `quiet`, when another tab of commands is
    opened. Sending it twice has the effect of one.
    """
    person, refused = int(request.user.pk or 0), None
    if request.method == "POST":
        try:
            choose_tool(person, tool=request.POST.get("tool", "")[:20])
        except InvalidInput as error:
            refused = error
        else:
            if not request.POST.get("quiet"):
                messages.success(request, _("Preferred tool saved."))
            return redirect("tool")
    context = {
        "section": "tool",
        "tools": TOOLS,
        "chosen": tool_of(person),
        "refused": refused,
    }
    return render(request, "accounts/tool.html", context, status=422 if refused else 200)
