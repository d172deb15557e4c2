"""``python -m tests.documentation`` generates the pages that follow from the code."""

from __future__ import annotations

from tests.documentation.generated_pages import PAGES, ROOT


def main() -> None:
    """Write the pages, and print which have changed."""
    for name, generate in PAGES.items():
        path = ROOT / name
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        after = generate(before)
        path.write_text(after, encoding="utf-8")
        print(f"{name}: {'changed' if after != before else 'unchanged'}")


if __name__ == "__main__":
    main()
