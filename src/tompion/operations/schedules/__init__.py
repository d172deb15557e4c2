"""Operations on schedules: create, read, update, delete, control and backfill."""
