import json
import os
import socket
import stat
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

import octop_bridge
from octop_bridge.storage.engine import StorageError
from octop_bridge.storage.lease import WorkerLease

ROOT = Path(octop_bridge.__file__).parents[1]
HOLDER = """
import sys
from pathlib import Path
from octop_bridge.storage.lease import WorkerLease
lease = WorkerLease(Path(sys.argv[1]))
print(lease.acquire(), flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def store(tmp_path):
    return tmp_path / "default.sqlite"


@contextmanager
def other_process(store):
    """Another process that asks for the lease, and keeps it until it is told or killed."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(store)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield child, child.stdout.readline().strip()
    finally:
        child.kill()
        child.communicate()


def test_a_free_lease_is_taken_and_says_whose_it_is(store):
    lease = WorkerLease(store)
    assert not lease.held
    assert lease.acquire()
    assert lease.held
    assert json.loads(lease.path.read_text()) == {"pid": os.getpid(), "host": socket.gethostname()}
    assert lease.path.name == "default.sqlite.lock"
    assert not store.exists()
    lease.release()
    assert not lease.held
    assert lease.path.read_text() == ""


def test_taking_it_twice_is_taking_it_once(store):
    lease = WorkerLease(store)
    assert lease.acquire()
    assert lease.acquire()
    lease.release()
    lease.release()
    assert not lease.held


def test_two_in_one_process_exclude_each_other(store):
    first, second = WorkerLease(store), WorkerLease(store)
    assert first.acquire()
    assert not second.acquire()
    first.release()
    assert second.acquire()
    second.release()


def test_two_paths_to_one_store_are_one_lease(tmp_path, store):
    store.touch()
    link = tmp_path / "link.sqlite"
    link.symlink_to(store)
    first, second = WorkerLease(store), WorkerLease(link)
    assert first.acquire()
    assert not second.acquire()
    first.release()


def test_the_lock_file_is_its_owner_s_alone(store):
    before = os.umask(0)
    lease = WorkerLease(store)
    try:
        assert lease.acquire()
        assert stat.S_IMODE(lease.path.stat().st_mode) == 0o600
    finally:
        os.umask(before)
        lease.release()


def test_a_process_killed_with_the_lease_gives_it_up(store):
    lease = WorkerLease(store)
    with other_process(store) as (child, took):
        assert took == "True"
        assert not lease.acquire()
        child.kill()
        child.wait()
        assert lease.acquire()
    lease.release()


def test_a_child_does_not_get_or_free_its_parent_s_lease(store):
    lease = WorkerLease(store)
    assert lease.acquire()
    with other_process(store) as (_, took):
        assert took == "False"
    pid = os.fork()
    if pid == 0:
        seen = lease.held
        lease.release()
        os._exit(int(seen))
    assert os.waitpid(pid, 0)[1] == 0
    assert lease.held
    assert not WorkerLease(store).acquire()
    lease.release()


def test_a_program_started_by_the_holder_does_not_keep_the_lease(store):
    lease = WorkerLease(store)
    assert lease.acquire()
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, close_fds=False)
    lease.release()
    other = WorkerLease(store)
    assert other.acquire()
    other.release()
    child.communicate()


def test_a_store_in_use_on_another_machine_is_refused(store):
    first, second = WorkerLease(store), WorkerLease(store)
    assert first.acquire()
    first.path.write_text('{"pid": 1, "host": "elsewhere.invalid"}')
    with pytest.raises(StorageError) as refused:
        second.acquire()
    assert "use PostgreSQL" in refused.value.hint
    assert not refused.value.retryable
    first.release()


def test_another_machine_s_name_in_a_free_lock_file_is_no_hindrance(store):
    lease = WorkerLease(store)
    lease.path.write_text('{"pid": 1, "host": "elsewhere.invalid"}')
    assert lease.acquire()
    lease.release()


@pytest.mark.parametrize("words", ["", "{", '{"pid": "x"}'])
def test_a_lock_file_that_cannot_be_read_is_still_a_lock(store, words):
    first, second = WorkerLease(store), WorkerLease(store)
    assert first.acquire()
    first.path.write_text(words)
    assert not second.acquire()
    first.release()


def test_a_folder_that_is_not_there_is_a_storage_error(tmp_path):
    with pytest.raises(StorageError):
        WorkerLease(tmp_path / "nowhere" / "default.sqlite").acquire()
