"""Security options of a service: valid and invalid combinations."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat, PublicFormat

from tompion.api.auth.issuers import FIELDS
from tompion.api.auth.jwks import FITS
from tompion.api.auth.mtls import KINDS
from tompion.bootstrap.security import allowed_hosts, check_exposure
from tompion.config.loader import load
from tompion.config.schema import Config
from tompion.errors import InvalidField

SECRET = "VARIABLE_OF_AN_ISSUER"  # noqa: S105 - the name of one
ISSUER = """
auth = "required"
[[issuer]]
iss = "https://login.example"
"""
AUDIENCE = 'audience = "tompion"\n'
BY_SECRET = f'secret_env = "{SECRET}"\n'
WITH_SECRET = f'{ISSUER}{AUDIENCE}algorithms = ["HS256"]\n{BY_SECRET}'
CERTIFICATE = """
auth = "required"
tls_cert = "cert.pem"
tls_key = "key.pem"
tls_client_ca = "ca.pem"
[[certificate]]
"""


def public_pem(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create the files that the options below name: keys, key sets, certificates."""
    directory = tmp_path_factory.mktemp("files")
    (directory / "rsa.pem").write_bytes(public_pem(rsa.generate_private_key(65537, 2048)))
    (directory / "short.pem").write_bytes(public_pem(rsa.generate_private_key(65537, 1024)))  # noqa: S505 - too short on purpose
    (directory / "ec.pem").write_bytes(public_pem(ec.generate_private_key(ec.SECP384R1())))
    (directory / "damaged.pem").write_text("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n")
    (directory / "oct.json").write_text(json.dumps({"keys": [{"kty": "oct", "k": "c2VjcmV0", "kid": "1"}]}))
    (directory / "list.json").write_text("[]")
    (directory / "large.json").write_text(" " * 300_000)
    ca = trustme.CA()
    leaf = ca.issue_cert("localhost")
    ca.cert_pem.write_to_path(directory / "ca.pem")
    leaf.cert_chain_pems[0].write_to_path(directory / "cert.pem")
    leaf.private_key_pem.write_to_path(directory / "key.pem")
    locked = ec.generate_private_key(ec.SECP256R1())
    encryption = BestAvailableEncryption(b"word")
    (directory / "locked.pem").write_bytes(locked.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption))
    return directory


