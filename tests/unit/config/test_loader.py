"""Loading the configuration: sources, origins and invalid values."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from tompion.config.loader import load, load_config
from tompion.config.redact import redacted_config
from tompion.config.schema import OPTIONS, Config
from tompion.config.settings import Settings
from tompion.errors import InvalidInput
from tompion.model.policy import CatchUp, Overlap

FILE = """
store = "postgresql://localhost/tompion"
port = 9000
queues = ["reports", "default"]

[limits]
tick_ms = 500
max_buffer = 7

[executors.http]
allow = ["10.0.0.0/8"]

[[schedule]]
id = "report"
cron = "0 9 * * *"
function = "tasks:report"
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    (tmp_path / "tompion.toml").write_text(FILE)
    return str(tmp_path / "tompion.toml")


def effective(configuration: Config, name: str) -> tuple[object, str]:
    limit = name.removeprefix("limits.")
    owner = configuration if limit == name else configuration.settings
    return getattr(owner, limit), configuration.origin(name)


def test_a_schedule_has_the_name_of_its_document_or_a_short_one(tmp_path: Path) -> None:
    path = tmp_path / "tompion.toml"
    path.write_text("[[schedule]]\nschedule_id = 'a'\ncron = '@daily'\n[[schedule]]\nid = 'b'\ncron = '@daily'\n")
    assert load({}, {}, str(path)).schedules == (("a", {"cron": "@daily"}), ("b", {"cron": "@daily"}))


def test_the_last_source_wins(path: str) -> None:
    environment = {"TOMPION_PORT": "9001", "TOMPION_MAX_BUFFER": "8", "TOMPION_QUEUES": "a, b", "LOCK_TTL_MS": "90000"}
    result = load(environment, {"port": 9002, "host": None}, path)
    assert effective(result, "host") == ("127.0.0.1", "default")
    assert effective(result, "store") == ("postgresql://localhost/tompion", path)
    assert effective(result, "queues") == (("a", "b"), "TOMPION_QUEUES")
    assert effective(result, "port") == (9002, "flag")
    assert effective(result, "limits.tick_ms") == (500, path)
    assert effective(result, "limits.lock_ttl_ms") == (90_000, "LOCK_TTL_MS")
    assert result.settings == Settings(tick_ms=500, max_buffer=8, lock_ttl_ms=90_000)
    assert result.executors == {"http": {"allow": ["10.0.0.0/8"]}}
    assert result.schedules == (("report", {"cron": "0 9 * * *", "function": "tasks:report"}),)


def test_defaults_apply_without_any_source() -> None:
    result = load({})
    assert result.settings == Settings()
    assert result == Config()
    values = redacted_config(result)["values"]
    assert {value["origin"] for value in values} == {"default"}
    assert [value["value"] for value in values] == [value["default"] for value in values]
    assert len(values) == len(OPTIONS) + len(fields(Settings))


def test_limits_that_depend_on_each_other_are_checked_together() -> None:
    result = load({"TOMPION_HEARTBEAT_MS": "90000", "TOMPION_LOCK_TTL_MS": "200000"})
    assert (result.settings.heartbeat_ms, result.settings.lock_ttl_ms) == (90_000, 200_000)
    with pytest.raises(InvalidInput, match="heartbeat_ms"):
        load({"TOMPION_HEARTBEAT_MS": "90000"})


