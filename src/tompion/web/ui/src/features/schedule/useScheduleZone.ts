import { useScheduleSummary } from '../../api/cache'

/** Return the time zone of a schedule. A cron expression can name it as well. */
export function useScheduleZone(id: string): string {
  return useScheduleSummary(id)?.timezone ?? 'UTC'
}
