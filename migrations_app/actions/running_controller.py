"""The controller that a plan was made with: what runs at its start has to be the same release."""

from typing import Any

from migrations_app.actions.changes import ActionValue, ObjectTarget
from migrations_app.actions.conditions import value_at
from migrations_app.karpenter.detection import image_release
from migrations_app.manifests import JsonMap

CONTAINERS = ("spec", "template", "spec", "containers")


class PlannedController(ActionValue, frozen=True):
    """A Deployment of the controller, with the container and image that it had at the preview."""

    deployment: ObjectTarget
    container: str
    image: str

    def difference(self, read: JsonMap | None) -> str:
        """How the running release differs from that of the preview, as text; empty if it does not."""
        return self.changed_to(None if read is None else _image_of(read, self.container))

    def changed_to(self, image: str | None) -> str:
        """As `difference`, of the image that its container has now; None: the Deployment is gone. Another address of
        the same tag is the same release; an image whose tag names none has to be the same one."""
        if image is None:
            return f"{self.deployment.display_name}, which ran {self._shown(self.image)} at the preview, is gone"
        release = image_release(image)
        if image == self.image or (release is not None and release == image_release(self.image)):
            return ""
        ran, runs = self._shown(self.image), self._shown(image)
        return f"{self.deployment.display_name} runs {runs}; at the preview it ran {ran}"

    @staticmethod
    def _shown(image: str) -> str:
        release = image_release(image)
        return f"Karpenter {release}" if release else f"the image {image or '(none)'}"


def _image_of(read: JsonMap, container: str) -> str:
    """The image of that container; empty if there is none of that name."""
    listed: Any = value_at(read, CONTAINERS)
    rows = [row for row in listed if isinstance(row, dict)] if isinstance(listed, list) else []
    return next((str(row.get("image") or "") for row in rows if row.get("name") == container), "")
