"""Installed kernels: whole or not at all, and only where nobody else can write."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from mirage.errors import CannotWrite, KernelUnsigned, UntrustedFolder
from mirage.runtime import installed_kernels

DIGEST = "a" * 64


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MIRAGE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_install_lookup_remove(home: Path) -> None:
    assert installed_kernels.is_empty() and installed_kernels.lookup(DIGEST) is None
    path = installed_kernels.install(DIGEST, "x = 1\n")
    assert installed_kernels.lookup(DIGEST) == path == home / "kernels" / f"{DIGEST}.py"
    assert (
        installed_kernels.read(DIGEST) == "x = 1\n"
        and path.read_text().startswith("x = 1\n")
        and not installed_kernels.is_empty()
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(home.stat().st_mode) == 0o700
    assert installed_kernels.install(DIGEST, "x = 2\n") == path and installed_kernels.read(DIGEST) == "x = 2\n"
    assert os.listdir(path.parent) == [path.name]
    assert installed_kernels.remove(DIGEST) and not installed_kernels.remove(DIGEST)
    assert installed_kernels.lookup(DIGEST) is None


def test_another_digest_is_not_found() -> None:
    installed_kernels.install(DIGEST, "x = 1\n")
    assert installed_kernels.lookup("b" * 64) is None


@pytest.mark.parametrize("digest", ["", "../" + "a" * 61, "A" * 64, "a" * 63])
def test_a_name_that_is_no_digest_is_refused(digest: str) -> None:
    with pytest.raises(ValueError, match="digest"):
        installed_kernels.install(digest, "")
    with pytest.raises(ValueError, match="digest"):
        installed_kernels.lookup(digest)


@pytest.mark.parametrize("which", [".", "kernels", f"kernels/{DIGEST}.py"])
@pytest.mark.parametrize("mode", [0o770, 0o702, 0o766])
def test_open_folders_and_files_are_refused(home: Path, which: str, mode: int) -> None:
    installed_kernels.install(DIGEST, "x = 1\n")
    (home / which).chmod(mode)
    with pytest.raises(UntrustedFolder):
        installed_kernels.lookup(DIGEST)
    if not which.endswith(".py"):
        with pytest.raises(UntrustedFolder):
            installed_kernels.install(DIGEST, "x = 2\n")


def test_folders_that_others_may_read_are_accepted(home: Path) -> None:
    installed_kernels.install(DIGEST, "x = 1\n")
    home.chmod(0o755)
    assert installed_kernels.lookup(DIGEST) is not None


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="giving a file away takes root")
def test_somebody_elses_files_are_refused(home: Path) -> None:
    path = installed_kernels.install(DIGEST, "x = 1\n")
    os.chown(path, 12345, 12345)
    with pytest.raises(UntrustedFolder):
        installed_kernels.lookup(DIGEST)


def test_links_are_refused(home: Path, tmp_path: Path) -> None:
    path = installed_kernels.install(DIGEST, "x = 1\n")
    other = tmp_path / "other.py"
    path.rename(other)
    path.symlink_to(other)
    with pytest.raises(UntrustedFolder):
        installed_kernels.lookup(DIGEST)


def test_a_folder_that_cannot_be_made_is_an_error(home: Path) -> None:
    home.write_text("a file")
    with pytest.raises(CannotWrite):
        installed_kernels.install(DIGEST, "x = 1\n")
    assert installed_kernels.lookup(DIGEST) is None


def test_readers_see_whole_texts_only() -> None:
    texts = {f"x = {i}\n" * 2000 for i in range(4)}
    installed_kernels.install(DIGEST, next(iter(texts)))
    seen: set[str] = set()

    def write() -> None:
        for text in texts:
            installed_kernels.install(DIGEST, text)

    threads = [threading.Thread(target=write) for _ in range(3)]
    for t in threads:
        t.start()
    while any(t.is_alive() for t in threads):
        text = installed_kernels.read(DIGEST)
        assert text is not None
        seen.add(text)
    assert seen <= texts


def test_a_file_that_mirage_did_not_write_is_not_read(home: Path) -> None:
    path = installed_kernels.install(DIGEST, "x = 1\n")
    written = path.read_text()
    planted = {
        "no signature": "x = 1\n",
        "another text": written.replace("x = 1", "x = 2"),
        "text behind it": written + "x = 2\n",
        "a signature of nothing": "x = 1\n# mirage:signed \n",
        "a second signature": written.replace("x = 1\n", written),
        "empty": "",
    }
    for name, text in planted.items():
        path.write_text(text)
        with pytest.raises(KernelUnsigned):
            installed_kernels.read(DIGEST), name
    path.write_text(written)
    assert installed_kernels.read(DIGEST) == "x = 1\n"


def test_a_kernel_moved_to_another_function_is_not_read(home: Path) -> None:
    path = installed_kernels.install(DIGEST, "x = 1\n")
    path.rename(path.with_name("b" * 64 + ".py"))
    with pytest.raises(KernelUnsigned):
        installed_kernels.read("b" * 64)


def test_another_users_key_opens_nothing(home: Path) -> None:
    installed_kernels.install(DIGEST, "x = 1\n")
    key = home / "data" / "kernels.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600 and stat.S_IMODE(key.parent.stat().st_mode) == 0o700
    kept = key.read_bytes()
    key.write_bytes(bytes(32))
    with pytest.raises(KernelUnsigned):
        installed_kernels.read(DIGEST)
    key.write_bytes(kept)
    assert installed_kernels.read(DIGEST) == "x = 1\n"
    key.chmod(0o644)  # others may have read it: then they may have signed
    with pytest.raises(KernelUnsigned):
        installed_kernels.read(DIGEST)


def test_a_pipe_or_a_device_or_too_much_is_not_read(home: Path) -> None:
    path = installed_kernels.install(DIGEST, "x = 1\n")
    path.unlink()
    os.mkfifo(path, 0o600)
    with pytest.raises(UntrustedFolder):
        installed_kernels.read(DIGEST)
    path.unlink()
    path.write_bytes(b"")
    path.chmod(0o600)
    os.truncate(path, installed_kernels.MAX_BYTES + 1)
    with pytest.raises(UntrustedFolder):
        installed_kernels.read(DIGEST)
