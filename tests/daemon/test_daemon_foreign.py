"""Files and numbers of somebody else's: read within bounds, or not at all."""

import asyncio
import os
import sys
import threading
import time

import pytest

from mirage.errors import DaemonBusy, FileUnreadable, MirageError
from mirage.link.regular_file import read_regular
from mirage_daemon import question_key, readers
from mirage_daemon.readers import Readers

LIMIT_S = 2.0  # of processor time; without bounds these took from 10 s to for ever


def environment(folder, metadata):
    """An environment whose torch has a METADATA that `metadata` makes."""
    site = folder / "lib" / "python3.12" / "site-packages"
    (site / "torch-2.9.1.dist-info").mkdir(parents=True)
    (site / "numpy-2.0.dist-info").mkdir()
    (site / "numpy-2.0.dist-info" / "METADATA").write_text("Name: numpy\nVersion: 2.0\n\nVersion: 3.0\n")
    metadata(site / "torch-2.9.1.dist-info" / "METADATA")
    (folder / "bin").mkdir()
    (folder / "bin" / "python").write_text("")
    (folder / "bin" / "python").chmod(0o755)
    return str(folder / "bin" / "python")


def endless(path):
    path.symlink_to("/dev/zero")


def long(path):
    path.write_bytes(b"")
    os.truncate(path, 3 << 30)


