"""The benchmark of the page: how soon it shows something, and answers, with very many schedules stored."""
