"""The forms of the pages of AWS organizations."""

from django import forms

from migrations_app.texts import text as _
from migrations_app.use_cases.organizations.registration import HUB_ROLE, MEMBER_ROLE


class OrganizationForm(forms.Form):
    """A new organization."""

    name = forms.CharField(max_length=120, label=_("Name"), help_text=_("Display name of the organization."))
    account = forms.CharField(
        max_length=12,
        label=_("Account of the hub role"),
        help_text=_("Twelve digits: the management account, or a delegated administrator of CloudFormation."),
    )
    regions = forms.CharField(
        max_length=1000, label=_("Regions"), help_text=_("Where there are EKS clusters, such as eu-west-1, us-east-1.")
    )
    hub_role = forms.CharField(max_length=64, label=_("Name of the hub role"), initial=HUB_ROLE)
    member_role = forms.CharField(max_length=64, label=_("Name of the role in each account"), initial=MEMBER_ROLE)

    def named_regions(self) -> list[str]:
        """The regions, separated by commas or white space."""
        return str(self.cleaned_data["regions"]).replace(",", " ").split()


class ChosenForm(forms.Form):
    """The values that all chosen clusters get."""

    environment = forms.CharField(
        max_length=40, required=False, label=_("Environment"), help_text=_("e.g. production (sets the colour)")
    )
    target = forms.CharField(
        max_length=20, required=False, label=_("Target"), help_text=_("Target minor, e.g. 1.4 (default: latest)")
    )


class RemovedOrganizationForm(forms.Form):
    name = forms.CharField(max_length=120, strip=False, label=_("Type the organization's name to remove it"))
