"""Installed kernels: whole or not at all, and only where nobody else can write."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from mirage.errors import CannotWrite, UntrustedFolder
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
    assert path.read_text() == "x = 1\n" and not installed_kernels.is_empty()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(home.stat().st_mode) == 0o700
    assert installed_kernels.install(DIGEST, "x = 2\n").read_text() == "x = 2\n"
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
        path = installed_kernels.lookup(DIGEST)
        assert path is not None
        seen.add(path.read_text())
    assert seen <= texts
