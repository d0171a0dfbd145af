"""All planted faults."""

from tests.acceptance import upstream
from tests.acceptance.planting import Fault


def _faults() -> tuple[Fault, ...]:
    if upstream.MISSING:
        return ()
    # Some faults name objects of the clean clusters, which cannot be made without the CRDs.
    from tests.acceptance.faults_alpha import ALPHA_FAULTS
    from tests.acceptance.faults_beta import BETA_FAULTS
    from tests.acceptance.faults_controller import CONTROLLER_FAULTS
    from tests.acceptance.faults_crds import CRD_FAULTS
    from tests.acceptance.faults_settings import HELM_FAULTS
    from tests.acceptance.faults_shapes import SHAPE_FAULTS
    from tests.acceptance.faults_v1 import V1_FAULTS
    from tests.acceptance.faults_work import WORK_FAULTS

    of_objects = (*ALPHA_FAULTS, *BETA_FAULTS, *V1_FAULTS)
    return (*CRD_FAULTS, *HELM_FAULTS, *CONTROLLER_FAULTS, *of_objects, *WORK_FAULTS, *SHAPE_FAULTS)


FAULTS = _faults()
