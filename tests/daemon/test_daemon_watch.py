"""A save that changes a function submits it once; comments, formatting, moves and ignored folders submit nothing."""

import asyncio
import errno
import os
import shutil
import time

import pytest
from waiting import async_wait_until

from mirage_daemon import file_events, watch_projects, watched_project

HEAD = "import mirage\nimport torch\n\n\n"
FUNCTION = """@mirage.optimize(inputs=[((16, 64), "fp16")])
def {name}(x):
    return torch.softmax(x * {factor}, dim=-1)
"""


def function(name="f", factor=2):
    return FUNCTION.format(name=name, factor=factor)


def source(*functions):
    return HEAD + "\n\n".join(functions)


async def quiet():
    """As long as a batch takes, and some more."""
    await asyncio.sleep(watch_projects.QUIET_S + 0.1)


def watching(root, play):
    """Run `await play(changes, watcher)` while the root is watched; `changes` are (file name, function) as they come."""

    async def main():
        changes = []

        async def submit(change):
            changes.append((os.path.relpath(change.path, root), change.function))

        watcher = watch_projects.Watcher(submit)
        await watcher.add(str(root), "python", "sm_90")
        try:
            await play(changes, watcher)
        finally:
            await watcher.close()

    asyncio.run(main())


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(watch_projects, "QUIET_S", 0.06)


@pytest.fixture
def project(tmp_path):
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "model.py").write_text(source(function("f"), function("g")))
    return tmp_path


def write(path, text):
    path.write_text(text)


def by_rename(path, text):
    draft = path.with_name(f".{path.name}.swp")
    draft.write_text(text)
    os.replace(draft, path)


def with_backup(path, text):
    os.rename(path, path.with_name(path.name + "~"))
    path.write_text(text)


def in_pieces(path, text):
    with open(path, "w") as file:
        for i in range(0, len(text), 40):
            file.write(text[i : i + 40])
            file.flush()
            time.sleep(0.01)


@pytest.mark.parametrize("save", [write, by_rename, with_backup, in_pieces])
def test_a_changed_function_is_submitted_once_and_its_neighbour_is_not(project, save):
    async def play(changes, watcher):
        model = project / "pkg" / "model.py"
        save(model, source(function("f", 3), function("g")))
        await async_wait_until(lambda: changes)
        await quiet()
        assert changes == [("pkg/model.py", "f")]
        save(
            model,
            source("# why\n" + function("f", 3).replace("x * 3", "x*3  # more"), '"""Words."""\n' + function("g")),
        )
        await quiet()
        assert changes == [("pkg/model.py", "f")]
        save(model, source(function("f"), function("g")))  # and back: what is there now has not been submitted
        await async_wait_until(lambda: len(changes) == 2)

    watching(project, play)


def saves(project, changes, apart):
    """Ten saves of one function, so many seconds apart; when it returns, what they bring has been submitted."""

    async def play():
        for factor in range(3, 13):
            write(project / "pkg" / "model.py", source(function("f", factor), function("g")))
            await asyncio.sleep(apart)
        await async_wait_until(lambda: changes)
        await asyncio.sleep(2 * watch_projects.QUIET_S)

    return play()


def test_many_saves_in_a_row_are_one(project, monkeypatch):
    monkeypatch.setattr(watch_projects, "QUIET_S", 0.8)  # a machine that stops for less is none that saves apart

    async def play(changes, watcher):
        await saves(project, changes, 0.02)
        assert changes == [("pkg/model.py", "f")]

    watching(project, play)


def test_saves_that_are_apart_are_not_one(project):
    async def play(changes, watcher):
        await saves(project, changes, 6 * watch_projects.QUIET_S)
        assert len(changes) > 1 and set(changes) == {("pkg/model.py", "f")}

    watching(project, play)


