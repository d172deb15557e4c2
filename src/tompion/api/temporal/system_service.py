"""The system calls: capabilities, namespaces, search attributes and health."""

from __future__ import annotations

from temporalio.api.enums.v1 import IndexedValueType, NamespaceState
from temporalio.api.operatorservice.v1 import (
    AddSearchAttributesRequest,
    AddSearchAttributesResponse,
    ListSearchAttributesRequest,
    ListSearchAttributesResponse,
)
from temporalio.api.workflowservice.v1 import (
    DescribeNamespaceRequest,
    DescribeNamespaceResponse,
    GetSystemInfoRequest,
    GetSystemInfoResponse,
)
from temporalio.bridge.proto.health.v1 import HealthCheckRequest, HealthCheckResponse

from tompion.api.temporal import schedule_service
from tompion.api.temporal.dispatcher import CallContext, Method, bind
from tompion.api.temporal.errors import Code, GrpcError
from tompion.contract.roles import Role
from tompion.errors import InvalidField, StoreError
from tompion.model.search_attribute import AttributeType
from tompion.operations.resources.search_attributes import add_search_attributes, search_attribute_types

WORKFLOW_SERVICE = "temporal.api.workflowservice.v1.WorkflowService"
OPERATOR_SERVICE = "temporal.api.operatorservice.v1.OperatorService"
HEALTH_SERVICE = "grpc.health.v1.Health"
CLUSTER = "tompion"
SERVICES = ("", WORKFLOW_SERVICE, OPERATOR_SERVICE)
_V = IndexedValueType
TYPES = {
    AttributeType.TEXT: _V.INDEXED_VALUE_TYPE_TEXT,
    AttributeType.KEYWORD: _V.INDEXED_VALUE_TYPE_KEYWORD,
    AttributeType.INT: _V.INDEXED_VALUE_TYPE_INT,
    AttributeType.DOUBLE: _V.INDEXED_VALUE_TYPE_DOUBLE,
    AttributeType.BOOL: _V.INDEXED_VALUE_TYPE_BOOL,
    AttributeType.DATETIME: _V.INDEXED_VALUE_TYPE_DATETIME,
    AttributeType.KEYWORD_LIST: _V.INDEXED_VALUE_TYPE_KEYWORD_LIST,
}
SYSTEM_ATTRIBUTES = {"ScheduleId": AttributeType.KEYWORD, "TemporalSchedulePaused": AttributeType.BOOL}


async def get_system_info(context: CallContext, _request: GetSystemInfoRequest) -> GetSystemInfoResponse:
    """Return the capabilities of the server."""
    response = GetSystemInfoResponse(server_version=context.deps.version)
    response.capabilities.supports_schedules = True
    response.capabilities.internal_error_differentiation = True
    response.capabilities.sdk_metadata = True
    return response


async def describe_namespace(context: CallContext, _request: DescribeNamespaceRequest) -> DescribeNamespaceResponse:
    """Describe a namespace."""
    response = DescribeNamespaceResponse()
    response.namespace_info.name = context.namespace
    response.namespace_info.id = context.namespace_id
    response.namespace_info.state = NamespaceState.NAMESPACE_STATE_REGISTERED
    response.config.workflow_execution_retention_ttl.FromMilliseconds(context.deps.runner.settings.retention_ms)
    response.replication_config.active_cluster_name = CLUSTER
    response.replication_config.clusters.add(cluster_name=CLUSTER)
    return response


async def list_search_attributes(
    context: CallContext, _request: ListSearchAttributesRequest
) -> ListSearchAttributesResponse:
    """List the registered search attributes."""
    registered = await context.run(search_attribute_types)
    response = ListSearchAttributesResponse()
    response.custom_attributes.update({name: TYPES[AttributeType(kind)] for name, kind in registered.items()})
    response.system_attributes.update({name: TYPES[kind] for name, kind in SYSTEM_ATTRIBUTES.items()})
    return response


async def register_search_attributes(
    context: CallContext, request: AddSearchAttributesRequest
) -> AddSearchAttributesResponse:
    """Register search attributes."""
    names = {number: kind for kind, number in TYPES.items()}
    types = {}
    for name, number in request.search_attributes.items():
        if number not in names:
            raise InvalidField(f"search_attributes.{name}", f"{number} is not a type")
        if name in SYSTEM_ATTRIBUTES:
            raise InvalidField(f"search_attributes.{name}", "reserved name of a system attribute")
        types[name] = names[number]
    await context.run(bind(add_search_attributes, types), writes=True)
    return AddSearchAttributesResponse()


async def check_health(context: CallContext, request: HealthCheckRequest) -> HealthCheckResponse:
    """Return whether a service exists and its store answers."""
    if request.service not in SERVICES:
        raise GrpcError(Code.NOT_FOUND, f"unknown service {request.service}")
    try:
        await context.run(lambda operation: operation.now_ms)
    except StoreError:
        return HealthCheckResponse(status=HealthCheckResponse.ServingStatus.NOT_SERVING)
    return HealthCheckResponse(status=HealthCheckResponse.ServingStatus.SERVING)


METHODS: dict[str, Method] = {
    **{f"/{WORKFLOW_SERVICE}/{name}": method for name, method in schedule_service.METHODS.items()},
    f"/{WORKFLOW_SERVICE}/GetSystemInfo": Method(GetSystemInfoRequest, Role.READER, get_system_info),
    f"/{WORKFLOW_SERVICE}/DescribeNamespace": Method(DescribeNamespaceRequest, Role.READER, describe_namespace),
    f"/{OPERATOR_SERVICE}/ListSearchAttributes": Method(
        ListSearchAttributesRequest, Role.READER, list_search_attributes
    ),
    f"/{OPERATOR_SERVICE}/AddSearchAttributes": Method(
        AddSearchAttributesRequest, Role.EDITOR, register_search_attributes, writes=True
    ),
    f"/{HEALTH_SERVICE}/Check": Method(HealthCheckRequest, Role.PUBLIC, check_health),
}
"""The methods of the server by their full names."""
