"""Runs attempts: the launcher, one attempt, and the lookup of workflow documents."""
