"""Settings: one table, three places, and errors that name what is wrong."""

import subprocess
import sys

import msgspec
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from octop_bridge import settings
from octop_bridge.protocol.errors import ConfigError


def refused(env=None, file=None, flags=None):
    with pytest.raises(ConfigError) as caught:
        settings.load(env or {}, file, flags or {})
    assert (caught.value.code, caught.value.kind) == (-32602, "config")
    return caught.value


def config(tmp_path, text):
    file = tmp_path / "config.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_nothing_said_gives_the_defaults():
    assert settings.load({}, None, {}) == settings.Settings()


def test_flags_outrank_the_environment_and_the_environment_outranks_the_file(tmp_path):
    file = config(tmp_path, "[extraction]\nevents_max = 1\ntokens_max = 1\nslice_events_max = 1\n")
    env = {"OCTOP_BRIDGE_EXTRACTION_EVENTS_MAX": "2", "OCTOP_BRIDGE_EXTRACTION_TOKENS_MAX": "2"}
    loaded = settings.load(env, file, {"extraction": {"events_max": 3}}).extraction
    assert (loaded.events_max, loaded.tokens_max, loaded.slice_events_max) == (3, 2, 1)
    assert loaded.quiet_s == settings.Settings().extraction.quiet_s


@pytest.mark.promise("octop-P14")
def test_an_unknown_key_is_an_error_that_names_it_its_neighbour_and_its_file(tmp_path):
    error = refused(file=config(tmp_path, "[capture]\nmin_mesage_chars = 5\n"))
    assert "capture.min_mesage_chars" in error.message
    assert "capture.max_text_bytes" in error.message
    assert "config.toml" in error.message
    assert error.path == "capture.min_mesage_chars"
    assert settings.load({}, config(tmp_path, "[capture]\nmax_text_bytes = 5\n"), {}).capture.max_text_bytes == 5


@pytest.mark.parametrize(
    ("given_", "nearest"),
    [
        ({"capture": {"max_text_byte": 5}}, "capture.max_text_bytes"),
        ({"capture": {"min_score": 0.5}}, "recall.min_score"),
        ({"extraction": {"quiet": 5}}, "extraction.quiet_s"),
        ({"captur": {"roles": []}}, "capture"),
        ({"level": "debug"}, "server"),
    ],
)
def test_the_neighbour_is_the_one_that_was_meant(given_, nearest):
    assert refused(flags=given_).hint == f"did you mean {nearest}?"


@pytest.mark.parametrize(
    ("section", "name", "value", "said"),
    [
        ("extraction", "events_max", "many", "Expected `int`, got `str`"),
        ("extraction", "events_max", 0, ">= 1"),
        ("extraction", "kind", "magic", "magic"),
        ("capture", "roles", ["user", "boss"], "boss"),
        ("capture", "session_policies", {"cron": "maybe"}, "maybe"),
        ("capture", "session_policies", {"crom": "raw"}, "crom"),
        ("capture", "redact_patterns", ["(a+)+b"], "redact pattern"),
        ("identity", "links", [["ana"]], "not the owner of a user"),
        ("time", "zone", "Mars/Olympus", "no time zone"),
        ("store", "db", 7, "got `int`"),
    ],
)
def test_a_wrong_value_is_an_error_that_names_the_setting_and_says_what_it_is(section, name, value, said):
    error = refused(flags={section: {name: value}})
    assert f"{section}.{name}" in error.message
    assert said in error.message
    assert "command line" in error.message
    assert error.hint.startswith(f"{section}.{name} is ")


def test_a_section_that_is_no_table_is_an_error(tmp_path):
    assert "capture: expected a table (config.toml)" in refused(file=config(tmp_path, "capture = 3\n")).message


def test_a_file_that_is_not_toml_or_not_there_is_an_error(tmp_path):
    assert "config.toml: not TOML" in refused(file=config(tmp_path, "[capture\n")).message
    assert "absent.toml: cannot be read" in refused(file=tmp_path / "absent.toml").message


def test_the_environment_gives_numbers_words_lists_and_tables():
    env = {
        "OCTOP_BRIDGE_EXTRACTION_QUIET_S": "0.5",
        "OCTOP_BRIDGE_SERVER_SLOTS": "4",
        "OCTOP_BRIDGE_STORE_DB": "12",
        "OCTOP_BRIDGE_CAPTURE_ROLES": '["user"]',
        "OCTOP_BRIDGE_CAPTURE_SESSION_POLICIES": '{"cron": "off"}',
        "OCTOP_BRIDGE_LOG_LEVEL": "",
    }
    loaded = settings.load(env, None, {})
    assert loaded.extraction.quiet_s == 0.5
    assert loaded.server.slots == 4
    assert loaded.store.db == "12"
    assert loaded.capture.roles == ("user",)
    assert loaded.log.level == "info"


