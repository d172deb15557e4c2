"""Operations on everything beside schedules and runs: workflows, calendars, queues, keys."""
