"""SCIM discovery endpoints of RFC 7643, which list what this server supports: ServiceProviderConfig, ResourceTypes and
Schemas.
"""

from typing import Any, ClassVar

from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api.scim.endpoint import ScimEndpoint, ScimError
from migrations_app.api.scim.lists import MAX_LISTED, ListQuery, list_body
from migrations_app.manifests import JsonMap

CORE = "urn:ietf:params:scim:schemas:core:2.0"
USER, GROUP = f"{CORE}:User", f"{CORE}:Group"
_SCHEME: JsonMap = {
    "type": "oauthbearertoken",
    "name": "OAuth Bearer Token",
    "description": "A token that an administrator makes under Provisioning.",
    "primary": True,
}


def _attribute(name: str, about: str, **characteristics: Any) -> JsonMap:  # noqa: ANN401 - characteristics of RFC 7643, section 7
    attribute: JsonMap = {
        "name": name,
        "type": "string",
        "multiValued": False,
        "description": about,
        "required": False,
        "mutability": "readWrite",
        "returned": "default",
    } | characteristics
    if attribute["type"] == "string":
        attribute = {"caseExact": False, "uniqueness": "none"} | attribute
    return attribute


_REFERENCE = {"type": "reference", "mutability": "immutable", "caseExact": True, "uniqueness": "none"}
_KEY = {"mutability": "immutable"}
USER_ATTRIBUTES = [
    _attribute("userName", "The name in the directory.", required=True, uniqueness="server"),
    _attribute(
        "name",
        "The parts of the name.",
        type="complex",
        subAttributes=[_attribute("givenName", "Given name."), _attribute("familyName", "Family name.")],
    ),
    _attribute("displayName", "The name to show."),
    _attribute(
        "emails",
        "One address is kept: the primary one. Approvals are mailed there.",
        type="complex",
        multiValued=True,
        subAttributes=[
            _attribute("value", "The address."),
            _attribute("type", "Always work.", mutability="readOnly", canonicalValues=["work"]),
            _attribute("primary", "Always true.", mutability="readOnly", type="boolean"),
        ],
    ),
    _attribute("active", "False closes the account; its sessions and tokens end.", type="boolean"),
    _attribute(
        "groups",
        "Teams of the person; changed by way of Groups.",
        type="complex",
        multiValued=True,
        mutability="readOnly",
        subAttributes=[
            _attribute("value", "The id of the team.", mutability="readOnly"),
            _attribute("$ref", "Its address.", referenceTypes=["Group"], **_REFERENCE | {"mutability": "readOnly"}),
            _attribute("display", "Its name.", mutability="readOnly"),
            _attribute("type", "Always direct.", mutability="readOnly", canonicalValues=["direct"]),
        ],
    ),
]
GROUP_ATTRIBUTES = [
    _attribute("displayName", "The name of the team.", required=True, uniqueness="server"),
    _attribute(
        "members",
        "The people of the team.",
        type="complex",
        multiValued=True,
        subAttributes=[
            _attribute("value", "The id of the user.", **_KEY),
            _attribute("$ref", "Its address.", referenceTypes=["User"], **_REFERENCE),
            _attribute("type", "Always User.", canonicalValues=["User"], **_KEY),
        ],
    ),
]
_NAMES = {USER: ("User", "A person.", USER_ATTRIBUTES), GROUP: ("Group", "A team.", GROUP_ATTRIBUTES)}


class _Discovery(ScimEndpoint):
    """Serves documents by their id. Subclasses name the documents."""

    kind: ClassVar[str] = ""

    def documents(self) -> dict[str, JsonMap]:
        """The documents by id."""
        return {}

    def get(self, request: Request, id: str = "") -> Response:  # noqa: A002 - the name in the address
        """All documents, or the one of that id."""
        if "filter" in request.query_params:
            raise ScimError("there is no filter here", status=403)
        documents = self.documents()
        for key, document in documents.items():
            url = request.build_absolute_uri(f"/scim/v2/{self.kind}s/{key}")
            document["meta"] = {"resourceType": self.kind, "location": url}
        if not id:
            return Response(list_body(list(documents.values()), len(documents), query=ListQuery([], 1, len(documents))))
        if id not in documents:
            raise ScimError("there is nothing here", status=404)
        return Response(documents[id])


class ScimSchemasView(_Discovery):
    """The attributes of users and groups."""

    kind = "Schema"

    def documents(self) -> dict[str, JsonMap]:
        head = {"schemas": [f"{CORE}:Schema"]}
        return {
            key: {**head, "id": key, "name": name, "description": about, "attributes": attributes}
            for key, (name, about, attributes) in _NAMES.items()
        }


class ScimResourceTypesView(_Discovery):
    """Users and groups."""

    kind = "ResourceType"

    def documents(self) -> dict[str, JsonMap]:
        head = {"schemas": [f"{CORE}:ResourceType"]}
        return {
            name: {**head, "id": name, "name": name, "endpoint": f"/{name}s", "description": about, "schema": key}
            for key, (name, about, _) in _NAMES.items()
        }


class ScimConfigView(ScimEndpoint):
    """What this server supports."""

    def get(self, request: Request) -> Response:
        """The configuration."""
        no = {"supported": False}
        url = request.build_absolute_uri("/scim/v2/ServiceProviderConfig")
        return Response(
            {
                "schemas": [f"{CORE}:ServiceProviderConfig"],
                "patch": {"supported": True},
                "bulk": {"supported": False, "maxOperations": 0, "maxPayloadSize": 0},
                "filter": {"supported": True, "maxResults": MAX_LISTED},
                "changePassword": no,
                "sort": no,
                "etag": no,
                "authenticationSchemes": [_SCHEME],
                "meta": {"resourceType": "ServiceProviderConfig", "location": url},
            }
        )


class ScimNothingView(ScimEndpoint):
    """Any other URL: refused without a token, else 404, and 501 for a search by POST, which is not supported."""

    def get(self, request: Request, rest: str) -> Response:  # noqa: ARG002 - DRF's signature
        """Answers 404."""
        if rest.endswith((".search", "Bulk", "Me")):
            raise ScimError("that is not supported", status=501)
        raise ScimError("there is nothing here", status=404)

    post = put = patch = delete = get