def test_a_table_is_changed_key_by_key(tmp_path):
    file = config(tmp_path, '[capture.session_policies]\ncron = "off"\n')
    env = {"OCTOP_BRIDGE_CAPTURE_SESSION_POLICIES": '{"batch": "raw"}'}
    policies = settings.load(env, file, {}).capture.session_policies
    assert (policies["cron"], policies["batch"], policies["user"]) == ("off", "raw", "full")


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("OCTOP_BRIDGE_CAPTURE_ROLE", '["user"]'),
        ("OCTOP_BRIDGE_EXTRACTON_KIND", "none"),
        ("OCTOP_BRIDGE_SERVER_SLOTS", "many"),
        ("OCTOP_BRIDGE_CAPTURE_ROLES", "user"),
    ],
)
def test_a_wrong_variable_is_named(variable, value):
    assert variable in refused(env={variable: value}).message


def test_variables_that_are_no_settings_are_left_alone():
    env = {
        "OCTOP_BRIDGE_HOME": "/somewhere",
        "OCTOP_BRIDGE_OPERATOR_TOKEN": "t",
        "OCTOP_BRIDGE_DSN": "postgresql://x",
        "OCTOP_BRIDGE": "y",
        "PATH": "/bin",
    }
    assert settings.load(env, None, {}) == settings.Settings()


def test_the_table_has_a_line_of_help_and_a_default_for_every_setting():
    rows = settings.rows()
    names = [row.name for row in rows]
    assert len(set(names)) == len(names)
    assert all(row.help and row.type and row.default for row in rows)
    assert {"store.durability", "recall.min_score", "server.line_bytes_max"} <= set(names)
    zone = next(row for row in rows if row.name == "time.zone")
    assert zone.default == "the machine's"
    assert zone.variable == "OCTOP_BRIDGE_TIME_ZONE"


class _Keys(msgspec.Struct, frozen=True):
    key: settings.Annotated[str, settings.Meta(description="a key", extra={"secret": True})] = ""
    name: settings.Annotated[str, settings.Meta(description="a name")] = ""


class _Some(msgspec.Struct, frozen=True):
    model: _Keys = msgspec.field(default_factory=_Keys)


def test_a_secret_is_masked_where_settings_are_shown():
    assert [row.secret for row in settings.rows(_Some)] == [True, False]
    shown = settings.show(_Some(model=_Keys(key="hunter2", name="kim")))
    assert shown["model.name"] == "kim"
    assert "hunter2" not in str(shown)
    assert settings.show(_Some())["model.key"] == ""


def test_the_policies_are_those_of_the_intake():
    intake = pytest.importorskip("octop_bridge.domain.intake")
    assert settings.Settings().capture.session_policies == dict(intake.SESSION_POLICIES)


def test_redact_patterns_are_compiled_once():
    capture = settings.load({}, None, {"capture": {"redact_patterns": ["PRJ-[0-9]{4}"]}}).capture
    assert capture.compiled()[0].search("see PRJ-0042")
    assert capture.compiled() is capture.compiled()
    assert settings.Settings().capture.compiled() == ()


def test_the_zone_is_the_machines_where_none_is_said(tmp_path, monkeypatch):
    link = tmp_path / "localtime"
    link.symlink_to("/usr/share/zoneinfo/Europe/Madrid")
    monkeypatch.delenv("TZ", raising=False)
    assert settings.machine_zone(link) == "Europe/Madrid"
    assert settings.machine_zone(tmp_path / "absent") == "UTC"
    monkeypatch.setenv("TZ", ":Asia/Tokyo")
    assert settings.machine_zone(link) == "Asia/Tokyo"
    monkeypatch.setenv("TZ", "EST5EDT,M3.2.0,M11.1.0")
    assert settings.machine_zone(link) == "Europe/Madrid"
    monkeypatch.setenv("TZ", "../../etc/passwd")
    assert settings.machine_zone(link) == "Europe/Madrid"


def test_limits_are_told_by_name():
    limits = settings.Settings().server.limits()
    assert limits["line_bytes_max"] == 16 << 20
    assert all(isinstance(value, int) for value in limits.values())


def test_nothing_but_a_file_loads_the_toml_reader():
    program = (
        "import sys; from octop_bridge import settings; settings.load({'OCTOP_BRIDGE_HOME': 'x'}, None, {});"
        "print([name for name in ('tomllib', 'difflib', 'zoneinfo', 'anyio', 'sqlite3') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={"PATH": "", "TZ": ""}
    )
    assert done.stdout.strip() == "[]"


@given(name=st.text(max_size=30), value=st.one_of(st.none(), st.integers(), st.text(max_size=10), st.lists(st.text())))
@hypothesis_settings(max_examples=60, deadline=None)
def test_whatever_is_written_is_read_or_refused(name, value):
    try:
        loaded = settings.load({}, None, {"recall": {name: value}})
    except ConfigError as error:
        told = error.message
    else:
        told = f"recall.{getattr(loaded.recall, name)}"
    assert told.startswith("recall.")
