"""The minimal settings of the example."""

from __future__ import annotations

SECRET_KEY = "only for the example"  # noqa: S105 - nothing depends on it
INSTALLED_APPS = ["reports"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "example-site.db"}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
TOMPION_STORE = "sqlite:///example-django.db"
