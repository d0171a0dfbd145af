"""The page of repositories that pull requests may be opened in."""

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from migrations_app.errors import Conflict, InvalidInput, ReadError
from migrations_app.queries.fleet.groups import group_choices
from migrations_app.queries.pull_requests import RepositoryRow, repository_rows
from migrations_app.texts import text as _
from migrations_app.use_cases.pull_requests.repositories import (
    NewRepository,
    limit_repository,
    register_repository,
    remove_repository,
)
from migrations_app.web.access import require_right
from migrations_app.web.pull_requests.forms import EVERY, Groups, RepositoryForm, choices_of, chosen_group

RIGHT = "administer_policy"


@require_right(RIGHT)
@require_http_methods(["GET", "HEAD", "POST"])
def repositories(request: HttpRequest) -> HttpResponse:
    """Every repository, and the form for a new one."""
    groups = group_choices()
    form = RepositoryForm(request.POST or None).choose_among(groups)
    if request.method == "POST" and form.is_valid() and _register(request, form):
        messages.success(request, _("The repository is registered; its host accepts the credential."))
        return redirect("repositories")
    found = repository_rows()
    rows = [(row, str(row.group or EVERY)) for row in found]
    choices = choices_of(_with_groups_of(found, groups=groups))
    context = {"section": "settings", "rows": rows, "form": form, "groups": choices}
    return render(request, "pull_requests/repositories.html", context, status=422 if form.errors else 200)


@require_right(RIGHT)
@require_POST
def forget(request: HttpRequest, repository_id: uuid.UUID) -> HttpResponse:
    """Removes a repository and its credential."""
    try:
        remove_repository(repository_id)
        messages.success(request, _("The repository and its credential are removed; requests there stay."))
    except Conflict as refused:
        messages.error(request, _("Not removed: {why}.").format(why=refused.message))
    return redirect("repositories")


@require_right(RIGHT)
@require_POST
def limit(request: HttpRequest, repository_id: uuid.UUID) -> HttpResponse:
    """Says for which clusters a repository is."""
    try:
        limit_repository(repository_id, chosen_group(request.POST.get("group", "")))
        messages.success(request, _("The repository is for the chosen clusters."))
    except InvalidInput as refused:
        messages.error(request, _("Not changed: {why}.").format(why=refused.message))
    return redirect("repositories")


def _with_groups_of(rows: tuple[RepositoryRow, ...], *, groups: Groups) -> Groups:
    """The groups, and those of the repositories, which may be beyond the number that a page offers. Without an option
    of its own a row would show the first group, and Save would give the repository to that one.
    """
    of_rows = {row.group: row.group_name for row in rows if row.group is not None}
    return tuple((dict(groups) | of_rows).items())


def _register(request: HttpRequest, form: RepositoryForm) -> bool:
    values = form.cleaned_data
    try:
        register_repository(
            NewRepository(
                kind="gitlab" if values["kind"] == "gitlab" else "github",
                address=values["address"],
                secret=values["secret"].strip(),
                app=values["app"].strip(),
                installation=values["installation"].strip(),
                group=chosen_group(values["group"]),
                by=request.user.get_username(),
            ),
            now=timezone.now(),
        )
    except (InvalidInput, Conflict, ReadError) as refused:
        where = "address" if refused.code == "address_taken" else refused.where
        form.add_error(where if where in form.fields else None, refused.message)
        return False
    return True
