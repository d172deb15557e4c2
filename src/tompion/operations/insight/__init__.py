"""Read-only operations that summarise: upcoming ticks, forecast, statistics, problems, previews."""
