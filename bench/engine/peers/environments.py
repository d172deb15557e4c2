"""A virtual environment for every peer, made when it is first needed.

The peers do not agree on the versions of what they use (APScheduler 3 and 4 are even the same package), and none of
them belongs into Tompion's own environment.  What an environment holds is pinned in ``requirements/<name>.txt``, with
hashes and without addresses, as ``uv pip compile --universal --generate-hashes`` writes it.  The environments live in
``build/bench``, which git ignores and ``make clean`` removes.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from bench.engine.peers.progress import Progress, silent

ROOT = Path(__file__).resolve().parents[3]
HOME = ROOT / "build" / "bench"
PINS = Path(__file__).resolve().parent / "requirements"
STAMP_NAME = "tompion-installed"
INSTALL_SECONDS = 600


class InstallFailed(Exception):
    """An environment could not be created. The message is the end of the installer's output."""


def python_of(name: str, progress: Progress = silent) -> Path:
    """Return the interpreter of an environment, which is made first if it is not there as its pins want it."""
    pins = PINS / f"{name}.txt"
    home = HOME / name
    python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
    wanted = hashlib.sha256(f"{sys.version} {home} ".encode() + pins.read_bytes()).hexdigest()
    stamp = home / STAMP_NAME
    if stamp.is_file() and stamp.read_text() == wanted:
        return python
    progress(f"installing what {pins.relative_to(ROOT)} pins …")
    shutil.rmtree(home, ignore_errors=True)
    home.parent.mkdir(parents=True, exist_ok=True)
    _install(home, python, pins)
    stamp.write_text(wanted)
    return python


def site_packages(name: str, progress: Progress = silent) -> Path:
    """Return the folder of an environment that holds its packages."""
    ask = "import sysconfig; print(sysconfig.get_path('platlib'))"
    return Path(_run(str(python_of(name, progress)), "-c", ask).strip())


def _install(home: Path, python: Path, pins: Path) -> None:
    """Install with uv, or with pip if uv is missing or has no index."""
    uv = Path(sys.executable).with_name("uv")
    if uv.is_file():
        try:
            _run(str(uv), "venv", "--quiet", "--python", sys.executable, str(home))
            _run(str(uv), "pip", "install", "--quiet", "--python", str(python), "--require-hashes", "-r", str(pins))
        except InstallFailed:
            shutil.rmtree(home, ignore_errors=True)
        else:
            return
    _run(sys.executable, "-m", "venv", str(home))
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run(*pip, "--require-hashes", "-r", str(pins))


def _run(*command: str) -> str:
    """Run an installer and return what it printed, trusting the certificates that the machine trusts."""
    try:
        done = subprocess.run(  # noqa: S603 - Python, pip or uv, with fixed arguments
            command,
            env={"UV_SYSTEM_CERTS": "1"} | dict(os.environ),
            capture_output=True,
            text=True,
            check=False,
            timeout=INSTALL_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InstallFailed(str(error)) from error
    if done.returncode:
        raise InstallFailed((done.stderr or done.stdout).strip()[-600:] or f"exit code {done.returncode}")
    return done.stdout
