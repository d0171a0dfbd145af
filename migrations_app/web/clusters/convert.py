"""The conversion pages: objects of a cluster, or pasted manifests, beside their conversion, with downloads."""

import re
import uuid
from collections.abc import Iterable
from typing import Any, get_args

from django import forms
from django.core.validators import RegexValidator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_http_methods, require_safe

from migrations_app.conversion.convert import Item
from migrations_app.conversion.node_template import placeholder_paths
from migrations_app.conversion.objects import Options, TargetVersion
from migrations_app.conversion.reports import report as rendered
from migrations_app.conversion.reports.report import ConversionReport, convert_texts
from migrations_app.manifests import writer
from migrations_app.queries.clusters.detail import nodes_of
from migrations_app.queries.clusters.reports import sheet_of
from migrations_app.texts import text as _
from migrations_app.use_cases.scans.conversion import conversion_facts, convert_cluster, next_target, unread_parts
from migrations_app.web.access import require_right
from migrations_app.web.clusters.conversion_cards import SEVERITIES, cards, changed, tally
from migrations_app.web.clusters.readiness import about

MIB = 1024 * 1024
TARGETS = tuple((word, word) for word in get_args(TargetVersion))
NEXT = (("", "next"),)
DEFAULTS = (("keep", _("Same behaviour")), ("leave", _("Ignore defaults")))
ROLE = RegexValidator(r"^[A-Za-z0-9+=,.@_:/-]+$", _("A role name has letters, digits and + = , . @ _ - only."))


class ConversionForm(forms.Form):
    """The options of a conversion. Missing and invalid options take their default from `initial`."""

    to = forms.ChoiceField(choices=TARGETS, label=_("Target"), widget=forms.RadioSelect)
    defaults = forms.ChoiceField(choices=DEFAULTS, label=_("Defaults"), widget=forms.RadioSelect)
    role = forms.CharField(
        max_length=200,
        required=False,
        label=_("Node role"),
        validators=[ROLE],
        help_text=_("Name of the IAM role of the nodes; empty: a placeholder, where the object names none."),
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "spellcheck": "false", "placeholder": "KarpenterNodeRole"}
        ),
    )
    profile = forms.BooleanField(required=False, label=_("Keep the instance profile instead of a role"))

    def options(self, *, live: bool) -> Options:
        """The options as the conversion expects them."""
        self.is_valid()
        values: dict[str, Any] = {**self.initial, **self.cleaned_data}
        return Options(
            to=values["to"] or None,
            ignore_defaults=values["defaults"] == "leave",
            node_role=values.get("role") or None,
            keep_instance_profile=bool(values.get("profile")),
            live=live,
        )


