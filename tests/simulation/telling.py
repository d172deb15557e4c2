"""Which story gives a planted mistake away, where it is not one of the first.

Only to be quick: when the stories change, the search goes through all of them, and ``--defects`` names the new ones.
"""

from __future__ import annotations

TELLING = {
    "a_delete_leaves_retries_waiting": 24,
    "a_late_tick_counts_as_missed": 7,
    "a_retry_is_never_due": 13,
    "a_run_that_was_given_up_is_launched_all_the_same": 3,
    "backfill_leaves_out_its_end": 7,
    "buffer_has_no_bound": 40,
    "catch_up_is_one_short": 6,
    "coalesce_runs_the_first": 3,
    "deferred_ticks_are_forgotten": 3,
    "delete_does_not_silence": 25,
    "launch_before_commit": 52,
    "nobody_starts_what_waits": 3,
    "notices_are_written_after_the_commit": 21,
    "notices_have_no_lease_that_ends": 7,
    "planned_runs_ignore_overlap": 9,
    "remaining_actions_not_counted": 3,
    "request_ids_forgotten": 12,
    "spans_are_miscounted": 3,
    "summaries_are_forgotten": 5,
    "the_last_action_is_dropped": 5,
    "the_longest_interval_is_only_the_baselines": 19,
    "the_shortest_interval_is_forgotten": 4,
    "what_is_given_up_keeps_its_slot": 14,
    "what_somebody_holds_is_given_up": 7,
}
