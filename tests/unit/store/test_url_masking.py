"""The password of a store is never printed, whatever is wrong with its URL."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest

from tompion.cli.main import main
from tompion.store.url_masking import mask_password, scrub_secrets

# Each has the canary, or a part of it, where a password stands or was meant to stand.
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
def test_no_command_prints_it(
    command: str,
    url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What the driver says about a URL that it cannot read is the URL."""
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
def test_no_traceback_shows_it(url: str) -> None:
    """An error that nobody catches is printed with the error that it comes from."""
    program = f"from tompion import SyncTompion\nwith SyncTompion({url!r}): pass"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "StoreError: PostgreSQL: " in done.stderr
    shown = [line for line in done.stderr.splitlines() if "SyncTompion(" not in line]  # the program itself
    assert not [word for word in WORDS if word in "\n".join(shown)]


@pytest.mark.parametrize(
    ("url", "text", "told"),
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
def test_an_error_says_as_much_as_it_may(url: str, text: str, told: str) -> None:
    assert scrub_secrets(text, url) == told.format(mask_password(url))


@pytest.mark.parametrize(
    ("url", "shown"),
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
def test_a_password_that_has_lost_its_host_is_masked(url: str, shown: str) -> None:
    assert mask_password(url) == shown