def test_a_new_file_is_seen_and_a_moved_or_deleted_one_costs_nothing(project):
    async def play(changes, watcher):
        write(project / "pkg" / "more.py", source(function("h")))
        await async_wait_until(lambda: changes == [("pkg/more.py", "h")])
        os.rename(project / "pkg" / "more.py", project / "moved.py")
        os.rename(project / "pkg", project / "package")
        os.remove(project / "package" / "model.py")
        await quiet()
        assert len(changes) == 1 and watcher.rows()[0]["problem"] == ""
        write(project / "moved.py", source(function("h", 5)))  # the new names are watched
        write(project / "package" / "model.py", source(function("f", 5), function("g")))
        await async_wait_until(lambda: len(changes) == 3)
        assert sorted(changes[1:]) == [("moved.py", "h"), ("package/model.py", "f")]

    watching(project, play)


def test_new_folders_are_watched_with_all_that_is_in_them(project):
    async def play(changes, watcher):
        deep = project / "a" / "b" / "c"
        deep.mkdir(parents=True)
        write(deep / "one.py", source(function("one")))
        await async_wait_until(lambda: changes == [("a/b/c/one.py", "one")])
        write(deep / "two.py", source(function("two")))
        await async_wait_until(lambda: len(changes) == 2)

    watching(project, play)


@pytest.mark.parametrize("where", [".git", "node_modules/m", ".venv/lib", "__pycache__", "build/lib", "env/lib"])
def test_ignored_folders_are_not_watched(project, where):
    (project / ".gitignore").write_text("build/\n")
    (project / where).mkdir(parents=True)
    (project / "env").mkdir(exist_ok=True)
    (project / "env" / "pyvenv.cfg").write_text("")

    async def play(changes, watcher):
        assert watcher.rows()[0]["folders"] in (2, 1)
        write(project / where / "x.py", source(function("x")))
        await quiet()
        assert changes == []
        write(project / "pkg" / "x.py", source(function("x")))
        await async_wait_until(lambda: changes == [("pkg/x.py", "x")])

    watching(project, play)


def test_what_is_no_longer_ignored_is_watched(project):
    (project / ".gitignore").write_text("build\n")
    (project / "build").mkdir()
    write(project / "build" / "x.py", source(function("x")))

    async def play(changes, watcher):
        write(project / ".gitignore", "other\n")
        await async_wait_until(lambda: changes == [("build/x.py", "x")])

    watching(project, play)


def test_a_function_that_is_half_written_waits(project):
    async def play(changes, watcher):
        model = project / "pkg" / "model.py"
        write(model, source(function("f"), function("g")[:-3]))
        await quiet()
        write(model, source(function("f"), function("g")))
        await quiet()
        assert changes == []
        write(model, source(function("f"), function("g", 9)))
        await async_wait_until(lambda: changes == [("pkg/model.py", "g")])

    watching(project, play)


def test_hostile_files_are_passed_over(project):
    os.mkfifo(project / "pipe.py")
    os.symlink("/dev/zero", project / "zero.py")
    os.symlink(project, project / "loop")
    (project / "bytes.py").write_bytes(b"# mirage \xff\xfe\0" * 100)
    (project / "folder.py").mkdir()

    async def play(changes, watcher):
        write(project / "pkg" / "model.py", source(function("f", 3)))
        await async_wait_until(lambda: changes == [("pkg/model.py", "f")])

    watching(project, play)


def test_ten_thousand_files(tmp_path):
    for i in range(100):
        (tmp_path / f"d{i}").mkdir()
        for j in range(100):
            (tmp_path / f"d{i}" / f"m{j}.py").write_text(source(function(f"f{i}_{j}")) if j == 0 else "x = 1\n")

    async def play(changes, watcher):
        row = watcher.rows()[0]
        assert (row["folders"], row["files"], row["functions"]) == (101, 10_000, 100)
        for i in range(100):
            for j in range(0, 100, 10):
                with open(tmp_path / f"d{i}" / f"m{j}.py", "a") as file:
                    file.write("# more\n")
        await quiet()
        before = time.thread_time(), time.process_time()
        await asyncio.sleep(0.5)
        assert changes == [] and time.process_time() - before[1] < 0.25  # at rest nothing turns
        write(tmp_path / "d7" / "m0.py", source(function("f7_0", 3)))
        await async_wait_until(lambda: changes == [("d7/m0.py", "f7_0")])

    watching(tmp_path, play)


