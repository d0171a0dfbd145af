"""All planted faults."""

from tests.acceptance.faults_alpha import ALPHA_FAULTS
from tests.acceptance.faults_beta import BETA_FAULTS
from tests.acceptance.faults_controller import CONTROLLER_FAULTS
from tests.acceptance.faults_crds import CRD_FAULTS
from tests.acceptance.faults_settings import HELM_FAULTS
from tests.acceptance.faults_shapes import SHAPE_FAULTS
from tests.acceptance.faults_v1 import V1_FAULTS
from tests.acceptance.faults_work import WORK_FAULTS

FAULTS = (
    *CRD_FAULTS,
    *HELM_FAULTS,
    *CONTROLLER_FAULTS,
    *ALPHA_FAULTS,
    *BETA_FAULTS,
    *V1_FAULTS,
    *WORK_FAULTS,
    *SHAPE_FAULTS,
)
