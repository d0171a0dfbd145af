"""Worker processes of journeys that may run helm. Run as `python -m tests.helm.journey_worker_process`."""

import uuid

from tests.helm.worker_process import configure
from tests.use_cases.journeys import worker_process as journeys
from tests.use_cases.rollouts import worker_process


def plan_by_helm(cluster: str, crds: str, chart: str) -> str:
    """The id of a draft that upgrades the CRDs from one chart and the controller from another, and does not soak."""
    from migrations_app.use_cases.journeys.drafts import JourneyRequest, draft_journey

    parameters = {"upgrade_crds": {"source": crds}, "upgrade_controller": {"source": chart}}
    wanted = JourneyRequest(parameters=parameters, soak_seconds=1)
    ada = journeys._person("ada"), journeys._actor("ada")
    return str(draft_journey(uuid.UUID(cluster), wanted, person=ada[0], by=ada[1]))


WORDS = {**journeys.WORDS, "configure": configure, "plan_by_helm": plan_by_helm}

if __name__ == "__main__":
    worker_process.serve(WORDS)
