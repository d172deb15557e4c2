"""Cron strings and structured calendars: fields, days, times of day and wall-clock sequences."""
