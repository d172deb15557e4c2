"""By which rule each planted mistake must be given away, and in which story to look first.

The rule is the promise that the mistake breaks: a checker of something else that happens to complain is not enough.
The story is only there to be quick: when stories change all are searched, and ``--defects`` names the new one.
"""

from __future__ import annotations

from typing import NamedTuple


class Giveaway(NamedTuple):
    """The rule that must complain, and a story in which it does."""

    rule: str
    seed: int = 0


TELLING = {
    "a_cancellation_hits_everybody": Giveaway("cancelled on request"),
    "a_delete_leaves_retries_waiting": Giveaway("nothing after a delete", 24),
    "a_late_failure_opens_a_run_again": Giveaway("final states are sticky"),
    "a_late_tick_counts_as_missed": Giveaway("drops are legal", 7),
    "a_lease_ends_and_its_runs_stay": Giveaway("everything comes to rest", 1),
    "a_notice_is_tried_once": Giveaway("whoever is told hears it"),
    "a_one_shot_hint_is_never_used_up": Giveaway("a one-shot hint is used once"),
    "a_pause_does_not_hold_the_tick_that_is_due": Giveaway("nothing starts while paused"),
    "a_pause_never_ends_by_itself": Giveaway("everything comes to rest", 3),
    "a_pause_passes_over_ticks": Giveaway("cursor stands still while paused", 1),
    "a_plain_success_counts_twice": Giveaway("final states are sticky", 18),
    "a_plain_success_needs_no_fence": Giveaway("ends are those of the last attempt", 870),
    "a_purge_takes_runs_from_whoever_has_them": Giveaway("open runs are kept", 23),
    "a_rescue_counts_from_one": Giveaway("fence monotone", 16),
    "a_retry_is_never_due": Giveaway("everything comes to rest", 13),
    "a_run_is_given_up_too_soon": Giveaway("endings are earned"),
    "a_run_that_was_given_up_is_launched_all_the_same": Giveaway("endings are earned", 11),
    "a_tick_waits_for_what_was_dropped": Giveaway("everything comes to rest", 139),
    "advance_before_insert": Giveaway("each tick once", 6),
    "an_adaptive_run_is_planned_for_the_past": Giveaway("not planned for the past"),
    "an_adaptive_schedule_waits_for_a_run_that_was_skipped": Giveaway("everything comes to rest"),
    "an_interval_is_asked_for_that_nobody_has_set": Giveaway("skips are legal", 8),
    "an_outcome_needs_no_fence": Giveaway("stale writes are rejected", 370),
    "an_outcome_writes_hints_as_they_were": Giveaway("no hint is lost"),
    "backfill_leaves_out_its_end": Giveaway("backfills are exact", 7),
    "buffer_has_no_bound": Giveaway("buffer bounded", 40),
    "catch_up_is_one_short": Giveaway("each tick once", 6),
    "coalesce_runs_the_first": Giveaway("coalesced is the latest", 3),
    "crashed_runs_are_never_picked_up": Giveaway("everything comes to rest"),
    "deadlines_come_early": Giveaway("endings are earned", 1),
    "deferred_ticks_are_forgotten": Giveaway("each tick once", 3),
    "delete_does_not_silence": Giveaway("nothing starts once deleted", 28),
    "edit_passes_over_ticks_silently": Giveaway("each tick once", 1),
    "fence_not_checked": Giveaway("stale writes are rejected", 370),
    "final_states_not_sticky": Giveaway("final states are sticky"),
    "fires_a_little_early": Giveaway("nothing early", 2),
    "jitter_not_deterministic": Giveaway("nothing early", 2),
    "key_contains_the_attempt": Giveaway("launches are recorded"),
    "launch_before_commit": Giveaway("launched once committed", 52),
    "leases_ignored": Giveaway("leases are respected"),
    "missed_ticks_are_dropped_whatever_the_policy": Giveaway("drops are legal", 1),
    "no_unique_key_and_no_row_lock": Giveaway("each tick once"),
    "nobody_starts_what_waits": Giveaway("everything comes to rest", 3),
    "notifications_are_written_after_the_commit": Giveaway("what goes wrong is told", 21),
    "notifications_have_no_lease_that_ends": Giveaway("whoever is told hears it", 7),
    "outcomes_are_dropped_when_the_store_fails": Giveaway("everything comes to rest"),
    "overlap_judged_before_the_lock": Giveaway("counters"),
    "pause_read_before_the_lock": Giveaway("token monotone"),
    "planned_runs_ignore_overlap": Giveaway("overlap", 11),
    "remaining_actions_not_counted": Giveaway("limits hold", 3),
    "request_ids_forgotten": Giveaway("requests count once", 12),
    "rescue_keeps_the_attempt": Giveaway("launches are recorded"),
    "resume_moves_the_cursor": Giveaway("each tick once", 1),
    "runs_are_taken_without_a_lease": Giveaway("everything comes to rest"),
    "skips_are_ignored": Giveaway("skips are obeyed", 1),
    "slots_are_never_freed": Giveaway("counters"),
    "spans_are_miscounted": Giveaway("each tick once", 3),
    "summaries_are_forgotten": Giveaway("whoever is told hears it", 5),
    "terminate_other_starts_nothing": Giveaway("terminated for another"),
    "the_last_action_is_dropped": Giveaway("limit", 5),
    "the_longest_interval_is_only_the_baselines": Giveaway("not later than the longest", 19),
    "the_shortest_interval_is_forgotten": Giveaway("not sooner than the shortest", 4),
    "timeouts_are_no_news": Giveaway("what goes wrong is told", 1),
    "token_stays": Giveaway("token monotone"),
    "update_replays_old_ticks": Giveaway("cursor monotone", 1),
    "what_is_given_up_keeps_its_slot": Giveaway("counters", 14),
    "what_somebody_holds_is_given_up": Giveaway("cancelled on request", 7),
    "what_was_purged_is_fired_from_memory": Giveaway("nothing after purge", 3),
    "whatever_ends_has_failed": Giveaway("what goes wrong is told"),
    "zombies_are_given_up_too_soon": Giveaway("zombies are silent", 1),
}