@pytest.mark.skipif(not file_events.SINGLE_FOLDERS, reason="the system watches whole trees")
def test_the_systems_limit_is_said(project, monkeypatch):
    real = file_events.InotifyFD.get_instance()

    class Few:
        left = 1

        def add_callback(self, *arguments):
            self.left -= 1
            if self.left < 0:
                raise OSError(errno.ENOSPC, "inotify watch limit reached")
            return real.add_callback(*arguments)

        remove_callbacks = staticmethod(real.remove_callbacks)

    monkeypatch.setattr(file_events.InotifyFD, "get_instance", classmethod(lambda cls: Few()))

    async def play(changes, watcher):
        (row,) = watcher.rows()
        assert "max_user_watches" in row["problem"] and row["folders"] == 1 and row["functions"] == 2
        write(project / "top.py", source(function("top")))
        await async_wait_until(lambda: changes == [("top.py", "top")])

    watching(project, play)


def test_lost_events_are_made_up_for(project):
    async def play(changes, watcher):
        (one,) = watcher._projects.values()
        one._notifier.drop(str(project))  # from here on nothing is told
        await quiet()
        write(project / "pkg" / "model.py", source(function("f", 3), function("g")))
        await quiet()
        assert changes == []
        one._notifier.on_queue_overflow()
        await async_wait_until(lambda: changes == [("pkg/model.py", "f")])

    watching(project, play)


def test_a_root_that_goes_is_said(tmp_path):
    root = tmp_path / "root"
    root.mkdir()

    async def play(changes, watcher):
        os.rmdir(root)
        await async_wait_until(lambda: watcher.rows()[0]["problem"] == watched_project.GONE)
        assert await watcher.remove(str(root)) and not await watcher.remove(str(root))

    watching(root, play)


def emptied(root):
    """As `rm -r` and a fresh checkout do it."""
    shutil.rmtree(root)


def moved(root):
    os.rename(root, root.with_name("old"))


@pytest.mark.parametrize("go", [emptied, moved])
@pytest.mark.parametrize("asked_again", [False, True])
def test_a_root_that_comes_back_is_watched(tmp_path, monkeypatch, go, asked_again):
    monkeypatch.setattr(watch_projects, "ROOTS_EVERY_S", 60.0 if asked_again else 0.1)
    root = tmp_path / "root"
    root.mkdir()
    write(root / "a.py", source(function("f")))

    async def play(changes, watcher):
        go(root)
        await quiet()
        root.mkdir()
        write(root / "a.py", source(function("f"), function("new")))
        if asked_again:
            await watcher.add(str(root), "python", "sm_90")
        await async_wait_until(lambda: changes == [("a.py", "new")])  # `f` is what it was
        assert watcher.rows()[0]["problem"] == ""
        write(root / "a.py", source(function("f", 3), function("new")))
        await async_wait_until(lambda: changes == [("a.py", "new"), ("a.py", "f")])

    watching(root, play)


def test_a_root_that_stays_is_not_read_again(project, monkeypatch):
    monkeypatch.setattr(watch_projects, "ROOTS_EVERY_S", 0.02)

    async def play(changes, watcher):
        (one,) = watcher._projects.values()
        monkeypatch.setattr(one, "look", lambda paths: pytest.fail("read again"))
        await watcher.add(str(project), "python", "sm_90")
        await quiet()

    watching(project, play)


def test_a_file_whose_name_is_no_text_is_submitted_under_one_that_is(project):
    async def play(changes, watcher):
        with open(os.path.join(os.fsencode(project), b"\xff.py"), "w") as file:
            file.write(source(function("new")))
        await async_wait_until(lambda: changes == [("\N{REPLACEMENT CHARACTER}.py", "new")])

    watching(project, play)
