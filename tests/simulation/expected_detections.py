"""The rule that must detect each planted defect, and the seed to try first.

The rule is the guarantee that the defect breaks. A violation of another rule does not count as a detection.
The seed only saves time. If it no longer detects the defect, all seeds are tried, and ``--defects`` prints the new one.
"""

from __future__ import annotations

from typing import NamedTuple


class Detection(NamedTuple):
    """The rule that a defect violates, and a seed that shows it."""

    rule: str
    seed: int = 0


EXPECTED_DETECTIONS = {
    "a_cancellation_cancels_every_run": Detection("cancelled on request"),
    "a_cancelled_retry_keeps_its_slot": Detection("counters", 14),
    "a_delete_leaves_retries_waiting": Detection("nothing after a delete", 24),
    "a_deleted_schedule_fires": Detection("nothing starts once deleted", 28),
    "a_fixed_delay_waits_for_the_next_poll": Detection("engines are notified"),
    "a_launch_fails_while_its_target_is_down": Detection("no run fails before its launch deadline"),
    "a_late_failure_opens_a_run_again": Detection("final states are sticky"),
    "a_late_tick_counts_as_missed": Detection("drops are legal", 7),
    "a_minimum_interval_applies_without_being_set": Detection("skips are legal", 8),
    "a_notification_is_never_retried": Detection("notifications are delivered"),
    "a_notification_lease_never_expires": Detection("notifications are delivered", 7),
    "a_dead_process_keeps_its_lease": Detection("runs of a dead process are taken over"),
    "a_slow_process_is_taken_for_a_dead_one": Detection("live instances keep their leases"),
    "a_one_shot_hint_is_never_used_up": Detection("a one-shot hint is used once"),
    "a_pause_advances_the_cursor": Detection("cursor stands still while paused", 1),
    "a_pause_does_not_hold_the_tick_that_is_due": Detection("nothing starts while paused"),
    "a_pause_never_ends_by_itself": Detection("no work is stuck", 3),
    "a_plain_success_counts_twice": Detection("final states are sticky", 18),
    "a_plain_success_needs_no_fence": Detection("outcomes are of the last attempt", 870),
    "a_purge_deletes_running_runs": Detection("open runs are kept", 23),
    "a_purged_schedule_fires_from_memory": Detection("nothing after purge", 3),
    "a_rescue_counts_from_one": Detection("fence monotone", 16),
    "a_retry_is_never_due": Detection("no work is stuck", 13),
    "a_run_fails_after_its_first_lost_worker": Detection("endings are justified"),
    "a_run_is_launched_after_too_many_lost_workers": Detection("endings are justified", 11),
    "a_run_with_a_worker_is_cancelled_at_once": Detection("cancelled on request", 7),
    "a_tick_waits_for_a_dropped_run": Detection("no work is stuck", 139),
    "a_resumed_worker_launches_what_it_had_claimed": Detection("launches hold their lease", 30),
    "advance_before_insert": Detection("each tick once", 6),
    "an_adaptive_run_is_planned_for_the_past": Detection("not planned for the past"),
    "an_adaptive_schedule_waits_for_a_run_that_was_skipped": Detection("no work is stuck"),
    "an_expired_lease_keeps_its_runs": Detection("no work is stuck", 1),
    "an_outcome_needs_no_fence": Detection("stale writes are rejected", 388),
    "an_outcome_writes_hints_as_they_were": Detection("no hint is lost"),
    "backfill_leaves_out_its_end": Detection("backfills are exact", 7),
    "buffer_is_unbounded": Detection("buffer bounded", 40),
    "catch_up_is_one_short": Detection("each tick once", 6),
    "coalesce_leaves_late_ticks_alone": Detection("coalesced is the latest", 20),
    "coalesce_runs_the_first": Detection("coalesced is the latest", 3),
    "crashed_runs_are_never_picked_up": Detection("no work is stuck"),
    "deadlines_come_early": Detection("endings are justified", 1),
    "deferred_ticks_are_forgotten": Detection("each tick once", 3),
    "dropped_ranges_are_miscounted": Detection("each tick once", 3),
    "edit_passes_over_ticks_silently": Detection("each tick once", 1),
    "fence_not_checked": Detection("stale writes are rejected", 388),
    "final_states_not_sticky": Detection("final states are sticky"),
    "fires_a_little_early": Detection("nothing early", 2),
    "jitter_not_deterministic": Detection("nothing early", 2),
    "key_contains_the_attempt": Detection("launches are recorded"),
    "launch_before_commit": Detection("launched once committed", 52),
    "leases_ignored": Detection("leases are respected"),
    "missed_ticks_are_dropped_whatever_the_policy": Detection("drops are legal", 1),
    "no_unique_key_and_no_row_lock": Detection("each tick once"),
    "notifications_are_written_after_the_commit": Detection("failures are notified", 21),
    "outcomes_are_dropped_when_the_store_fails": Detection("no work is stuck"),
    "overlap_judged_before_the_lock": Detection("counters"),
    "pause_read_before_the_lock": Detection("token monotone"),
    "planned_runs_ignore_overlap": Detection("overlap", 11),
    "remaining_actions_not_counted": Detection("limits hold", 3),
    "request_ids_forgotten": Detection("requests count once", 12),
    "rescue_keeps_the_attempt": Detection("launches are recorded"),
    "resume_moves_the_cursor": Detection("each tick once", 1),
    "runs_are_taken_without_a_lease": Detection("no work is stuck"),
    "skips_are_ignored": Detection("skips are obeyed", 1),
    "slots_are_never_freed": Detection("counters"),
    "successes_are_notified_as_failures": Detection("failures are notified"),
    "suspects_are_launched_together": Detection("suspects run alone"),
    "summaries_are_forgotten": Detection("notifications are delivered", 5),
    "terminate_other_starts_nothing": Detection("terminated for another"),
    "the_last_action_is_dropped": Detection("limit", 5),
    "the_longest_interval_is_only_the_baselines": Detection("not later than the longest", 19),
    "the_shortest_interval_is_forgotten": Detection("not sooner than the shortest", 4),
    "timeouts_are_not_notified": Detection("failures are notified", 1),
    "token_is_not_incremented": Detection("token monotone"),
    "update_replays_old_ticks": Detection("cursor monotone", 1),
    "waiting_runs_are_never_started": Detection("no work is stuck", 3),
    "zombies_fail_too_soon": Detection("zombies are silent", 1),
}
