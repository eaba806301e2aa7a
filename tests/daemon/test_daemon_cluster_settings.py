"""Who says which cluster searches: the user's own settings and the daemon's command line; and how many jobs run with it."""

import json
import threading

import pytest
from click.testing import CliRunner
from waiting import wait_until

from mirage.link import user_settings
from mirage_daemon import cluster, lifecycle
from mirage_daemon.daemon_command import daemon


def settings(home, mode=0o600, **said):
    path = home / user_settings.FILE
    path.write_text(json.dumps(said))
    path.chmod(mode)


@pytest.fixture
def connections(monkeypatch):
    """The clusters that were to be reached, which none is."""
    reached = []
    monkeypatch.setattr(cluster.Cluster, "connect_later", lambda self: reached.append(self.address))
    return reached


def test_the_users_own_settings_say_which(home, connections):
    assert lifecycle.cluster_of_settings() is None
    settings(home, cluster="10.0.0.1:6379")
    assert lifecycle.cluster_of_settings().address == "10.0.0.1:6379" and connections == ["10.0.0.1:6379"]
    settings(home, 0o666, cluster="10.0.0.1:6379")  # others can write it
    assert lifecycle.cluster_of_settings() is None


@pytest.mark.parametrize("said", [5, "", "ray://a:1", ["auto"]])
def test_a_mistake_in_the_settings_is_said_and_costs_the_cluster_alone(home, said, caplog, connections):
    settings(home, cluster=said)
    assert lifecycle.cluster_of_settings() is None and "MIR511" in caplog.text and not connections


def test_one_of_the_settings_that_is_not_there_is_told_by_the_log(caplog):
    absent = cluster.Cluster("auto", command=["/nonexistent/python"])
    absent.connect_later()
    wait_until(lambda: "MIR511" in caplog.text)
    assert absent.processors == 0


@pytest.mark.parametrize("address", ["ray://a:1", "127.0.0.1:1"])
def test_one_of_the_command_line_that_is_not_there_is_an_end(home, capsys, address, monkeypatch):
    if address != "ray://a:1":  # the process that uses Ray cannot be started: nothing is asked of this machine's Ray

        class Absent(cluster.Cluster):
            def __init__(self, address):
                super().__init__(address, command=["/nonexistent/python"])

        monkeypatch.setattr(cluster, "Cluster", Absent)
    assert lifecycle.main(cluster_address=address) == 1
    said = capsys.readouterr().err
    assert said.startswith("MIR511") and said.count("\n") == 1


def test_the_command_hands_the_address_on(monkeypatch):
    asked = {}
    monkeypatch.setattr(lifecycle, "main", lambda **given: asked.update(given) or 0)
    assert CliRunner().invoke(daemon, ["run", "--cluster", "auto"]).exit_code == 0
    assert asked["cluster_address"] == "auto"
    assert CliRunner().invoke(daemon, ["run"]).exit_code == 0 and asked["cluster_address"] == ""


def test_more_jobs_run_once_the_cluster_has_processors(house, home, text, answer):
    here, inside, let_go = [1], [], threading.Event()

    def job(payload, progress, cancel):
        inside.append(payload["function"])
        let_go.wait(5)
        return answer(payload)

    with house(job, workers=lambda: here[0]) as h:
        client = h.client()
        ids = [client.submit(text, str(home / "a.py"), name, trusted=True)["job"] for name in "fg"]
        wait_until(lambda: inside)
        assert len(inside) == 1
        here[0] = 2
        ids.append(client.submit(text.replace("64", "32"), str(home / "a.py"), "f", trusted=True)["job"])
        wait_until(lambda: len(inside) == 2)
        let_go.set()
        wait_until(lambda: len(inside) == 3)
        assert {client.subscribe(i)["state"] for i in ids} == {"done"}
