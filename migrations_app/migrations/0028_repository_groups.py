"""A Git repository may be for the clusters of one group. Those of before stay for every cluster."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("migrations_app", "0027_model_names")]

    operations = [
        migrations.AddField(
            model_name="coderepository",
            name="group",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="repositories",
                to="migrations_app.clustergroup",
            ),
        ),
    ]
