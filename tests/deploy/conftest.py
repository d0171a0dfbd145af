"""What tests of the deployment share."""

import pytest

from tests.deploy.helm import Helm


@pytest.fixture(scope="session")
def helm(tmp_path_factory):
    return Helm(tmp_path_factory.mktemp("helm"))
