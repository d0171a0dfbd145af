"""Addresses of the pages."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from migrations_app.web import catalogue, change, cluster, connection, convert, fleet, history, iam, register
from migrations_app.web.access import open_page, page
from migrations_app.web.sign_in import ChangePassword, SignIn

urlpatterns = [
    path("", fleet.fleet, name="fleet"),
    path("login", open_page(SignIn.as_view()), name="login"),
    path("logout", open_page(LogoutView.as_view(http_method_names=["post", "options"])), name="logout"),
    path("password", page(with_any_password=True)(ChangePassword.as_view()), name="password"),
    path("catalogue/", catalogue.catalogue, name="catalogue"),
    path("convert", convert.paste, name="convert"),
    path("clusters/new", register.new, name="cluster-new"),
    path("clusters/<uuid:cluster_id>/", cluster.readiness, name="cluster"),
    path("clusters/<uuid:cluster_id>/nodes", cluster.nodes, name="cluster-nodes"),
    path("clusters/<uuid:cluster_id>/parts", cluster.parts, name="cluster-parts"),
    path("clusters/<uuid:cluster_id>/iam", iam.iam, name="cluster-iam"),
    path("clusters/<uuid:cluster_id>/convert", convert.convert, name="cluster-convert"),
    path("clusters/<uuid:cluster_id>/history", history.history, name="cluster-history"),
    path("clusters/<uuid:cluster_id>/changes", history.changes, name="cluster-changes"),
    path("clusters/<uuid:cluster_id>/progress", cluster.progress, name="cluster-progress"),
    path("clusters/<uuid:cluster_id>/scan", change.scan, name="cluster-scan"),
    path("clusters/<uuid:cluster_id>/connection", connection.connection, name="cluster-connection"),
    path("clusters/<uuid:cluster_id>/change", change.change, name="cluster-change"),
    path("clusters/<uuid:cluster_id>/remove", change.remove, name="cluster-remove"),
]
