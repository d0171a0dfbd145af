"""Routes below /scim/v2/. Every view is a `ScimEndpoint`, so none opens without the token of a directory."""

from django.urls import URLPattern, path, re_path

from migrations_app.api.scim.discovery import (
    ScimConfigView,
    ScimNothingView,
    ScimResourceTypesView,
    ScimSchemasView,
)
from migrations_app.api.scim.groups import ScimGroupsView, ScimGroupView
from migrations_app.api.scim.users import ScimUsersView, ScimUserView

urlpatterns: list[URLPattern] = [
    path("Users", ScimUsersView.as_view(), name="scim-users"),
    path("Users/<int:id>", ScimUserView.as_view(), name="scim-user"),
    path("Groups", ScimGroupsView.as_view(), name="scim-groups"),
    path("Groups/<int:id>", ScimGroupView.as_view(), name="scim-group"),
    path("ServiceProviderConfig", ScimConfigView.as_view(), name="scim-config"),
    path("ResourceTypes", ScimResourceTypesView.as_view(), name="scim-resource-types"),
    path("ResourceTypes/<str:id>", ScimResourceTypesView.as_view(), name="scim-resource-type"),
    path("Schemas", ScimSchemasView.as_view(), name="scim-schemas"),
    path("Schemas/<str:id>", ScimSchemasView.as_view(), name="scim-schema"),
    re_path(r"^(?P<rest>[\s\S]*)$", ScimNothingView.as_view(), name="scim-nothing"),
]
