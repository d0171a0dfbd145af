"""The forms of the pages of pull requests."""

import uuid
from typing import Any, Final

from django import forms

from migrations_app.errors import InvalidInput
from migrations_app.queries.pull_requests import RepositoryRow
from migrations_app.texts import text as _
from migrations_app.web.access import uuid_in

EVERY: Final = "every"
"""The choice of every cluster."""
Groups = tuple[tuple[uuid.UUID, str], ...]


class RepositoryForm(forms.Form):
    """A new repository with its credential."""

    kind = forms.ChoiceField(choices=[("github", "GitHub"), ("gitlab", "GitLab")], label=_("Host"))
    address = forms.CharField(
        max_length=300, label=_("Address"), help_text=_("Such as https://github.com/acme/clusters.")
    )
    secret = forms.CharField(
        max_length=8000,
        label=_("Token, or the private key of a GitHub App"),
        help_text=_("It needs to write contents and pull requests of this repository, and nothing else."),
        widget=forms.Textarea(attrs={"rows": 3, "autocomplete": "off", "spellcheck": "false"}),
    )
    app = forms.CharField(
        max_length=40, required=False, label=_("Id of the GitHub App"), help_text=_("Empty for a token.")
    )
    installation = forms.CharField(
        max_length=40,
        required=False,
        label=_("Number of its installation"),
        help_text=_("The end of the address of the installation's page."),
    )

    group = forms.ChoiceField(
        label=_("For the clusters of"),
        help_text=_(
            "Whoever may start rollouts of these clusters can read its files here and propose changes; whoever sees a "
            "cluster sees the changes that were previewed for it."
        ),
    )

    def choose_among(self, groups: Groups) -> "RepositoryForm":
        """Returns the same form with these groups as choices. None is chosen before, unless there are no groups."""
        choices: Any = self.fields["group"]
        choices.choices = [*([("", _("Choose"))] if groups else []), *choices_of(groups)]
        return self


def choices_of(groups: Groups) -> list[tuple[str, str]]:
    """The clusters that a repository may be for: those of one of these groups, or every one."""
    return [*((str(group_id), name) for group_id, name in groups), (EVERY, _("Every cluster"))]


def chosen_group(value: str) -> uuid.UUID | None:
    """The id of the chosen group; None for every cluster. Raises InvalidInput."""
    group_id = uuid_in(value)
    if group_id is None and value != EVERY:
        raise InvalidInput(_("choose the clusters"), where="group", code="bad_group")
    return group_id


class PreviewForm(forms.Form):
    """In which repository and at which path the file of a fix is."""

    check = forms.CharField(max_length=80, widget=forms.HiddenInput)
    hop = forms.CharField(max_length=20, required=False, widget=forms.HiddenInput)
    repository = forms.ChoiceField(label=_("Repository"))
    branch = forms.CharField(
        max_length=200, required=False, label=_("Into the branch"), help_text=_("Empty: the default branch.")
    )
    path = forms.CharField(
        max_length=500,
        required=False,
        label=_("File or folder"),
        help_text=_("In a folder, the YAML files that hold the object are found."),
    )

    def offer(self, rows: tuple[RepositoryRow, ...]) -> "PreviewForm":
        """Returns the same form with these repositories as choices."""
        choices: Any = self.fields["repository"]
        choices.choices = [(str(row.id), row.address) for row in rows]
        return self
