"""`./dev e2e`: the extension in a real VS Code workbench, in a real browser, against the real server and daemon.

    ./dev e2e [SCENARIO...] [--keep] [--times] [--pictures]

From nothing: the tools (a Node, code-server, the browser's driver) are installed once into ~/.cache/mirage-e2e (or
$MIRAGE_E2E_TOOLS), the extension is checked and packaged, installed into a fresh profile, and the scenarios of
`scenarios/` run in headless Chromium. Pictures stay in `e2e/out`. Exit status: 0 all passed, 1 one failed, 77 it could not
run here, and why.

--keep leaves the profile, --times says when each picture was taken, --pictures renews those of the extension's README.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import tools

HERE = Path(__file__).resolve().parent
EXTENSION = HERE.parent
COULD_NOT = 77
PICTURES = EXTENSION / "media" / "pictures"
SHOWN = ("hover", "mugraph", "proof", "diff", "jobs", "missing")  # in the README and in docs/editor.md
START_S = 60


def say(text: str) -> None:
    print(f"e2e: {text}", file=sys.stderr, flush=True)


def package(kit: tools.Tools) -> Path:
    """The .vsix, made from the sources as they are."""
    if not (EXTENSION / "node_modules" / ".package-lock.json").exists():
        say("npm ci")
        kit.npm("ci", "--ignore-scripts", "--no-audit", "--no-fund", cwd=EXTENSION)
    made = subprocess.run(
        ["npm", "run", "--silent", "package"], cwd=EXTENSION, env=kit.environment(), capture_output=True, text=True
    )
    if made.returncode != 0:
        raise SystemExit(f"e2e: the extension was not packaged\n{made.stdout}{made.stderr}")
    return EXTENSION / "dist" / "mirage.vsix"


def stand_in(kit: tools.Tools, folder: Path) -> Path:
    """A package of the Python extension's stand-in."""
    vsix = folder / "stand-in.vsix"
    vsce = EXTENSION / "node_modules" / ".bin" / "vsce"
    command = [
        str(vsce),
        "package",
        "--no-dependencies",
        "--skip-license",
        "--allow-missing-repository",
        "-o",
        str(vsix),
    ]
    subprocess.run(command, cwd=HERE / "stub-python", env=kit.environment(), check=True, capture_output=True)
    return vsix


def profile(folder: Path, python: str) -> None:
    """A fresh profile. A window of a remote server reads its settings from two places."""
    settings = json.loads((HERE / "settings.json").read_text("utf-8"))
    settings["standIn.python"] = python
    for place in ("User", "Machine"):
        where = folder / "data" / place
        where.mkdir(parents=True)
        (where / "settings.json").write_text(json.dumps(settings), "utf-8")
    # the extension host takes its environment from a login shell
    (folder / ".profile").write_text(f'export PATH="{folder}/bin:/usr/bin:/bin"\n', "utf-8")


class CodeServer:
    """code-server with the extension installed, on a free port. Its processes end with it."""

    def __init__(self, kit: tools.Tools, folder: Path, *packages: Path) -> None:
        common = [
            "--config",
            f"{folder}/config.yaml",
            "--user-data-dir",
            f"{folder}/data",
            "--extensions-dir",
            f"{folder}/x",
        ]
        self._command = [str(kit.node), str(kit.code_server), *common]
        self._env = {
            "HOME": str(folder),
            "PATH": f"{folder}/bin:{kit.node.parent}:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "EXTENSIONS_GALLERY": '{"serviceUrl":""}',
            "MIRAGE_HOME": str(folder / "h"),
            "OMP_NUM_THREADS": "1",
        }
        install = [word for package in packages for word in ("--install-extension", str(package))]
        subprocess.run([*self._command, *install], env=self._env, check=True, capture_output=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        flags = ["--auth", "none", "--bind-addr", f"127.0.0.1:{self.port}", "--disable-telemetry", "--disable-update-check",
                 "--disable-getting-started-override", "--disable-file-downloads", "--reconnection-grace-time", "5"]  # fmt: skip
        with (folder / "server.log").open("wb") as log:
            self._process = subprocess.Popen(
                [*self._command, *flags], env=self._env, stdout=log, stderr=log, start_new_session=True
            )
        self._wait()

    def _wait(self) -> None:
        end = time.monotonic() + START_S
        while time.monotonic() < end and self._process.poll() is None:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=1):
                    return
            except OSError:
                time.sleep(0.1)
        raise SystemExit("e2e: code-server did not start; see server.log")

    def end(self) -> None:
        os.killpg(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)


def main(arguments: list[str]) -> int:
    names = [a for a in arguments if not a.startswith("-")]
    try:
        kit = tools.ready(say)
    except tools.Missing as missing:
        say(f"NOT RUN: {missing}")
        return COULD_NOT
    began = time.monotonic()
    out = HERE / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    try:
        vsix = package(kit)
    except tools.Missing as missing:
        say(f"NOT RUN: {missing}")
        return COULD_NOT
    folder = Path(tempfile.mkdtemp(prefix="mvs-"))  # a socket's path has to be short
    server = None
    try:
        python = os.path.normpath(sys.executable)
        profile(folder, python)
        server = CodeServer(kit, folder, vsix, stand_in(kit, folder))
        setup = {"port": server.port, "folder": str(folder), "home": str(folder / "h"), "out": str(out),
                 "python": python, "tools": str(kit.folder), "browser": kit.browser, "times": "--times" in arguments}  # fmt: skip
        return subprocess.run([str(kit.node), str(HERE / "run.mjs"), json.dumps(setup), *names]).returncode
    finally:
        if server is not None:
            server.end()
        stop = "import sys; sys.argv = ['mirage', 'daemon', 'stop']; from mirage.cli import main; main()"
        subprocess.run(
            [sys.executable, "-c", stop], env={**os.environ, "MIRAGE_HOME": str(folder / "h")}, capture_output=True
        )
        for log in [
            folder / "server.log",
            *(folder / "data" / "logs").rglob("*Mirage*.log"),
            *(folder / "h").rglob("*.log"),
        ]:
            if log.exists():
                shutil.copy(log, out / f"{log.parent.parent.name}-{log.name}" if log.name != "server.log" else out)
        if "--pictures" in arguments:
            PICTURES.mkdir(exist_ok=True)
            for name in SHOWN:
                if (out / f"{name}.png").exists():
                    shutil.copy(out / f"{name}.png", PICTURES)
        if "--keep" in arguments:
            say(f"kept {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
        say(f"{time.monotonic() - began:.0f} s; pictures and logs in {out.relative_to(EXTENSION.parent)}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
