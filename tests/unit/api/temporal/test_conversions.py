"""Parts of the Temporal API without a store: reflection, certificates, namespaces and memos."""

from __future__ import annotations

import ssl
from typing import Any

import pytest
import trustme
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from temporalio.api.common.v1 import Memo, Payload

from tompion.api.auth.mtls import certificate_from_pem, identities
from tompion.api.temporal.convert.values import memo_message, memo_of
from tompion.api.temporal.dispatcher import read_namespaces
from tompion.api.temporal.reflection import message, reflect
from tompion.api.temporal.system_service import WORKFLOW_SERVICE
from tompion.errors import InvalidField


def reflect_request(**question: str) -> Any:
    request, response = message("ServerReflectionRequest"), message("ServerReflectionResponse")
    for name, value in question.items():
        setattr(request, name, value)
    response.ParseFromString(reflect(request.SerializeToString()))
    return response


def test_reflection_lists_the_services() -> None:
    names = [service.name for service in reflect_request(list_services="").list_services_response.service]
    assert WORKFLOW_SERVICE in names
    assert "grpc.reflection.v1.ServerReflection" in names


def test_reflection_returns_a_service_with_its_dependencies() -> None:
    answer = reflect_request(file_containing_symbol=WORKFLOW_SERVICE).file_descriptor_response.file_descriptor_proto
    files = [FileDescriptorProto.FromString(file) for file in answer]
    names = {file.name for file in files}
    assert all(dependency in names for file in files for dependency in file.dependency)
    assert any(service.name == "WorkflowService" for file in files for service in file.service)


def test_reflection_reports_unknown_symbols() -> None:
    assert reflect_request(file_by_filename="no.proto").error_response.error_code == 5
    assert reflect_request().error_response.error_code == 12
    response = message("ServerReflectionResponse")
    response.ParseFromString(reflect(b"\xff"))
    assert response.error_response.error_code == 3


def test_a_pem_certificate_is_described_as_by_python() -> None:
    issued = trustme.CA().issue_cert("client.example.org", common_name="A Client")
    certificate = certificate_from_pem(issued.cert_chain_pems[0].bytes())
    assert list(identities(certificate)) == [("dns", "client.example.org")]
    assert ssl.cert_time_to_seconds(certificate["notAfter"]) > 0
    nameless = certificate_from_pem(trustme.CA().issue_cert(common_name="A Client").cert_chain_pems[0].bytes())
    assert list(identities(nameless)) == [("cn", "A Client")]


def test_namespaces_have_ids() -> None:
    ids = read_namespaces(["default", "payments=1234"])
    assert ids["payments"] == "1234"
    assert ids["default"] == read_namespaces(["default"])["default"]
    for wrong in (["a", "a=1"], ["=1"], ["a/b"]):
        with pytest.raises(InvalidField, match="temporal_namespaces"):
            read_namespaces(wrong)


def test_a_memo_round_trips() -> None:
    memo = Memo()
    memo.fields["json"].CopyFrom(Payload(metadata={"encoding": b"json/plain"}, data=b'{"a":[1,null]}'))
    memo.fields["null"].CopyFrom(Payload(metadata={"encoding": b"binary/null"}))
    memo.fields["secret"].CopyFrom(Payload(metadata={"encoding": b"binary/encrypted", "k": b"\xff"}, data=b"\x00\xfe"))
    memo.fields["sly"].CopyFrom(Payload(metadata={"encoding": b"json/plain"}, data=b'{"$payload":"AA=="}'))
    memo.fields["broken"].CopyFrom(Payload(metadata={"encoding": b"json/plain"}, data=b"{"))
    read = memo_of(memo)
    assert read["json"] == {"a": [1, None]}
    assert memo_message(read) == memo
