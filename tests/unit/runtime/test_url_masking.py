"""The password of a store URL is never printed, even if the URL is invalid."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest

from tompion.cli.main import main
from tompion.runtime.url_masking import mask_password, scrub_secrets

# Each has the canary, or a part of it, in the place of a password.
URLS = [
    "postgresql://me:canary@[::1",
    "postgresql://me:can%zzary@localhost/jobs",
    "postgresql://me:%00canary@localhost/jobs",
    "postgresql://me:canary x@localhost/jobs",
    "postgresql://me:x@canary@localhost/jobs",
    "postgresql://me:x/canary@localhost/jobs",
    'postgresql://me:x"canary%zz@localhost/jobs',
    "postgresql://me:canary",
    "postgresql://localhost:1/jobs?user=me&password=canary%zz",
    "postgresql://localhost:1/jobs?user=me&password=canary&connect_timeout=x",
    "postgresql://me:canary@localhost:1/jobs",
    "postgresql://me:canary@localhost:port/jobs",
    "postgresql://me:canary\udcff@localhost:1/jobs",
    "postgres:me:canary@localhost/jobs",
    "mysql://me:canary@localhost/jobs",
]
WORDS = ("canary", "can%zz", "zzary")


@pytest.mark.parametrize("command", ["worker", "migrate up", "verify"])
@pytest.mark.parametrize("url", URLS)
def test_commands_do_not_print_the_password(
    command: str,
    url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The driver quotes an invalid URL in its error."""
    caplog.set_level(logging.DEBUG)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", ["tompion", *command.split(), "--store", url])
    with pytest.raises(SystemExit) as left:
        main()
    out, err = capsys.readouterr()
    assert left.value.code in (2, 6), "wrong, or not there"
    assert (out, err.count("\n")) == ("", 1)
    assert not [word for word in WORDS if word in err + caplog.text]


@pytest.mark.parametrize("url", URLS[:2])
def test_tracebacks_do_not_contain_the_password(url: str) -> None:
    """An uncaught error is printed with its cause."""
    program = f"from tompion import Tompion\nwith Tompion({url!r}): pass"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "StoreError: PostgreSQL: " in done.stderr
    lines = [line for line in done.stderr.splitlines() if "Tompion(" not in line]  # the program itself
    assert not [word for word in WORDS if word in "\n".join(lines)]


@pytest.mark.parametrize(
    ("url", "text", "expected"),
    [
        ("postgresql://me:hush@[::1", 'no "]" in URI: "postgresql://me:hush@[::1"', 'no "]" in URI: "{}"'),
        ("postgresql://me:hu%zz@h/d", 'invalid token: "hu%zz"', "invalid token: ***"),
        ("postgresql://me:hush@h/d?sslmod=x", 'invalid parameter: "sslmod"', 'invalid parameter: "sslmod"'),
        ("postgresql://me:x@hush@h/d", "failed to resolve host 'hush@h': no such name", "failed to resolve host ***"),
        ("postgresql://a%20b:hush@h/d", 'password failed for user "a b"', 'password failed for user "a b"'),
        ("postgresql://me:me@h/d", 'password failed for user "me"', 'password failed for user "me"'),
        ("postgresql://me:server@h/d", 'server at "10.0.0.1" is away', 'server at "10.0.0.1" is away'),
        ("postgresql://me:hu'sh@h/d", "no host 'sh@h'", "no host ***"),
        ("postgresql://me:%22hush@h/d", 'unexpected "hush', "unexpected ***"),
        ("postgresql://me:%22h@h/d", "the server is away", "the server is away"),
        ("postgresql://me:%22hush@h/d", 'unexpected ""hush" here', "unexpected ***"),
    ],
)
def test_error_keeps_text_without_secrets(url: str, text: str, expected: str) -> None:
    assert scrub_secrets(text, url) == expected.format(mask_password(url))


@pytest.mark.parametrize(
    ("url", "masked"),
    [
        ("postgresql://me:hush", "postgresql://me:***"),
        ("postgresql://me:12hush/jobs?a=b", "postgresql://me:***/jobs?a=b"),
        ("postgresql://one:5432,two:5433/jobs", "postgresql://one:5432,two:5433/jobs"),
        ("postgresql://host:5432", "postgresql://host:5432"),
        ("postgresql://host:/jobs", "postgresql://host:/jobs"),
        ("postgresql://[::1]:5432/jobs", "postgresql://[::1]:5432/jobs"),
        ("postgresql://me:hush@[::1]:5432/jobs", "postgresql://me:***@[::1]:5432/jobs"),
    ],
)
def test_password_without_a_host_is_masked(url: str, masked: str) -> None:
    assert mask_password(url) == masked
