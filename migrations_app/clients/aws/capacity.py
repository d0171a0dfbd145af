"""Reads the capacity that an account has left for new nodes: the protocol `CapacityApi`, and a boto3 client of it."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from migrations_app.clients.aws import capacity_answers as answers
from migrations_app.clients.aws import permissions as rights
from migrations_app.clients.aws.calls import AwsCalls
from migrations_app.clients.aws.capacity_answers import ListedQuota
from migrations_app.inventory.objects.capacity import CapacityReservation, InstanceOffering, TaggedSubnet, VcpuQuota

_PAGE = 1000
_QUOTAS_A_PAGE = 100
_TYPES_A_CALL = 100
"""EC2 takes at most 200 values in a filter."""
_MEASURED = timedelta(hours=1)
"""The highest age of a measurement; AWS publishes one every few minutes."""
_PERIOD_SECONDS = 300


class CapacityReads:
    """Implementation of CapacityApi over boto3. Thread-safe."""

    def __init__(self, calls: AwsCalls) -> None:
        self._calls = calls

    def subnets(self, vpc: str, *, keys: Collection[str]) -> tuple[TaggedSubnet, ...]:
        tagged_subnets = self._calls.pages(
            rights.DESCRIBE_SUBNETS,
            lambda page: [answers.tagged_subnet(subnet, keys) for subnet in page["Subnets"]],
            Filters=[{"Name": "vpc-id", "Values": [vpc]}],
            PaginationConfig={"PageSize": _PAGE},
        )
        return tuple(tagged_subnets)

    def vcpu_quotas(self) -> tuple[VcpuQuota, ...]:
        quotas = self._calls.pages(
            rights.LIST_QUOTAS,
            lambda page: [quota for document in page["Quotas"] if (quota := answers.listed_quota(document))],
            ServiceCode="ec2",
            PaginationConfig={"PageSize": _QUOTAS_A_PAGE},
        )
        unique_quotas = tuple({listed_quota.quota.code: listed_quota for listed_quota in quotas}.values())
        used = self._used([listed_quota for listed_quota in unique_quotas if listed_quota.dimensions])
        return tuple(
            replace(listed_quota.quota, **used.get(listed_quota.quota.code, {})) for listed_quota in unique_quotas
        )

    def _used(self, measured: list[ListedQuota]) -> dict[str, dict[str, Any]]:
        """The newest measurement by quota code; codes without a measurement are left out."""
        if not measured:
            return {}
        codes = {f"q{number}": listed_quota.quota.code for number, listed_quota in enumerate(measured)}
        ends = datetime.now(UTC)
        results = self._calls.pages(
            rights.GET_USAGE,
            lambda page: [
                row
                for metric_data_result in page["MetricDataResults"]
                if (row := answers.measurement(metric_data_result))
            ],
            MetricDataQueries=[_query(name, listed_quota) for name, listed_quota in zip(codes, measured, strict=True)],
            StartTime=ends - _MEASURED,
            EndTime=ends,
            ScanBy="TimestampDescending",
        )
        newest: dict[str, dict[str, Any]] = {}
        for name, used, at in results:
            if name in codes:
                newest.setdefault(codes[name], {"used": used, "measured_at": at})
        return newest

    def capacity_reservations(self) -> tuple[CapacityReservation, ...]:
        reservations = self._calls.pages(
            rights.DESCRIBE_RESERVATIONS,
            lambda page: [
                answers.reservation(capacity_reservation) for capacity_reservation in page["CapacityReservations"]
            ],
            Filters=[{"Name": "state", "Values": ["active"]}],
            PaginationConfig={"PageSize": _PAGE},
        )
        return tuple(reservations)

    def offerings(self, instance_types: Iterable[str]) -> tuple[InstanceOffering, ...]:
        names = sorted(set(instance_types))
        chunks = [names[start : start + _TYPES_A_CALL] for start in range(0, len(names), _TYPES_A_CALL)]
        return tuple(offering for chunk in chunks for offering in self._offered(chunk))

    def _offered(self, names: list[str]) -> Iterable[InstanceOffering]:
        return self._calls.pages(
            rights.DESCRIBE_OFFERINGS,
            lambda page: [
                answers.offering(instance_type_offering) for instance_type_offering in page["InstanceTypeOfferings"]
            ],
            LocationType="availability-zone",
            Filters=[{"Name": "instance-type", "Values": names}],
            PaginationConfig={"PageSize": _PAGE},
        )


def _query(name: str, listed_quota: ListedQuota) -> dict[str, Any]:
    dimensions = [{"Name": key, "Value": value} for key, value in listed_quota.dimensions]
    metric = {"Namespace": answers.USAGE, "MetricName": answers.COUNT, "Dimensions": dimensions}
    return {"Id": name, "MetricStat": {"Metric": metric, "Period": _PERIOD_SECONDS, "Stat": "Maximum"}}


class CapacityApi(Protocol):
    """Reads of what limits new nodes. Every failure is an errors.ReadError."""

    def subnets(self, vpc: str, *, keys: Collection[str]) -> tuple[TaggedSubnet, ...]:
        """The subnets of a VPC, with those of their tags that have one of these keys."""

    def vcpu_quotas(self) -> tuple[VcpuQuota, ...]:
        """The vCPU quotas of the region that the tables know, with their usage."""

    def capacity_reservations(self) -> tuple[CapacityReservation, ...]:
        """The active capacity reservations of the account, and those shared with it."""

    def offerings(self, instance_types: Iterable[str]) -> tuple[InstanceOffering, ...]:
        """The zones in which EC2 offers these instance types."""
