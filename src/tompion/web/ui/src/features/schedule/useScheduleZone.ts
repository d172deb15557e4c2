import { useScheduleSummary } from '../../api/cache'

/** The time zone of a schedule, which its cron strings may name as well. */
export function useScheduleZone(id: string): string {
  return useScheduleSummary(id)?.timezone ?? 'UTC'
}
