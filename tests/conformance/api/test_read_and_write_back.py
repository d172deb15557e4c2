"""A schedule that is read and written back unchanged stays as it is, through every interface and on every store."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # it has no annotations

from tests.support.command_line import CommandLine, run
from tests.support.schedule_documents import CALENDAR, DATES, DOCUMENTS, WORKFLOW, WORKFLOW_ID, Document
from tests.support.service import Http, runner_of, serve_runner
from tompion import Tompion, schedule_document
from tompion.client import Client
from tompion.config.loader import load_config
from tompion.config.settings import Settings
from tompion.contract.stubs import schedule_stubs
from tompion.contract.sync_methods import SyncMethods
from tompion.model.insight import DeclareResult
from tompion.model.policy import CatchUp, Overlap
from tompion.store.base import Store
from tompion.testing.clock import ManualClock

V1 = "/api/v1"
ONE = f"{V1}/schedules/report"
HOURLY: Document = {"cron": "0 * * * *", "function": "tasks:report"}


class Interface(ABC):
    """An interface through which schedules are written and read as documents."""

    @abstractmethod
    def put(self, schedule_id: str, document: Document) -> Document:
        """Create or replace a schedule, and return the answer."""

    @abstractmethod
    def get(self, schedule_id: str) -> Document:
        """Return a schedule."""

    @abstractmethod
    def changes(self, schedule_id: str) -> tuple[int, int]:
        """Return the number of audit entries and of versions of a schedule."""


class Rest(Interface):
    """Plain requests, with a method that writes a schedule."""

    def __init__(self, http: Http, method: str = "PUT", *, conditional: bool = False) -> None:
        self._http = http
        self._method = method
        self._conditional = conditional

    def put(self, schedule_id: str, document: Document) -> Document:
        exists = "conflict_token" in document
        headers = {}
        if exists and self._conditional:
            headers["If_Match"] = self._http("GET", f"{V1}/schedules/{schedule_id}").headers["etag"]
        if exists and self._method == "PATCH":
            headers["Content_Type"] = "application/merge-patch+json"
        method = self._method if exists else "PUT"
        answer = self._http(method, f"{V1}/schedules/{schedule_id}", document, **headers)
        assert answer.status == (200 if exists else 201), answer.body
        written: Document = answer.json
        return written

    def get(self, schedule_id: str) -> Document:
        document: Document = self._http("GET", f"{V1}/schedules/{schedule_id}").json
        return document

    def changes(self, schedule_id: str) -> tuple[int, int]:
        history, versions = (self._http("GET", f"{V1}/schedules/{schedule_id}/{it}") for it in ("history", "versions"))
        return len(history.json["items"]), len(versions.json)


class Python(Interface):
    """A client or an app."""

    def __init__(self, api: SyncMethods) -> None:
        self._api = api

    def put(self, schedule_id: str, document: Document) -> Document:
        return schedule_document(self._api.schedules.put(**{**document, "schedule_id": schedule_id}))

    def get(self, schedule_id: str) -> Document:
        return schedule_document(self._api.schedules.get(schedule_id))

    def changes(self, schedule_id: str) -> tuple[int, int]:
        return len(self._api.schedules.history(schedule_id).items), len(self._api.schedules.versions(schedule_id))


class Commands(Interface):
    """Commands that print a document and read it from a file."""

    def __init__(self, where: tuple[str, ...], home: Path, output: str) -> None:
        self._where = where
        self._file = home / f"report.{output}"
        self._output = output

    def put(self, schedule_id: str, document: Document) -> Document:
        if "conflict_token" in document:
            self._file.write_text(self._print("schedules", "get", schedule_id), encoding="utf-8")
        else:
            self._file.write_text(json.dumps(document), encoding="utf-8")  # which is YAML, too
        written: Document = self._read("schedules", "put", schedule_id, "-f", str(self._file))
        return written

    def get(self, schedule_id: str) -> Document:
        document: Document = self._read("schedules", "get", schedule_id)
        return document

    def changes(self, schedule_id: str) -> tuple[int, int]:
        return 0, 0  # the other interfaces show that an unchanged token has no new entry

    def _read(self, *words: str) -> Any:
        text = self._print(*words)
        return json.loads(text) if self._output == "json" else yaml.safe_load(text)

    def _print(self, *words: str) -> str:
        result = run([*words, *self._where, "-o", self._output])
        assert (result.code, result.err) == (0, ""), words
        return result.out


def test_writing_back_what_was_read_changes_nothing(interface: SyncMethods, tmp_path: Path) -> None:
    if isinstance(interface, CommandLine):
        check_corpus(Commands(interface._where, tmp_path, "json"), interface)
    else:
        check_corpus(Python(interface), interface)


def test_writing_back_yaml_changes_nothing(url: str, tmp_path: Path) -> None:
    check_corpus(Commands(("--url", url), tmp_path, "yaml"), CommandLine("--url", url))


@pytest.mark.parametrize("method", ["PUT", "PATCH", "PUT with If-Match"])
def test_writing_back_what_rest_has_answered_changes_nothing(http: Http, url: str, method: str) -> None:
    with Client(url) as client:
        check_corpus(Rest(http, method.removesuffix(" with If-Match"), conditional="If-Match" in method), client)


def test_writing_back_a_schedule_in_any_state_changes_nothing(http: Http, clock: ManualClock) -> None:
    """Regression: with a run in the queue, a PUT moved the next fire, because it set the remaining actions again."""
    http("PUT", f"{V1}/calendars/{CALENDAR}", {"dates": DATES})
    http("PUT", ONE, {**HOURLY, "exclude": {"named": [CALENDAR]}})
    changes: dict[str, Any] = {
        "changed calendar": lambda: http("PUT", f"{V1}/calendars/{CALENDAR}", {"dates": ["2027-12-25"]}),
        "paused until": lambda: http("POST", f"{ONE}/pause", {"note": "x", "until": "2030-01-01T00:00:00Z"}),
        "paused for a day": lambda: clock.advance(86_400),
        "resumed": lambda: http("POST", f"{ONE}/resume", {}),
        "skipped tick": lambda: http("POST", f"{ONE}/skip", {}),
        "run in flight": lambda: http("POST", f"{ONE}/trigger", {}),
        "run in the queue": lambda: http("POST", f"{ONE}/trigger", {"overlap": "queue"}),
        "overdue": lambda: clock.advance(86_400),
        "backfill": lambda: http("POST", f"{ONE}/backfills", {"start": "2027-01-01", "end": "2027-01-02"}),
        "adaptive": lambda: http("PATCH", ONE, {"adaptive": True}),
        "hint": lambda: http("POST", f"{ONE}/hints", {"interval_ms": 120_000}),
        "remaining actions": lambda: http("PATCH", ONE, {"remaining_actions": 2}),
        "overdue again": lambda: clock.advance(7_200),
        "no remaining actions": lambda: http("PATCH", ONE, {"remaining_actions": 0}),
        "restored": lambda: http("POST", f"{ONE}/versions/1/restore", {}),
        "declared by code": lambda: http("POST", f"{ONE}/declare", HOURLY),
        "an end": lambda: http("PATCH", ONE, {"end_at": "2027-03-01"}),
        "past end": lambda: clock.advance(100 * 86_400),
    }
    rest = Rest(http)
    for name, change in changes.items():
        change()
        before, entries = rest.get("report"), rest.changes("report")
        clock.advance(1)
        written = rest.put("report", before)
        assert difference(before, written) == {}, name
        assert rest.changes("report") == entries, name


def test_writing_back_an_outdated_document_is_a_conflict(http: Http) -> None:
    http("PUT", ONE, HOURLY)
    outdated = http("GET", ONE).json
    http("PATCH", ONE, {"description": "changed since"})
    refused = http("PUT", ONE, outdated)
    assert (refused.status, refused.json["code"]) == (409, "stale_token")
    without_token = {name: value for name, value in outdated.items() if name != "conflict_token"}
    assert http("PUT", ONE, without_token).json["definition_version"] == 3


def test_an_edit_of_a_document_changes_one_field(http: Http) -> None:
    http("PUT", ONE, {**HOURLY, "labels": {"team": "a"}, "payload": {"n": 1}, "jitter_ms": 500})
    before = http("GET", ONE).json
    after = http("PUT", ONE, {**before, "timezone": "Europe/Berlin"}).json
    assert difference(before, after).keys() <= {"timezone", "conflict_token", "definition_version", "updated_at"}
    assert after["timezone"] == "Europe/Berlin"


def test_defaults_of_a_service_do_not_change_a_document(store: Store) -> None:
    """A document names the fields whose default is a setting, so it means the same on every service."""
    settings = Settings(
        default_jitter_ms=1_000, default_overlap_policy=Overlap.QUEUE, default_catchup_policy=CatchUp.SPREAD
    )
    documents: list[Document] = [
        {"cron": "@daily"},
        {"cron": "@daily", "jitter_ms": 0, "overlap": "skip"},
        {"cron": []},
    ]
    for document in documents:
        with serve_runner(runner_of(store)) as url, serve_runner(runner_of(store, settings)) as other:
            for first, second in ((url, other), (other, url)):
                with closing(Http(first)) as writer, closing(Http(second)) as reader:
                    writer("DELETE", f"{ONE}?purge=true")
                    writer("PUT", ONE, {**document, "function": "tasks:report"})
                    before = Rest(writer).get("report")
                    assert difference(before, Rest(reader).put("report", before)) == {}


def test_a_document_in_a_file_declares_the_same_schedule(tmp_path: Path) -> None:
    """A ``[[schedule]]`` block adds a label with its fingerprint. A block that was read back has the same one."""
    path = tmp_path / "tompion.toml"
    with Tompion(f"sqlite:///{tmp_path / 'tompion.db'}", engine=False) as app:
        app.workflows.put(WORKFLOW_ID, WORKFLOW)
        app.calendars.put({"name": CALENDAR, "dates": DATES})
        problems = {}
        for number, (name, document) in enumerate(DOCUMENTS.items()):
            schedule_id = f"s{number}"
            declared = declare_block(app, path, {**document, "schedule_id": schedule_id})
            again = declare_block(app, path, schedule_document(declared.schedule))
            if (declared.outcome, again.outcome, again.drift) != ("created", "unchanged", ()):
                problems[name] = (declared, again)
        assert problems == {}


def declare_block(app: Tompion, path: Path, document: Document) -> DeclareResult:
    """Write a document as a block of a configuration file, and declare the schedule that the file has."""
    block = "".join(f"{name} = {toml(value)}\n" for name, value in document.items() if value is not None)
    path.write_text(f"[[schedule]]\n{block}", encoding="utf-8")
    ((schedule_id, fields),) = load_config({}, str(path)).schedules
    result: DeclareResult = app._run_operation(schedule_stubs.declare, (schedule_id,), dict(fields), writes=True)
    return result


def toml(value: Any) -> str:
    """Return a value in TOML, which has no null."""
    if isinstance(value, dict):
        pairs = (f"{json.dumps(name)} = {toml(inner)}" for name, inner in value.items() if inner is not None)
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{', '.join(toml(inner) for inner in value if inner is not None)}]"
    return json.dumps(value)


def check_corpus(interface: Interface, api: SyncMethods) -> None:
    """Write and write back every document, and report all that change."""
    api.workflows.put(WORKFLOW_ID, WORKFLOW)
    api.calendars.put({"name": CALENDAR, "dates": DATES})
    problems: dict[str, Any] = {}
    for number, (name, document) in enumerate(DOCUMENTS.items()):
        schedule_id = f"s{number}"
        created = interface.put(schedule_id, document)
        first, before = interface.get(schedule_id), interface.changes(schedule_id)
        written = interface.put(schedule_id, first)
        second, after = interface.get(schedule_id), interface.changes(schedule_id)
        if not created == first == written == second or before != after:
            problems[name] = (difference(first, created), difference(first, written), difference(first, second), after)
    assert problems == {}


def difference(one: Document, other: Document) -> Document:
    """Return the fields in which two documents differ."""
    return {
        name: (one.get(name), other.get(name)) for name in one.keys() | other.keys() if one.get(name) != other.get(name)
    }
