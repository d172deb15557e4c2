"""Serving the web UI: the Accept header decides between the web UI and the API."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.service import Http, Response, Served, runner_of
from tompion.store.sqlite.driver import SqliteStore
from tompion.web import app

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
PAGE = '<!doctype html><meta property="csp-nonce" nonce="__TOMPION_NONCE__"><title>Tompion</title>'
SCRIPT = "console.log('a page')\n" * 100


@pytest.fixture
def built(tmp_path: Path) -> Path:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text(PAGE)
    (tmp_path / "api-docs.html").write_text(PAGE)
    (tmp_path / "assets" / "index-1a2b.js").write_text(SCRIPT)
    (tmp_path / "secret.txt").write_text("not public")
    return tmp_path


def mounted(monkeypatch: pytest.MonkeyPatch, built: Path) -> Iterator[Http]:
    """A service with a web UI build of the test's choice."""
    monkeypatch.setattr(app, "BUILT", built)
    store = SqliteStore()
    served = Served(runner_of(store))
    http = Http(served.url)
    yield http
    http.close()
    served.close()
    store.close()


@pytest.fixture
def http(monkeypatch: pytest.MonkeyPatch, built: Path) -> Iterator[Http]:
    yield from mounted(monkeypatch, built)


def is_page(answer: Response) -> bool:
    return answer.status == 200 and b"<title>Tompion</title>" in answer.body


@pytest.mark.parametrize("path", ["/", "/schedules", "/schedules/report", "/schedules/a%2Fb/runs", "/runs/1-2-3", "/x"])
def test_every_path_serves_the_web_ui_to_browsers(http: Http, path: str) -> None:
    answer = http("GET", path, Accept=BROWSER)
    assert is_page(answer)
    assert answer.headers["cache-control"] == "no-store"


def test_the_same_paths_serve_the_api_to_programs(http: Http) -> None:
    http("PUT", "/api/v1/schedules/report", {"cron": "@daily", "function": "a:b"})
    for accepted in ("application/json", "*/*"):
        answer = http("GET", "/schedules/report", Accept=accepted)
        assert answer.json["schedule_id"] == "report"
    assert is_page(http("GET", "/schedules/report", Accept=BROWSER))
    assert http("DELETE", "/schedules/report", Accept=BROWSER).status == 204


@pytest.mark.parametrize("path", ["/healthz", "/api/v1/schedules", "/api/cron", "/metrics"])
def test_api_paths_never_serve_the_web_ui(http: Http, path: str) -> None:
    assert not is_page(http("GET", path, Accept=BROWSER))


def test_the_content_security_policy_allows_only_own_scripts(http: Http) -> None:
    answers = [http("GET", "/", Accept=BROWSER) for _ in range(2)]
    policies = [answer.headers["content-security-policy"] for answer in answers]
    assert "script-src 'self';" in policies[0]
    assert "unsafe" not in policies[0]
    nonces = [re.search(r"'nonce-([\w-]{20,})'", policy) for policy in policies]
    assert nonces[0]
    assert nonces[1]
    assert nonces[0][1] != nonces[1][1], "each answer has its own"
    assert f'nonce="{nonces[0][1]}"' in answers[0].body.decode()
    assert answers[0].headers["x-frame-options"] == "DENY"


def test_the_api_documentation_has_a_strict_policy(http: Http) -> None:
    answer = http("GET", "/docs/api", Accept="*/*")
    policy = answer.headers["content-security-policy"]
    assert answer.status == 200
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert policy.endswith("require-trusted-types-for 'script'; trusted-types default dompurify")


def test_assets_are_immutable_and_compressed(http: Http) -> None:
    answer = http("GET", "/assets/index-1a2b.js", Accept_Encoding="gzip, br")
    assert gzip.decompress(answer.body).decode() == SCRIPT
    assert answer.headers["content-encoding"] == "gzip"
    assert "immutable" in answer.headers["cache-control"]
    assert "javascript" in answer.headers["content-type"]
    assert http("GET", "/assets/index-1a2b.js").body.decode() == SCRIPT


@pytest.mark.parametrize("name", ["nothing.js", "../secret.txt", "..%2Fsecret.txt", "%2e%2e/secret.txt", ".hidden", ""])
def test_files_outside_the_build_are_not_served(http: Http, name: str) -> None:
    answer = http("GET", f"/assets/{name}", Accept=BROWSER)
    assert answer.status == 404
    assert b"not public" not in answer.body


def test_a_missing_web_ui_build_is_explained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for http in mounted(monkeypatch, tmp_path / "nothing"):
        answer = http("GET", "/", Accept=BROWSER)
        assert (answer.status, b"python hatch_build.py" in answer.body) == (503, True)
        assert http("GET", "/api/v1/schedules").status == 200


def test_the_web_ui_is_refused_for_an_unknown_host(http: Http) -> None:
    assert http("GET", "/", Accept=BROWSER, Host="evil.example").status == 400
