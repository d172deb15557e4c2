"""``python -m tompion``."""

from tompion.cli.main import main

main()
