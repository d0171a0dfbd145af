"""What a person chooses for a conversion, and the manifests that are pasted or uploaded."""

from typing import Any, get_args

from django import forms
from django.core.validators import RegexValidator

from migrations_app.karpenter.conversion.options import Options, Target

MIB = 1024 * 1024
TARGETS = tuple((word, word) for word in get_args(Target))
NEXT = (("", "next"),)
DEFAULTS = (("keep", "Same behaviour"), ("leave", "Ignore defaults"))
ROLE = RegexValidator(r"^[A-Za-z0-9+=,.@_:/-]+$", "A role name has letters, digits and + = , . @ _ - only.")


class ConversionForm(forms.Form):
    """The switches. What was not chosen, or cannot be used, is as it is in `initial`."""

    to = forms.ChoiceField(choices=TARGETS, label="Target", widget=forms.RadioSelect)
    defaults = forms.ChoiceField(choices=DEFAULTS, label="Defaults", widget=forms.RadioSelect)
    role = forms.CharField(
        max_length=200,
        required=False,
        label="Node role",
        validators=[ROLE],
        help_text="Name of the IAM role of the nodes; empty: a placeholder, where the object names none.",
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "spellcheck": "false", "placeholder": "KarpenterNodeRole"}
        ),
    )
    profile = forms.BooleanField(required=False, label="Keep the instance profile instead of a role")

    def options(self, *, live: bool) -> Options:
        """The options of the conversion."""
        self.is_valid()
        said: dict[str, Any] = {**self.initial, **self.cleaned_data}
        return Options(
            to=said["to"] or None,
            ignore_defaults=said["defaults"] == "leave",
            node_role=said.get("role") or None,
            keep_instance_profile=bool(said.get("profile")),
            live=live,
        )


class PasteForm(ConversionForm):
    """The same, with the manifests."""

    to = forms.ChoiceField(choices=NEXT + TARGETS, required=False, label="Target", widget=forms.RadioSelect)
    manifests = forms.CharField(
        required=False,
        strip=False,
        label="Manifests",
        help_text="YAML or JSON, several documents, or what kubectl get prints. At most 1 MiB.",
        widget=forms.Textarea(
            attrs={
                "rows": 18,
                "spellcheck": "false",
                "autocomplete": "off",
                "wrap": "off",
                "placeholder": "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\n…",
            }
        ),
    )
    file = forms.FileField(required=False, allow_empty_file=True, label="Or a file", help_text="At most 1 MiB.")

    def clean(self) -> dict[str, Any]:
        """Asks for a text or a file, within the size."""
        cleaned = super().clean() or {}
        chosen, pasted = cleaned.get("file"), cleaned.get("manifests") or ""
        if chosen is None and not pasted.strip():
            self.add_error("manifests", "Nothing was given here.")
        elif chosen is not None and chosen.size > MIB:
            self.add_error("file", "Larger than 1 MiB; use the karpdash command.")
        elif len(pasted) > MIB:
            self.add_error("manifests", "Larger than 1 MiB; use the karpdash command.")
        return cleaned

    def source(self) -> tuple[str, bytes | str]:
        """Name and content of the file, or of the pasted text."""
        chosen = self.cleaned_data.get("file")
        if chosen is not None:
            return str(chosen.name), bytes(chosen.read())
        return "pasted", str(self.cleaned_data["manifests"])
