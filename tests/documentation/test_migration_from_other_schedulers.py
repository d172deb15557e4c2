"""The how-tos about replacing cron, APScheduler and Celery beat: their code runs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from tests.documentation.pages import (
    ROOT,
    blocks,
    commands,
    curl,
    matches_excerpt,
    page_environment,
    run_service,
    soon,
    write_files,
)
from tests.support.servers.message_brokers import dying_with_us
from tompion import Spec, Tompion
from tompion.testing import Rehearsal

BROKER = "redis://127.0.0.1:6379/0"
SCRIPT = "#!/bin/sh\necho backed up to $BACKUP_TARGET\n"


def run_page(page: str, address: str) -> None:
    """Send the requests of a page in order. Each response must match the excerpt below it, at once or soon."""
    page_blocks = [block for block in blocks(page) if block.language in ("sh", "json")]
    assert any(block.language == "json" for block in page_blocks)
    for block, below in zip(page_blocks, [*page_blocks[1:], None], strict=True):
        if block.language == "json":
            continue
        *first, last = commands(block.text)
        for command in first:
            curl(command, address)
        wanted = json.loads(below.text) if below is not None and below.language == "json" else "…"
        assert_answer(last, address, wanted)


def assert_answer(command: str, address: str, wanted: object) -> None:
    seen: list[object] = []

    def responds_as_documented() -> bool:
        seen.append(curl(command, address))
        return matches_excerpt(wanted, seen[-1])

    assert soon(responds_as_documented) if "--json" not in command else responds_as_documented(), (
        f"{command}: {seen[-1]}"
    )


def cells(page: str, column: int) -> list[str]:
    """Return the first code span of each cell in a column of the tables of a page."""
    rows = [line.split("|") for line in (ROOT / "docs" / page).read_text().splitlines() if line.startswith("| ")]
    matches = [re.match(r" `([^`]+)`", row[column + 1]) for row in rows]
    return [match[1] for match in matches if match]


# --- cron ---------------------------------------------------------------------------------------------------------


def test_the_steps_from_cron_work(tmp_path: Path) -> None:
    assert write_files("how-to/replace-cron.md", tmp_path) == ["tompion.toml"]
    for name in ("backup", "sync-orders", "report", "rotate-keys"):
        (tmp_path / name).write_text(SCRIPT)
        (tmp_path / name).chmod(0o755)
    file = tmp_path / "tompion.toml"
    file.write_text(file.read_text().replace("/usr/local/bin", str(tmp_path)))
    with run_service(tmp_path) as address:
        run_page("how-to/replace-cron.md", address)
        with Tompion(address) as tompion:
            assert tompion.runs.list("backup").items[0].result == "backed up to s3://backups"
            policy = tompion.get("backup").definition.policy
            assert (policy.catchup_policy, policy.overlap_policy) == ("coalesce", "skip")
            schedules = {schedule.schedule_id: schedule.definition for schedule in tompion.schedules.list().items}
            for name in ("sync-orders", "report", "rotate-keys"):
                assert wait_for_result(tompion, tompion.trigger(name).run_id) == "backed up to"
    lines = next(block.text for block in blocks("how-to/replace-cron.md") if block.language == "text").splitlines()[2:]
    crons = [line.split()[0] if line.startswith("@") else " ".join(line.split()[:5]) for line in lines]
    assert sorted(definition.spec.cron[0] for definition in schedules.values()) == sorted(crons)
    assert schedules["warm-up"].action.target == {"method": "GET", "url": "https://shop.example.org/warm-up"}


def test_every_line_of_a_crontab_has_a_spec() -> None:
    specs = [json.loads(cell) for cell in cells("how-to/replace-cron.md", 1) if cell.startswith("{")]
    assert len(specs) > 8
    for document in specs:
        assert Spec.from_dict(document).upcoming(3, schedule_id="x")


# --- APScheduler ----------------------------------------------------------------------------------------------------


def test_the_steps_from_apscheduler_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert write_files("how-to/replace-apscheduler.md", tmp_path) == ["jobs.py"]
    scope: dict[str, object] = {"__name__": "jobs"}
    exec((tmp_path / "jobs.py").read_text(), scope)  # noqa: S102 - our own documentation
    app = scope["app"]
    assert isinstance(app, Tompion)
    with Rehearsal(app, at="2026-03-27T06:00:00Z") as rehearsal:
        rehearsal.advance("3h")
        assert [f"{run.run_at:%H:%M}" for run in rehearsal.all_runs("report")] == ["08:00"]
        assert len(rehearsal.all_runs("refresh")) == 19
        rehearsal.outage("2h")
        rehearsal.advance(1)
        late = rehearsal.all_runs("refresh")[-1]
        assert (f"{late.run_at:%H:%M}", late.status) == ("11:00", "SUCCESS")


def test_every_trigger_has_a_spec() -> None:
    sources = re.compile(r"(cron|times|intervals|rrules)=")
    specs = [cell for cell in cells("how-to/replace-apscheduler.md", 1) if sources.match(cell)]
    assert len(specs) > 8
    for arguments in specs:
        assert eval(f"Spec({arguments})", {"Spec": Spec}).next(0)  # noqa: S307 - our own documentation


def test_every_named_option_exists() -> None:
    """Every field that a page names exists."""
    fields = "".join((ROOT / f"docs/reference/{name}.md").read_text() for name in ("schedule", "settings", "spec"))
    for page in ("how-to/replace-apscheduler.md", "how-to/replace-celery-beat.md"):
        named = {name for cell in cells(page, 1) for name in re.findall(r"^([a-z_]+)=", cell)}
        assert len(named) > 2
        assert [name for name in named if f"`{name}`" not in fields] == []


# --- Celery and Temporal --------------------------------------------------------------------------------------------


@contextmanager
def run_in_background(home: Path, *argv: str, **environment: str) -> Iterator[None]:
    """Run a program in the background during the block."""
    command = dying_with_us([sys.executable, *argv])
    with subprocess.Popen(command, cwd=home, env=page_environment(**environment)) as process:
        try:
            yield
        finally:
            process.terminate()


def worker(home: Path, module: str, broker: str, *more: str) -> AbstractContextManager[None]:
    """Run Celery's own worker during the block, as the pages start it."""
    quiet = ("--loglevel", "ERROR", "--without-gossip", "--without-mingle", "--without-heartbeat")
    return run_in_background(home, "-m", "celery", "-A", module, "worker", "-c", "1", *quiet, *more, BROKER=broker)


