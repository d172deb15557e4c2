"""Write the pages that follow from the code anew: ``python -m tests.documentation``."""

from __future__ import annotations

from tests.documentation.generated_pages import PAGES, ROOT


def main() -> None:
    """Rewrite the pages, and say which have changed."""
    for name, make in PAGES.items():
        path = ROOT / name
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        after = make(before)
        path.write_text(after, encoding="utf-8")
        print(f"{name}: {'written anew' if after != before else 'nothing has changed'}")


if __name__ == "__main__":
    main()