def message(files: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> Config:
    monkeypatch.chdir(files)
    monkeypatch.setenv(SECRET, "s" * 40)
    (files / "tompion.toml").write_text(text)
    return load({}, {}, "tompion.toml")


@pytest.mark.parametrize(
    "text",
    [
        "",
        WITH_SECRET,
        f'{WITH_SECRET}claim = ["a", "b"]\nleeway_s = 0\n[issuer.roles]\nops = {{ default = "admin" }}',
        f'{ISSUER}{AUDIENCE}algorithms = ["RS256", "PS512"]\npublic_key = "rsa.pem"\nkid = "1"',
        f'{ISSUER}{AUDIENCE}algorithms = "ES384"\npublic_key = "ec.pem"',
        f'{ISSUER}{AUDIENCE}algorithms = ["ES256"]\njwks_url = "https://login.example/keys"\nkeep_s = 600',
        f'{ISSUER}{AUDIENCE}algorithms = ["ES256"]\njwks_url = "http://[::1]:1/keys"',
        f'{CERTIFICATE}dns = "a.example"\nroles = {{ default = "reader" }}',
        'auth = "required"\nhosts = ["*.example.org", "fd00::1", "[fd00::2]", "*"]',
    ],
)
def test_valid_security_options_are_accepted(files: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check_exposure(message(files, text, monkeypatch))


INVALID_OPTIONS = {
    f"{ISSUER}{BY_SECRET}algorithms = ['HS256']": "[[issuer]] number 1: audience: required field is missing",
    f"auth = 'required'\n[[issuer]]\n{AUDIENCE}": "[[issuer]] number 1: iss: required field is missing",
    f"{ISSUER}audience = []\nalgorithms = ['HS256']": "[[issuer]] number 1: audience: empty list",
    f"{ISSUER}audience = ''": "[[issuer]] number 1: audience: ''",
    f"{ISSUER}audience = [1]": "[[issuer]] number 1: audience: 1",
    f"{ISSUER}{AUDIENCE}{BY_SECRET}": "[[issuer]] number 1: algorithms: required field is missing",
    f"{ISSUER}{AUDIENCE}{BY_SECRET}algorithms = ['none']": "[[issuer]] number 1: algorithms: 'none'; expected",
    f"{ISSUER}{AUDIENCE}{BY_SECRET}algorithms = ['ES256K']": "[[issuer]] number 1: algorithms: 'ES256K'",
    f"{ISSUER}{AUDIENCE}algorithms = ['RS256']": "[[issuer]] number 1: secret_env: expected exactly one of",
    f"{WITH_SECRET}jwks = 'a'": "[[issuer]] number 1: jwks: expected exactly one of secret_env, public_key, jwks,",
    f"{WITH_SECRET}secret = 'x'": "[[issuer]] number 1: secret: unknown field; expected one of iss, audience",
    f"{WITH_SECRET}leeway_s = 301": "[[issuer]] number 1: leeway_s: 301; expected a whole number of seconds from 0",
    f"{WITH_SECRET}leeway_s = true": "[[issuer]] number 1: leeway_s: True",
    f"{WITH_SECRET}max_lifetime_s = 0": "[[issuer]] number 1: max_lifetime_s: 0",
    f"{WITH_SECRET}refresh_s = 60": "[[issuer]] number 1: refresh_s: only for jwks_url",
    f"{WITH_SECRET}claim = []": "[[issuer]] number 1: claim: empty list",
    f'{WITH_SECRET}namespaces = "a\\nb"': "[[issuer]] number 1: namespaces",
    f"{WITH_SECRET}roles = 'admin'": "[[issuer]] number 1: roles: 'admin'; expected a table",
    f"{WITH_SECRET}[issuer.roles]\nops = 'admin'": "[[issuer]] number 1: roles.ops: 'admin'; expected a table",
    f"{WITH_SECRET}[issuer.roles]\nops = {{ a = 'owner' }}": "roles are reader, operator, editor, admin",
    f"{WITH_SECRET}[[issuer]]\niss = 'https://login.example'\n{AUDIENCE}{BY_SECRET}algorithms = 'HS256'": (
        "[[issuer]] number 2: iss: 'https://login.example' is used twice"
    ),
    f"{ISSUER}{AUDIENCE}algorithms = 'HS256'\nsecret_env = 'NOT_SET'": (
        "secret_env: the environment variable NOT_SET is not set"
    ),
    f"{ISSUER}{AUDIENCE}{BY_SECRET}algorithms = 'HS512'": (
        "secret_env: the secret has 40 bytes; HS512 needs at least 64"
    ),
    f"{ISSUER}{AUDIENCE}{BY_SECRET}algorithms = 'RS256'": "secret_env: a secret is for HS256, HS384 and HS512 only",
    f"{ISSUER}{AUDIENCE}algorithms = 'HS256'\npublic_key = 'rsa.pem'": "algorithms: HS256, HS384 and HS512 need",
    f"{ISSUER}{AUDIENCE}algorithms = 'ES256'\npublic_key = 'rsa.pem'": "public_key: ES256 cannot be used with a key of",
    f"{ISSUER}{AUDIENCE}algorithms = 'ES256'\npublic_key = 'ec.pem'": "of the kind EC P-384",
    f"{ISSUER}{AUDIENCE}algorithms = 'RS256'\npublic_key = 'short.pem'": "public_key: an RSA key of 1024 bits",
    f"{ISSUER}{AUDIENCE}algorithms = 'RS256'\npublic_key = 'damaged.pem'": "public_key: no public key in PEM",
    f"{ISSUER}{AUDIENCE}algorithms = 'RS256'\npublic_key = 'key.pem'": "public_key: no public key in PEM",
    f"{ISSUER}{AUDIENCE}algorithms = 'RS256'\npublic_key = 'nowhere.pem'": "public_key: nowhere.pem: No such file",
    f"{ISSUER}{AUDIENCE}algorithms = 'RS256'\njwks = 'rsa.pem'": "jwks: not JSON",
    f"{ISSUER}{AUDIENCE}algorithms = 'RS256'\njwks = 'list.json'": "jwks: not a JWK set",
    f"{ISSUER}{AUDIENCE}algorithms = 'RS256'\njwks = 'oct.json'": "jwks: no key fits RS256",
    f"{ISSUER}{AUDIENCE}algorithms = 'HS256'\njwks = 'oct.json'": "algorithms: HS256, HS384 and HS512 need",
    f"{ISSUER}{AUDIENCE}algorithms = 'RS256'\njwks = 'large.json'": "jwks: large.json: more than 262144 bytes",
    f"{ISSUER}{AUDIENCE}algorithms = 'RS256'\njwks = 'oct.json'\nkid = '1'": "kid: not for a JWK set",
    f"{ISSUER}{AUDIENCE}algorithms = 'RS256'\njwks_url = 'http://login.example/keys'": "jwks_url: expected https",
    f"{ISSUER}{AUDIENCE}algorithms = 'RS256'\njwks_url = 'file:///etc/passwd'": "jwks_url: expected a URL such as",
    f"{ISSUER}{AUDIENCE}algorithms = 'RS256'\njwks_url = 'https://a:b@c.example/'": "jwks_url: a URL with a user name",
    f"{ISSUER}{AUDIENCE}algorithms = 'RS256'\njwks_url = 'https://[bad'": "jwks_url: not a URL",
    f"{ISSUER}{AUDIENCE}algorithms = 'RS256'\njwks_url = 'https://a.example/'\nkeep_s = 60": "keep_s: 60 is less than",
    f"{CERTIFICATE}roles = {{ default = 'reader' }}": "[[certificate]] number 1: uri: expected exactly one of",
    f"{CERTIFICATE}cn = 'a'\nuri = 'u:1'\nroles = {{ default = 'reader' }}": "[[certificate]] number 1: cn: expected",
    f"{CERTIFICATE}cn = 'a'": "[[certificate]] number 1: roles: required field is missing",
    f"{CERTIFICATE}cn = 'a'\nroles = {{ default = 'owner' }}": "[[certificate]] number 1: roles: {'default': 'owner'}",
    f"{CERTIFICATE}dns = 'A.x'\nroles = {{ a = 'reader' }}\n[[certificate]]\ndns = 'a.x'\nroles = {{ a = 'reader' }}": (
        "[[certificate]] number 2: dns: 'a.x' is used twice"
    ),
    WITH_SECRET.replace("required", "open"): "auth: [[issuer]] is set, but no credentials are checked",
    CERTIFICATE.replace("required", "open"): "auth: [[certificate]] is set, but no credentials are checked",
    "tls_client_ca = 'ca.pem'": "auth: tls_client_ca is set, but no credentials are checked",
    "auth = 'required'\ntls_client_ca = 'ca.pem'": "tls_client_ca: client certificates need TLS",
    "auth = 'required'\n[[certificate]]\ncn = 'a'": "tls_client_ca: [[certificate]] is set, but no authority",
    "tls_cert = 'cert.pem'": "tls_cert: tls_cert and tls_key must be set together",
    "tls_cert = 'nowhere.pem'\ntls_key = 'key.pem'": "tls_cert: nowhere.pem and key.pem cannot be used: No such file",
    "tls_cert = 'ca.pem'\ntls_key = 'key.pem'": "cannot be used: key values mismatch",
    "tls_cert = 'cert.pem'\ntls_key = 'locked.pem'": "tls_cert: cert.pem and locked.pem cannot be used",
    "tls_cert = 'list.json'\ntls_key = 'key.pem'": "tls_cert: list.json and key.pem cannot be used",
    CERTIFICATE.replace("ca.pem", "list.json"): "tls_client_ca: list.json cannot be used",
    "tls_client = 'perhaps'": "tls_client: 'perhaps'; expected required or optional",
    "host = '0.0.0.0'": "host: 0.0.0.0: only a loopback address",
    "hosts = ['ex*mple.org']": "hosts: 'ex*mple.org': use * alone",
    "hosts = ['example.org:8640']": "hosts: 'example.org:8640': expected a name or an address, without a port",
    "hosts = ['https://example.org']": "hosts: 'https://example.org': expected a name",
    "public_url = 'http://[bad'": "public_url: 'http://[bad' is not a URL",
    "issuer = 1": "tompion.toml: issuer: expected blocks, [[issuer]]",
    "certificate = { cn = 'a' }": "tompion.toml: certificate: expected blocks, [[certificate]]",
}


@pytest.mark.parametrize("text", INVALID_OPTIONS)
def test_a_wrong_security_option_is_rejected_with_its_name(
    files: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InvalidField) as caught:
        check_exposure(message(files, text, monkeypatch))
    assert INVALID_OPTIONS[text] in str(caught.value)
    assert "\n" not in str(caught.value)
    if "[[" in str(caught.value.field):
        assert str(caught.value).startswith("tompion.toml: ")


def test_a_secret_is_never_in_a_message(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = message(files, WITH_SECRET.replace("HS256", "HS512"), monkeypatch)
    monkeypatch.setenv(SECRET, "not-to-print")
    with pytest.raises(InvalidField) as caught:
        check_exposure(result)
    assert "not-to-print" not in str(caught.value)


DOCS = Path(__file__).parents[3] / "docs"


def test_every_field_of_a_block_is_documented() -> None:
    text = (DOCS / "reference" / "settings.md").read_text(encoding="utf-8")
    issuers, certificates = text[text.index("## Issuers") :].split("## Certificates")
    assert re.findall(r"^\| `(\w+)` \|", issuers, re.MULTILINE) == list(FIELDS)
    assert [field for field in (*KINDS, "roles") if f"`{field}`" not in certificates] == []
    assert [name for name in FITS if f"`{name}`" not in issuers] == []


def test_the_files_of_the_how_to_are_valid(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (DOCS / "how-to" / "secure-a-service.md").read_text(encoding="utf-8")
    output = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    assert len(output) == 5
    monkeypatch.setenv("DEPLOY_TOKEN_SECRET", "s" * 40)
    for block in output:
        begun = block if block.startswith(("host", "auth")) else f'auth = "required"\n{block}'
        here = begun.replace("/etc/tompion/", "").replace("clients.pem", "ca.pem")
        check_exposure(message(files, here, monkeypatch))


def test_allowed_hosts_of_a_service() -> None:
    result = allowed_hosts(
        load({}, {"host": "fd00::1", "public_url": "https://cron.example/x", "hosts": ["a", "[fd00::2]"]})
    )
    assert result == ("127.0.0.1", "localhost", "[::1]", "[fd00::1]", "cron.example", "a", "[fd00::2]")


@pytest.mark.parametrize("address", ["127.0.0.1:7233", "[::1]:7233", "localhost:0", ""])
def test_an_open_service_serves_temporal_on_loopback(address: str) -> None:
    check_exposure(load({}, {"temporal_address": address}))


def test_an_open_service_serves_temporal_only_on_loopback() -> None:
    with pytest.raises(InvalidField, match="temporal_address"):
        check_exposure(load({}, {"temporal_address": "0.0.0.0:7233"}))
    check_exposure(load({}, {"temporal_address": "0.0.0.0:7233", "auth": "required"}))


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("auth", ["open", "required"])
@pytest.mark.parametrize(
    ("host", "is_here"),
    [
        ("127.0.0.1", True), ("127.8.9.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False),  # noqa: S104 - must be rejected
        ("192.0.2.1", False), ("10.0.0.1", False), ("fd00::1", False), ("localhost.example.org", False), ("", False),
    ],
)  # fmt: skip
def test_exposure_rules(files: Path, host: str, is_here: bool, auth: str, tls: bool) -> None:
    """A service that other machines can reach needs authentication. TLS alone is not enough."""
    paths = {"tls_cert": str(files / "cert.pem"), "tls_key": str(files / "key.pem")} if tls else {}
    wanted = load({}, {"host": host, "auth": auth, **paths})
    if is_here or auth == "required":
        check_exposure(wanted)
    else:
        with pytest.raises(InvalidField, match="host"):
            check_exposure(wanted)
