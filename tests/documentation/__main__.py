"""Draw the pictures of the documentation anew: ``python -m tests.documentation``."""

from __future__ import annotations

from tests.documentation.pictures import PAGE, pictures, with_pictures


def main() -> None:
    """Rewrite the page, and say whether anything has changed."""
    before = PAGE.read_text(encoding="utf-8")
    after = with_pictures(before, pictures())
    PAGE.write_text(after, encoding="utf-8")
    print(f"{PAGE.name}: {'drawn anew' if after != before else 'nothing has changed'}")


if __name__ == "__main__":
    main()
