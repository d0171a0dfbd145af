"""Forms that parse what a page sends. The use cases decide whether it is valid."""

from typing import Any

from django import forms

from migrations_app.texts import text as _

MIB = 1024 * 1024
LARGEST_KUBECONFIG = MIB // 4
LARGEST_BUNDLE = 64 * MIB


KEPT = {"hx-preserve": "true"}
"""Attributes that keep a field's value when htmx replaces the form: the server never sends the value back."""


class WriteOnlyTextarea(forms.Textarea):
    """A field for a secret that is never rendered again, not even when the form is redisplayed."""

    def format_value(self, _value: object) -> None:
        return None


class DetailsForm(forms.Form):
    """What a person enters about a cluster: name, environment, target."""

    name = forms.CharField(max_length=120, label=_("Name"), help_text=_("Display name"))
    environment = forms.CharField(
        max_length=40, required=False, label=_("Environment"), help_text=_("e.g. production (sets the colour)")
    )
    target = forms.CharField(
        max_length=20, required=False, label=_("Target"), help_text=_("Target minor, e.g. 1.4 (default: latest)")
    )


class ChangeForm(DetailsForm):
    interval = forms.IntegerField(
        min_value=1,
        max_value=10_080,
        required=False,
        label=_("Minutes between scans"),
        help_text=_("Default: global interval. Max 1 week"),
    )
    version = forms.IntegerField(widget=forms.HiddenInput)


class RemoveForm(forms.Form):
    name = forms.CharField(max_length=200, strip=False, label=_("Type the cluster's name to remove it"))


class JoinForm(forms.Form):
    """Joins the registration named in `other` into the one of the page; `seen` is the digest of the preview that was
    read.
    """

    typed_name = forms.CharField(
        max_length=200,
        strip=False,
        label=_("Type the name of the registration that ends"),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    seen = forms.CharField(max_length=64, widget=forms.HiddenInput)


class EksForm(forms.Form):
    """Which EKS cluster: the first step of its registration or AWS access."""

    eks_cluster = forms.CharField(
        max_length=300, label=_("EKS cluster"), help_text=_("Its ARN, or its name together with the region.")
    )
    eks_region = forms.CharField(
        max_length=40, required=False, label=_("Region"), help_text=_("Such as eu-west-1; an ARN holds it already.")
    )


def role_field(*, required: bool = True) -> forms.CharField:
    return forms.CharField(
        max_length=1000,
        required=required,
        label=_("ARN of the role"),
        help_text=_("The role that you made with the two policies above."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )


class AccessForm(forms.Form):
    """The second step of AWS access, for a registered cluster."""

    role_arn = role_field()
    draft = forms.CharField(max_length=4000, widget=forms.HiddenInput)
    version = forms.IntegerField(widget=forms.HiddenInput)


class KubeconfigForm(forms.Form):
    """A new kubeconfig for a registered cluster."""

    kubeconfig = forms.CharField(
        max_length=LARGEST_KUBECONFIG,
        strip=False,
        label=_("New kubeconfig"),
        help_text=_("With certificate-authority-data, and a token or client certificate data."),
        widget=WriteOnlyTextarea(attrs={"rows": 7, "spellcheck": "false", "autocomplete": "off", **KEPT}),
    )
    context = forms.CharField(
        max_length=253, required=False, label=_("Context"), help_text=_("Empty: the current context of the file.")
    )
    typed_name = forms.CharField(
        max_length=200,
        required=False,
        strip=False,
        label=_("The cluster's name"),
        help_text=_("Only where karpdash can not tell by itself that it is the same cluster."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    version = forms.IntegerField(widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - Django's signature
        # The page has other forms with fields of the same names.
        super().__init__(*args, **{"auto_id": "file_%s"} | kwargs)


class IdentityForm(forms.Form):
    """Accepts a different cluster that now answers at the address of the registered one."""

    typed_name = forms.CharField(
        max_length=200,
        strip=False,
        label=_("Type the cluster's name"),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    uid = forms.CharField(max_length=64, widget=forms.HiddenInput)
    version = forms.IntegerField(widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - Django's signature
        # The page has other forms with fields of the same names.
        super().__init__(*args, **{"auto_id": "identity_%s"} | kwargs)


class RegisterForm(DetailsForm):
    """Registration with one of five sources; the fields of the others are ignored."""

    way = forms.ChoiceField(choices=[(name, name) for name in ("paste", "file", "bundle", "eks", "agent")])
    kubeconfig = forms.CharField(
        required=False,
        max_length=LARGEST_KUBECONFIG,
        strip=False,
        label=_("Kubeconfig"),
        help_text=_("With certificate-authority-data, and a token or client certificate data."),
        widget=WriteOnlyTextarea(
            attrs={
                "rows": 9,
                "spellcheck": "false",
                "autocomplete": "off",
                "placeholder": "apiVersion: v1\nkind: Config\n…",
                **KEPT,
            }
        ),
    )
    kubeconfig_file = forms.FileField(
        required=False,
        label=_("Kubeconfig file"),
        help_text=_("At most 256 KiB."),
        widget=forms.ClearableFileInput(attrs=KEPT),
    )
    bundle = forms.FileField(
        required=False,
        label=_("Bundle"),
        help_text=_(".tar.gz, .yaml or .json, at most 64 MiB."),
        widget=forms.ClearableFileInput(attrs=KEPT),
    )
    context = forms.CharField(
        max_length=253, required=False, label=_("Context"), help_text=_("Empty: the current context of the file.")
    )
    role_arn = role_field(required=False)
    draft = forms.CharField(required=False, max_length=4000, widget=forms.HiddenInput)

    def clean(self) -> dict[str, object]:
        """Requires the chosen source within its size limit."""
        cleaned = super().clean() or {}
        if cleaned.get("way") == "eks" and not cleaned.get("draft"):
            self.add_error(None, _("Generate the external ID first: the role is created with it."))
            return cleaned
        field, largest = {
            "paste": ("kubeconfig", LARGEST_KUBECONFIG),
            "file": ("kubeconfig_file", LARGEST_KUBECONFIG),
            "bundle": ("bundle", LARGEST_BUNDLE),
            "eks": ("role_arn", MIB),
        }.get(str(cleaned.get("way", "")), ("", 0))
        upload = cleaned.get(field)
        if field and not upload and field not in self.errors:
            self.add_error(field, _("This field is required."))
        elif upload and getattr(upload, "size", 0) > largest:
            self.add_error(field, _("Larger than {size:,} KiB.").format(size=largest // 1024))
        return cleaned

    def secret(self) -> bytes:
        """The bytes of the chosen source."""
        way = self.cleaned_data["way"]
        if way == "paste":
            return str(self.cleaned_data["kubeconfig"]).encode()
        chosen = self.cleaned_data["kubeconfig_file" if way == "file" else "bundle"]
        return bytes(chosen.read())
