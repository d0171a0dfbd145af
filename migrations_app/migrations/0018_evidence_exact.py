"""Numbers of findings say whether they are all there is."""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def tell_of_what_is_there(apps: Apps, _editor: BaseDatabaseSchemaEditor | None) -> None:
    """Rows of before: what could not be read, and what says "at least", is a lower bound."""
    rows = apps.get_model("migrations_app", "FindingRow").objects
    bound = models.Q(status="unknown") | models.Q(summary__contains="at least ")
    rows.filter(bound).update(evidence_exact=False)
    rows.exclude(bound).update(evidence_exact=True)


class Migration(migrations.Migration):
    dependencies = [("migrations_app", "0017_identities")]
    operations = [
        migrations.AddField(model_name="findingrow", name="evidence_exact", field=models.BooleanField(null=True)),
        migrations.RunPython(tell_of_what_is_there, migrations.RunPython.noop),
    ]