def test_the_configuration_file_is_found(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TOMPION_CONFIG", raising=False)
    assert load_config({}).path == "tompion.toml"
    monkeypatch.chdir(Path(__file__).parent)
    assert load_config({}).path is None
    monkeypatch.setenv("TOMPION_CONFIG", path)
    assert load_config({}).port == 9000


def test_a_single_schedule_can_be_a_table(tmp_path: Path) -> None:
    file = tmp_path / "tompion.toml"
    file.write_text('[schedule]\nid = "backup"\ncron = "@daily"\nhttp = { url = "https://a.example" }\n')
    fields = {"cron": "@daily", "http": {"url": "https://a.example"}}
    assert load({}, path=str(file)).schedules == (("backup", fields),)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("port = 'x'", "tompion.toml: port: 'x'; expected a whole number"),
        ("port = true", "tompion.toml: port: True; expected a whole number"),
        ("prot = 1", "tompion.toml: prot: unknown setting"),
        ("auth = 'maybe'", "tompion.toml: auth: 'maybe'; expected open or required"),
        ("queues = [1]", "tompion.toml: queues"),
        ("[limits]\ntick = 1", "tompion.toml: limits.tick: unknown limit"),
        ("[limits]\ntick_ms = 0", "tompion.toml: limits.tick_ms"),
        ("limits = 1", "tompion.toml: limits: expected a table"),
        ("executors = 1", "tompion.toml: executors: expected tables"),
        ("schedule = 1", "tompion.toml: schedule: expected blocks"),
        ("[[schedule]]\ncron = 'x'", "[[schedule]] number 1: id"),
        ("[[schedule]]\nid = 'a'\n[[schedule]]\nid = 'a'", "[[schedule]] number 2: id: duplicate name 'a'"),
        ("[[schedule]]\nschedule_id = 'a'\n[[schedule]]\nid = 'a'", "number 2: id: duplicate name 'a'"),
        ("[[schedule]]\nschedule_id = 'a'\nid = 'a'", "number 1: id: sent twice: schedule_id is the same field"),
        ("notification = 1", "tompion.toml: notification: expected blocks, [[notification]]"),
        ("[[notification]]\nurl = 'x'", "[[notification]] number 1: name"),
        ("[[notification]]\nname = 'a'\n[[notification]]\nname = 'a'", "number 2: name: duplicate name 'a'"),
        ("ping_method = 'PUT'", "tompion.toml: ping_method: 'PUT'; expected GET or POST"),
        ("port = ", "tompion.toml: not valid TOML"),
    ],
)
def test_an_invalid_file_is_rejected(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "tompion.toml").write_text(text)
    with pytest.raises(InvalidInput) as caught:
        load({}, None, str(tmp_path / "tompion.toml"))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"TOMPION_PORT": "x"}, "TOMPION_PORT: 'x'; expected a whole number"),
        ({"TOMPION_ENGINE": "maybe"}, "TOMPION_ENGINE: 'maybe'; expected true or false"),
        ({"TICK_MS": "soon"}, "TICK_MS: 'soon'"),
    ],
)
def test_an_invalid_variable_is_rejected(environment: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        load(environment)


def test_a_missing_file_is_an_error() -> None:
    with pytest.raises(InvalidInput, match=r"nowhere\.toml: No such file"):
        load({}, None, "nowhere.toml")


def test_the_defaults_of_schedules_come_from_a_file_and_from_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "defaults.toml"
    file.write_text('[limits]\ndefault_overlap_policy = "buffer_all"\ndefault_jitter_ms = 500\n')
    environment = {"DEFAULT_CATCHUP_POLICY": "all", "TOMPION_MIN_INTERVAL_MS": "60000", "DEFAULT_JITTER_MS": "700"}
    result = load(environment, path=str(file))
    assert result.settings == Settings(
        default_overlap_policy=Overlap.QUEUE,
        default_catchup_policy=CatchUp.FIRE_IMMEDIATELY,
        default_jitter_ms=700,
        min_interval_ms=60_000,
    )
    assert effective(result, "limits.default_catchup_policy") == (CatchUp.FIRE_IMMEDIATELY, "DEFAULT_CATCHUP_POLICY")
    assert effective(result, "limits.default_jitter_ms") == (700, "DEFAULT_JITTER_MS")


@pytest.mark.parametrize("name", ["default_overlap_policy", "limits.default_overlap_policy", "default-overlap-policy"])
def test_a_pair_may_set_a_word(name: str) -> None:
    """Regression: ``--set default_overlap_policy=queue`` expected a whole number."""
    result = load({}, pairs=[f"{name}=queue", "default_catchup_policy=coalesce"])
    assert result.settings.default_overlap_policy is Overlap.QUEUE
    assert result.settings.default_catchup_policy is CatchUp.COALESCE
    with pytest.raises(InvalidInput, match="it must be one of skip, allow"):
        load({}, pairs=[f"{name}=sometimes"])


def test_an_unknown_policy_names_its_origin() -> None:
    with pytest.raises(
        InvalidInput, match=r"DEFAULT_OVERLAP_POLICY: limits.default_overlap_policy.* 'wait'.*skip, allow"
    ):
        load({"DEFAULT_OVERLAP_POLICY": "wait"})


@pytest.mark.parametrize(
    ("variable", "hint"),
    [
        ("TOMPION_PROT", "did you mean TOMPION_PORT?"),
        ("TOMPION_DEFAULT_OVERLAP", "did you mean TOMPION_DEFAULT_OVERLAP_POLICY?"),
        ("TOMPION_COLOUR_OF_THE_SKY", "'tompion config' lists all"),
    ],
)
def test_an_unknown_variable_is_rejected(variable: str, hint: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        load({variable: "1"})
    assert str(raised.value) == f"{variable}: unknown setting; {hint}"
    assert load({variable: ""}).settings == Settings()


def test_foreign_variables_are_ignored(tmp_path: Path) -> None:
    """Variables of clients, tests, executed commands and Kubernetes, and secrets that the file names."""
    file = tmp_path / "secret.toml"
    file.write_text('[[notification]]\nname = "ops"\nsecret_env = "TOMPION_OPS_SECRET"\n')
    names = ["URL", "CERT_KEY", "CONFIG", "TEST_ROLE", "RUN_ID", "SERVICE_HOST", "PORT_8640_TCP"]
    environment = {**{f"TOMPION_{name}": "x" for name in names}, "TOMPION_OPS_SECRET": "x", "FOLIO": "x"}
    assert load(environment, path=str(file)).settings == Settings()
    with pytest.raises(InvalidInput, match="TOMPION_OPS_SECRET"):
        load(environment)
