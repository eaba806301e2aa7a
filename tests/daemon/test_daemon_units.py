"""The examples for systemd and launchd name commands and variables that exist."""

import configparser
import plistlib
from pathlib import Path

from mirage_daemon.daemon_command import daemon

CONTRIB = Path(__file__).resolve().parents[2] / "contrib"


def test_the_systemd_unit():
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str
    unit.read(CONTRIB / "mirage.service")
    words = unit["Service"]["ExecStart"].split()
    assert words[-2:] == ["daemon", "run"] and "run" in daemon.commands
    assert unit["Service"]["Environment"].startswith("MIRAGE_IDLE_S=")
    assert float(unit["Service"]["Environment"].partition("=")[2]) > 86400


def test_the_launchd_agent():
    agent = plistlib.loads((CONTRIB / "org.mirage.daemon.plist").read_bytes())
    assert agent["ProgramArguments"][1:] == ["daemon", "run"] and agent["Umask"] == 0o077
    assert float(agent["EnvironmentVariables"]["MIRAGE_IDLE_S"]) > 86400