@pytest.mark.server
def test_the_steps_from_celery_beat_work(tmp_path: Path, valkey_url: str) -> None:
    assert write_files("how-to/replace-celery-beat.md", tmp_path) == ["shop.py", "keep_time.py"]
    store = f"sqlite:///{tmp_path / 'tompion.db'}"
    with (
        worker(tmp_path, "shop", valkey_url, "-Q", "celery,fast"),
        run_in_background(tmp_path, "keep_time.py", BROKER=valkey_url),
        Tompion(store, engine=False) as tompion,
    ):
        assert soon(lambda: len(tompion.schedules.list().items) == 2)
        for schedule_id, expected in (("close-the-day", "closed in berlin"), ("refresh", "fresh")):
            run = tompion.trigger(schedule_id)
            assert wait_for_result(tompion, run.run_id) == expected


def wait_for_result(tompion: Tompion, run_id: str) -> object:
    """Wait until a run has succeeded, and return its result."""
    assert soon(lambda: tompion.runs.get(run_id).status == "SUCCESS"), tompion.runs.get(run_id)
    return tompion.runs.get(run_id).result


def test_every_celery_beat_entry_has_a_spec() -> None:
    specs = [cell for cell in cells("how-to/replace-celery-beat.md", 1) if re.match(r"(cron|intervals)=", cell)]
    assert len(specs) > 4
    for arguments in specs:
        assert eval(f"Spec({arguments})", {"Spec": Spec}).next(0)  # noqa: S307 - our own documentation


@pytest.mark.server
def test_celery_executes(tmp_path: Path, valkey_url: str) -> None:
    assert write_files("how-to/run-with-celery.md", tmp_path) == ["tasks.py", "tompion.toml"]
    file = tmp_path / "tompion.toml"
    assert tomllib.loads(file.read_text())["executors"]["celery"] == {"broker": BROKER, "backend": BROKER}
    file.write_text(file.read_text().replace(BROKER, valkey_url))
    with worker(tmp_path, "tasks", valkey_url), run_service(tmp_path) as address:
        run_page("how-to/run-with-celery.md", address)


@pytest.mark.server
def test_temporal_executes(tmp_path: Path, temporal_address: str) -> None:
    assert write_files("how-to/run-with-temporal.md", tmp_path) == ["counting.py", "tompion.toml"]
    file = tmp_path / "tompion.toml"
    file.write_text(file.read_text().replace("127.0.0.1:7233", temporal_address))
    with run_in_background(tmp_path, "counting.py", TEMPORAL=temporal_address), run_service(tmp_path) as address:
        run_page("how-to/run-with-temporal.md", address)