class PasteForm(ConversionForm):
    """The same options, with manifests to convert."""

    to = forms.ChoiceField(choices=NEXT + TARGETS, required=False, label=_("Target"), widget=forms.RadioSelect)
    manifests = forms.CharField(
        required=False,
        strip=False,
        label=_("Manifests"),
        help_text=_("YAML or JSON, several documents, or what kubectl get prints. At most 1 MiB."),
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
    file = forms.FileField(required=False, allow_empty_file=True, label=_("Or a file"), help_text=_("At most 1 MiB."))

    def clean(self) -> dict[str, Any]:
        """Requires a text or a file within the size limit."""
        cleaned = super().clean() or {}
        chosen, pasted = cleaned.get("file"), cleaned.get("manifests") or ""
        if chosen is None and not pasted.strip():
            self.add_error("manifests", _("This field is required."))
        elif chosen is not None and chosen.size > MIB:
            self.add_error("file", _("Larger than 1 MiB; use the karpdash command."))
        elif len(pasted) > MIB:
            self.add_error("manifests", _("Larger than 1 MiB; use the karpdash command."))
        return cleaned

    def source(self) -> tuple[str, bytes | str]:
        """Name and content of the file or of the pasted text."""
        chosen = self.cleaned_data.get("file")
        if chosen is not None:
            return str(chosen.name), bytes(chosen.read())
        return "pasted", str(self.cleaned_data["manifests"])


DOWNLOADS = (
    ("yaml", "YAML", "karpenter.yaml"),
    ("terraform", _("Terraform"), "karpenter.tf"),
    ("kustomize", _("Flux or Argo CD patch"), "kustomization.yaml"),
)
_NOT_IN_FILES = re.compile(r"[^A-Za-z0-9._-]+")


@require_right()
@require_safe
def convert(request: HttpRequest, cluster_id: uuid.UUID) -> HttpResponse:
    """The objects of a cluster's newest snapshot beside their conversion."""
    context = about(request, cluster_id, tab="cluster-convert")
    head, report = context["head"], context["report"]
    if report is None:
        return render(request, "cluster/convert.html", context)
    start = {"to": next_target(head.snapshot.stage), "defaults": "keep"}
    form = ConversionForm(start | request.GET.dict(), initial=start)
    options = form.options(live=True)
    sheet = sheet_of(head.snapshot.id)
    cluster_facts = conversion_facts(report, nodes_of(head.snapshot.id), profiles=sheet.profiles if sheet else ())
    conversion = convert_cluster(cluster_id, options, known_names=cluster_facts)
    if conversion and request.GET.get("download"):
        return _download(conversion.items, request.GET["download"], name=head.name)
    if conversion:
        context |= _card_context(conversion.items)
        context["leaps"] = options.to == "v1" and any(item.generation == "alpha" for item in conversion.items)
    context |= {"form": form, "kept": conversion is not None, "to": options.to, "unconverted": unread_parts(report)}
    return render(request, "cluster/convert.html", context)


@require_right()
@require_http_methods(["GET", "HEAD", "POST"])
def paste(request: HttpRequest) -> HttpResponse:
    """As `convert`, for pasted or uploaded manifests, which are not stored."""
    start = {"to": "", "defaults": "keep"}
    if request.method != "POST":
        return render(request, "convert/page.html", {"section": "convert", "form": PasteForm(initial=start)})
    form = PasteForm(start | request.POST.dict(), request.FILES, initial=start)
    if not form.is_valid():
        return render(request, "convert/page.html", {"section": "convert", "form": form}, status=422)
    report = convert_texts([form.source()], form.options(live=False))
    items = [converted.item for converted in report.converted]
    if request.POST.get("download"):
        return _download(items, request.POST["download"], name="converted", stream=report.as_yaml())
    context = {"section": "convert", "form": form, "report": report, "apart": _without_object(report)} | _card_context(
        items
    )
    return render(request, "convert/page.html", context)


def _card_context(items: Iterable[Item]) -> dict[str, Any]:
    item_cards = cards(tuple(items))
    changed_items = changed(items)
    bodies = [body for item in changed_items for body in item.objects]
    return {
        "cards": item_cards,
        "tally": tally(item_cards),
        "downloads": DOWNLOADS if changed_items else (),
        "placeholders": sum(any(True for _ in placeholder_paths(body)) for body in bodies),
    }


def _without_object(report: ConversionReport) -> list[dict[str, Any]]:
    """Returns the findings that belong to no object: unreadable texts, or nothing to convert."""
    with_object = {id(loss) for converted in report.converted for loss in converted.item.losses}
    findings = (finding for finding in report.findings if id(finding.loss) not in with_object)
    return [{"finding": finding, "look": SEVERITIES[finding.loss.severity]} for finding in findings]


def _download(items: Iterable[Item], form: str, *, name: str, stream: str = "") -> HttpResponse:
    """Returns the results as a file. `whole` is the YAML to send if it is not made from these items."""
    file_name = next((file for key, _, file in DOWNLOADS if key == form), DOWNLOADS[0][2])
    changed_items = changed(items)
    bodies = [body for item in changed_items for body in item.objects]
    if form == "terraform":
        text = rendered.terraform(bodies)
    elif form == "kustomize":
        text = rendered.kustomize((item.source, item.objects) for item in changed_items)
    else:
        text = stream or writer.stream(map(writer.text_of, bodies))
    safe = f"{_NOT_IN_FILES.sub('-', name)[:80]}-{file_name}"
    return HttpResponse(
        text,
        content_type="text/plain; charset=utf-8" if form == "terraform" else "application/yaml; charset=utf-8",
        headers={"Content-Disposition": content_disposition_header(as_attachment=True, filename=safe) or "attachment"},
    )