HOSTILE = {
    "a pipe": os.mkfifo,
    "endless": endless,
    "long": long,
    "a folder": os.mkdir,
    "a loop": lambda p: p.symlink_to(p),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_metadata_that_is_no_short_file_counts_as_not_there(tmp_path, name):
    interpreter = environment(tmp_path, HOSTILE[name])
    began = time.process_time()
    found = dict(question_key.package_versions(interpreter))
    assert time.process_time() - began < LIMIT_S
    assert (found["torch"], found["numpy"]) == ("", "2.0")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_configuration_that_is_no_short_file_counts_as_not_there(tmp_path, name):
    interpreter = environment(tmp_path, lambda path: path.write_text("Version: 2.9.1\n"))
    (tmp_path / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.12.1\n")
    assert question_key._python(interpreter) == "3.12.1"
    (tmp_path / "pyvenv.cfg").unlink()
    HOSTILE[name](tmp_path / "pyvenv.cfg")
    assert question_key._python(interpreter) == "python"
    assert dict(question_key.package_versions(interpreter))["torch"] == "2.9.1"


def test_links_count_where_they_may(tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert read_regular(str(tmp_path / "link"), 10) == b"x"
    assert read_regular(str(tmp_path / "link"), 10, follow=False) is None
    assert read_regular(str(tmp_path / "file"), 10, follow=False) == b"x"


def test_questions_that_wait_for_a_pipe_leave_the_daemon_to_others(house, tmp_path, text):
    interpreter = environment(tmp_path, os.mkfifo)
    with house(lambda *_: {}) as h:
        for i in range(12):  # more than the threads of any pool
            assert h.client().lookup(text, f"{i}.py", "f", interpreter=interpreter) is None
        assert h.client().status()["clients"] >= 1


HEAD = "import mirage, torch\nfrom jaxtyping import Float16\nfrom torch import Tensor\n"
DIGITS, MORE = "9" * 4000, "9" * 50_000
GROWING = "A0 = 10 ** 64\n" + "".join(f"A{i + 1} = A{i} ** 64\n" for i in range(8))
DOUBLED = "A0 = 'a' * 1\nB0 = 'aaaaaaaa'\n" + "".join(
    f"B{i + 1} = f'{{B{i}}}{{B{i}}}{{B{i}}}{{B{i}}}'\n" for i in range(20)
)
PAIRS = "A0 = (1, 1)\n" + "".join(f"A{i + 1} = (A{i}, A{i})\n" for i in range(40))


def shaped(words):
    return HEAD + f'@mirage.optimize\ndef f(x: Float16[Tensor, "{words}"]):\n    return x\n'


def given(size, before=""):
    return HEAD + before + f'@mirage.optimize(inputs=[(({size},), "fp16")])\ndef f(x):\n    return x\n'


NUMBERS = {
    "a size of 4000 digits": shaped(DIGITS),
    "a size of 50000 digits": shaped(MORE),
    "a hexadecimal size": shaped("0x" + "f" * 100_000),
    "a product of sizes": shaped("*".join([DIGITS] * 200)),
    "powers of powers": shaped("9**9**9"),
    "an input of 4000 digits": given(DIGITS),
    "an input of 50000 digits": given(MORE),
    "a hexadecimal input": given("0x" + "f" * 3_000_000),
    "a product of inputs": given("*".join([DIGITS] * 500)),
    "a constant that is a product": given("K", "K = " + "*".join([DIGITS] * 500) + "\n"),
    "constants that grow": given("A8", GROWING),
    "texts that double": HEAD + DOUBLED + "@mirage.optimize\ndef f(x: Float16[Tensor, B20]):\n    return x\n",
    "tuples that double": given("A40", PAIRS),
    "a deep sum": shaped("+".join(["b"] * 50_000)),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_any_length_are_an_error_of_the_text(name):
    began = time.process_time()
    with pytest.raises(MirageError) as error:
        question_key.ask(NUMBERS[name], "a.py", "f", "sm_90", sys.executable)
    assert time.process_time() - began < LIMIT_S
    assert len(str(error.value)) < 2000


def test_numbers_of_ordinary_length_are_read():
    assert "[8, 4, 6]" in question_key.ask(shaped("8 2*2 n=6"), "a.py", "f", "sm_90", sys.executable).inputs
    text = given("K", "N = 2 ** 10\nK = N * 4 - 1\n")
    assert "[4095]" in question_key.ask(text, "a.py", "f", "sm_90", sys.executable).inputs


def run(work):
    return asyncio.run(asyncio.wait_for(work(), 60))


def test_a_reader_that_does_not_end_is_left_and_not_asked_again():
    async def work():
        own, release = Readers(deadline_s=0.2), threading.Event()
        with pytest.raises(FileUnreadable, match="within"):
            await own.read("/hangs", 1, release.wait)
        began = time.monotonic()
        with pytest.raises(FileUnreadable, match="does not let itself"):
            await own.read("/hangs", 1, release.wait)
        assert time.monotonic() - began < 0.15
        assert await own.read("/other", 1, lambda: 7) == 7
        release.set()
        for _ in range(100):
            await asyncio.sleep(0.02)
            if "/hangs" not in own._stuck:
                break
        assert await own.read("/hangs", 1, lambda: 8) == 8

    run(work)


def test_readers_that_hang_take_nobodys_turn():
    async def work():
        own, release = Readers(deadline_s=0.1), threading.Event()
        hanging = [own.read(f"/{i}", 1, release.wait) for i in range(readers.MOST_STUCK)]
        found = await asyncio.gather(*hanging, return_exceptions=True)
        assert all(isinstance(e, FileUnreadable) for e in found)
        with pytest.raises(DaemonBusy):
            await own.read("/more", 1, lambda: 1)
        release.set()

    run(work)


def test_a_client_that_leaves_has_its_turns_until_its_threads_end():
    """Else one that asks and leaves, again and again, has as many threads as it likes."""

    async def work():
        own, release, running = Readers(deadline_s=30.0), threading.Event(), []

        def hangs():
            running.append(1)
            release.wait()

        for i in range(3 * readers.OF_CLIENT):
            asked = asyncio.create_task(own.read(f"/{i}", 1, hangs))
            await asyncio.sleep(0.05)
            asked.cancel()
        assert 1 <= len(running) <= readers.OF_CLIENT
        assert await own.read("/other", 2, lambda: 7) == 7
        release.set()
        assert await own.read("/mine", 1, lambda: 8) == 8

    run(work)


def test_what_a_reader_raises_is_its_callers():
    async def work():
        own = Readers()
        with pytest.raises(MirageError, match="mine"):
            await own.read("", 1, lambda: (_ for _ in ()).throw(MirageError("mine")))
        assert await own.read("", 1, lambda: 1) == 1

    run(work)
