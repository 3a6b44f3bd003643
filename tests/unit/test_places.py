"""Where things lie, and who may read them."""

import os
import stat
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octop_bridge import places
from octop_bridge.storage.lease import WorkerLease


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_one_variable_moves_everything(tmp_path):
    env = {"OCTOP_BRIDGE_HOME": str(tmp_path), "XDG_DATA_HOME": "/elsewhere", "XDG_CONFIG_HOME": "/elsewhere"}
    assert places.home(env) == tmp_path
    assert places.config_file(env) == tmp_path / "config.toml"


def test_without_it_the_platform_says_where(monkeypatch, tmp_path):
    monkeypatch.setattr(places.sys, "platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert places.home({}) == tmp_path / ".local/share/octop-bridge"
    assert places.config_file({}) == tmp_path / ".config/octop-bridge/config.toml"
    xdg = {"XDG_DATA_HOME": "/data", "XDG_CONFIG_HOME": "relative"}
    assert str(places.home(xdg)) == "/data/octop-bridge"
    assert places.config_file(xdg) == tmp_path / ".config/octop-bridge/config.toml"
    monkeypatch.setattr(places.sys, "platform", "darwin")
    assert places.home({}) == tmp_path / "Library/Application Support/octop-bridge"


@pytest.mark.promise("octop-S2")
def test_namespaces_that_look_alike_to_a_file_system_get_different_files(tmp_path):
    names = ["张三", "李四", "team-a.b", "Team_A_B", "team-a-b", "a/../b", "a b", "", "default", "x" * 300, "x" * 301]
    files = [places.store_path(tmp_path, name) for name in names]
    folded = {file.name.casefold() for file in files}
    assert len(folded) == len(names)
    assert all(file.parent == tmp_path for file in files)


def test_one_name_in_two_spellings_of_unicode_is_one_namespace(tmp_path):
    assert places.store_path(tmp_path, "caf\u00e9") == places.store_path(tmp_path, "cafe\u0301")
    assert places.store_path(tmp_path, "cafe") != places.store_path(tmp_path, "caf\u00e9")


def test_a_file_says_whose_it_is_where_it_can(tmp_path):
    assert places.store_path(tmp_path, "Team_A_B").name.startswith("team-a-b-")
    assert places.store_path(tmp_path, "张三").name.startswith("store-")


@given(st.text(max_size=200))
@settings(max_examples=100, deadline=None)
def test_a_file_name_is_plain_and_short_for_any_name(name):
    stem, _, suffix = places.store_path(places.Path("/x"), name).name.partition(".")
    slug, _, digest = stem.rpartition("-")
    assert suffix == "sqlite"
    assert 0 < len(slug) <= 40
    assert set(slug) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert len(digest) == 16


def test_the_stores_of_a_folder_are_listed_and_nothing_else(tmp_path):
    assert places.namespaces(tmp_path / "absent") == []
    stores = sorted(places.store_path(tmp_path, name) for name in ("张三", "default"))
    for store in stores:
        store.touch()
        places.lock_path(store).touch()
        store.with_name(store.name + "-wal").touch()
    (tmp_path / "notes.sqlite").touch()
    (tmp_path / f"folder-{'0' * 16}.sqlite").mkdir()
    assert places.namespaces(tmp_path) == stores


def test_the_lock_is_where_the_worker_takes_it(tmp_path):
    store = tmp_path / "real.sqlite"
    store.touch()
    link = tmp_path / "link.sqlite"
    link.symlink_to(store)
    assert places.lock_path(link) == places.lock_path(store) == WorkerLease(link).path


def test_the_token_is_made_once_for_its_owner_alone(tmp_path):
    home = tmp_path / "data"
    old = os.umask(0)
    try:
        token = places.operator_token(home)
    finally:
        os.umask(old)
    assert len(token) >= 43
    assert mode(home) == 0o700
    assert mode(home / places.TOKEN_FILE) == 0o600
    assert places.operator_token(home) == token
    assert [file.name for file in home.iterdir()] == [places.TOKEN_FILE]


def test_only_the_token_is_the_token(tmp_path):
    assert not places.check_token(tmp_path, "")
    assert not places.check_token(tmp_path / "absent", "anything")
    token = places.operator_token(tmp_path)
    assert places.check_token(tmp_path, token)
    for wrong in ("", token[:-1], token + "x", token.swapcase(), "\ud800", "ä"):
        assert not places.check_token(tmp_path, wrong)


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\xfe"])
def test_an_empty_or_broken_token_file_is_no_token_and_is_replaced(tmp_path, content):
    (tmp_path / places.TOKEN_FILE).write_bytes(content)
    assert not places.check_token(tmp_path, "")
    token = places.operator_token(tmp_path)
    assert places.check_token(tmp_path, token)
    assert mode(tmp_path / places.TOKEN_FILE) == 0o600


def test_those_who_come_at_once_get_the_same_token(tmp_path):
    start = threading.Barrier(8)
    found = []

    def come():
        start.wait()
        found.append(places.operator_token(tmp_path))

    threads = [threading.Thread(target=come) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1
