"""``tompion serve`` with TLS and authenticated callers: a real process and a real socket."""

from __future__ import annotations

import json
import os
import re
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import jwt
import pytest
import trustme

from tompion.client import Client
from tompion.runtime.clock import SystemClock

TOMPION = [sys.executable, "-m", "tompion"]
SECRET = "a secret that is long enough for HS256, and then some"  # noqa: S105 - of a service that lives for a test
FILE = """
port = 0
engine = false
auth = "required"
tls_cert = "cert.pem"
tls_key = "key.pem"
tls_client_ca = "ca.pem"
tls_client = "optional"

[[issuer]]
iss = "deploy"
audience = "tompion"
algorithms = ["HS256"]
secret_env = "DEPLOY_SECRET"

[[certificate]]
dns = "robot.example.org"
roles = { default = "editor" }
"""


class Home:
    """A directory with a file, certificates, and the service that runs there."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.url = directory, ""
        self.environment = {**os.environ, "DEPLOY_SECRET": SECRET}
        self.ca = trustme.CA()
        here = self.ca.issue_cert("127.0.0.1")
        self.ca.cert_pem.write_to_path(directory / "ca.pem")
        here.cert_chain_pems[0].write_to_path(directory / "cert.pem")
        here.private_key_pem.write_to_path(directory / "key.pem")
        (directory / "tompion.toml").write_text(FILE)

    def context(self, output: trustme.LeafCert | None = None) -> ssl.SSLContext:
        context = ssl.create_default_context()
        self.ca.configure_trust(context)
        if output is not None:
            output.configure_cert(context)
        return context

    def status(self, token: str | None = None, output: trustme.LeafCert | None = None) -> int:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        request = Request(f"{self.url}/api/v1/schedules", headers=headers)
        try:
            with urlopen(request, timeout=120, context=self.context(output)) as answer:
                return int(answer.status)
        except HTTPError as error:
            error.close()
            return error.code


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    created = Home(tmp_path_factory.mktemp("secure"))
    command = [*TOMPION, "serve"]
    with subprocess.Popen(
        command, cwd=created.directory, stdout=subprocess.PIPE, text=True, env=created.environment
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            result = re.search(r"https://127\.0\.0\.1:\d+", line)
            assert result, line
            created.url = result.group()
            yield created
            process.terminate()
            assert process.wait(timeout=120) == 0
        finally:
            process.kill()


def test_requests_without_credentials_are_rejected(home: Home) -> None:
    assert home.status() == 401


def test_api_keys_tokens_and_certificates_are_accepted(home: Home) -> None:
    command = [*TOMPION, "keys", "create", "ci", "--role", "reader"]
    created = subprocess.run(
        command, cwd=home.directory, env=home.environment, capture_output=True, text=True, check=True
    )
    now = int(SystemClock().now())
    claims = {"iss": "deploy", "aud": "tompion", "sub": "ci", "iat": now, "exp": now + 60}
    token = jwt.encode({**claims, "tompion": {"default": "reader"}}, SECRET, "HS256")
    assert home.status(created.stdout.split()[0]) == 200
    assert home.status(token) == 200
    assert home.status(token[:-4]) == 401
    assert home.status(output=home.ca.issue_cert("robot.example.org")) == 200
    assert home.status(output=home.ca.issue_cert("unmapped.example.org")) == 401
    with Client(home.url, tls=home.context(home.ca.issue_cert("robot.example.org"))) as client:
        assert client.put("report", cron="@daily", function="a:b").schedule_id == "report"


def test_the_configuration_lists_issuers_and_certificates(home: Home) -> None:
    command = [*TOMPION, "config", "-o", "json"]
    left = subprocess.run(command, cwd=home.directory, env=home.environment, capture_output=True, text=True, check=True)
    output = json.loads(left.stdout)
    assert (output["issuers"], output["certificates"]) == (["deploy"], ["robot.example.org"])
    assert SECRET not in left.stdout


def test_a_wrong_block_is_a_one_line_error_with_file_and_field(home: Home) -> None:
    environment = {name: value for name, value in home.environment.items() if name != "DEPLOY_SECRET"}
    command = [*TOMPION, "serve"]
    left = subprocess.run(
        command, cwd=home.directory, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    wrong = "tompion.toml: [[issuer]] number 1: secret_env: the environment variable DEPLOY_SECRET is not set"
    assert (left.returncode, left.stdout, left.stderr) == (2, "", f"tompion: {wrong}\n")
