"""Prints the pin of a release: ``python -m tests.migration COMMIT``, to be added to ``releases.json``."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.migration.releases import ROOT, build, pin_of, written

command = ["git", "rev-parse", "--verify", f"{sys.argv[1]}^{{commit}}"]
commit = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
with tempfile.TemporaryDirectory() as directory:
    print(written(pin_of(commit, build(commit, Path(directory)))))
