"""The benchmark of the web UI with very many schedules."""
