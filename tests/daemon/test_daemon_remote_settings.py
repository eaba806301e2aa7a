"""Who says where the shared cache is: the user's own settings and the daemon's command line, and no file of a project."""

import json
import subprocess
import sys

import pytest
from daemonbench.shared_cache_server import TOKEN, SharedCacheServer

from mirage.cli import project_settings
from mirage.errors import BadProjectSettings, RemoteCacheFault
from mirage.link import user_settings
from mirage.link.daemon_start import environment
from mirage_daemon import lifecycle
from mirage_daemon.daemon_command import _print_remote
from mirage_daemon.remote_place import FIRST_BYTE_S

URL = "https://cache.example.org/mirage"


def write(home, name, text, mode=0o600):
    path = home / name
    path.write_text(text)
    path.chmod(mode)


def settings(home, mode=0o600, **said):
    write(home, user_settings.FILE, json.dumps(said), mode)


def test_the_users_own_settings_say_where_it_is(home):
    assert lifecycle.remote_cache() is None
    settings(home, remote_cache=URL, remote_cache_first_byte_ms=700)
    found = lifecycle.remote_cache()
    assert found.status()["url"] == "https://cache.example.org:443/mirage" and found._store.first_byte_s == 0.7
    settings(home, remote_cache=URL)
    assert lifecycle.remote_cache()._store.first_byte_s == FIRST_BYTE_S
    assert lifecycle.remote_cache("https://other.example.org").status()["url"] == "https://other.example.org:443"


def test_settings_that_others_can_write_say_nothing(home):
    settings(home, 0o666, remote_cache=URL)
    assert lifecycle.remote_cache() is None
    (home / user_settings.FILE).unlink()
    settings(home, remote_cache=URL)
    (home / user_settings.FILE).rename(home / "elsewhere.json")
    (home / user_settings.FILE).symlink_to(home / "elsewhere.json")
    assert lifecycle.remote_cache() is None


@pytest.mark.parametrize("said", [{"remote_cache": 5}, {"remote_cache": ["https://a"]}, {"remote_cache": "ftp://a"}, {"remote_cache": ""},
    {"remote_cache": URL, "remote_cache_first_byte_ms": True}, {"remote_cache": URL, "remote_cache_first_byte_ms": 0},
    {"remote_cache": URL, "remote_cache_first_byte_ms": "200"}, {"remote_cache": URL, "remote_cache_first_byte_ms": 1e9}])  # fmt: skip
def test_a_mistake_in_the_settings_is_said_and_costs_the_shared_cache_alone(home, said, caplog):
    settings(home, **said)
    with pytest.raises(RemoteCacheFault):
        lifecycle.remote_cache()
    assert lifecycle._remote_of_settings() is None and "MIR510" in caplog.text


def test_a_mistake_on_the_command_line_is_an_end(home, capsys):
    assert lifecycle.main(remote_url="ftp://a") == 1
    assert "MIR510" in capsys.readouterr().err


def test_a_projects_file_has_no_say(home, house, text, answer, tmp_path, monkeypatch):
    """Neither the command line's settings know the key, nor does a daemon that stands in such a project look at it."""
    with SharedCacheServer("") as server:
        project = tmp_path / "project"
        project.mkdir()
        (project / "pyproject.toml").write_text(f'[tool.mirage]\nremote-cache = "{server.url}"\n')
        (project / "settings.json").write_text(json.dumps({"remote_cache": server.url}))
        with pytest.raises(BadProjectSettings, match="no key `remote-cache`"):
            project_settings.read(project / "pyproject.toml")
        monkeypatch.chdir(project)
        monkeypatch.setenv("MIRAGE_REMOTE_CACHE", server.url)
        assert lifecycle.remote_cache() is None
        with house(lambda payload, *_: answer(payload), remote=lifecycle.remote_cache()) as h:
            client = h.client()
            path = str(project / "a.py")
            assert client.subscribe(client.submit(text, path, "f")["job"])["state"] == "done"
            assert client.status()["remote"] is None
        assert server.log == []


def test_the_token_is_the_environments_or_a_private_files(home, monkeypatch):
    assert user_settings.remote_cache_token() == ""
    write(home, user_settings.TOKEN_FILE, "from-a-file\n", 0o644)
    assert user_settings.remote_cache_token() == ""
    (home / user_settings.TOKEN_FILE).chmod(0o600)
    assert user_settings.remote_cache_token() == "from-a-file"
    monkeypatch.setenv(user_settings.TOKEN_VARIABLE, TOKEN)
    assert user_settings.remote_cache_token() == TOKEN
    assert environment()[user_settings.TOKEN_VARIABLE] == TOKEN  # of the daemon that a client starts


def test_status_says_it_in_words(capsys):
    numbers = {"proposed": 3, "misses": 2, "verified": 1, "refused": 2, "faults": 4, "uploaded": 5}
    _print_remote({"url": URL, "pause_s": 12.4, "problem": "it does not answer", **numbers})
    said = capsys.readouterr().out
    assert "2 refused" in said and "left alone for 12 s" in said and "last problem: it does not answer" in said


def test_without_one_nothing_of_it_is_imported(home):
    code = (
        "import sys\nfrom mirage_daemon import lifecycle, server\nassert lifecycle.remote_cache() is None\n"
        "print(*[m for m in sys.modules if m.startswith('mirage_daemon.remote') or m == 'http.client'])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == ""
