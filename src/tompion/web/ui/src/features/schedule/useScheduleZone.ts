import { useGlance } from '../../api/cache'

/** The time zone of a schedule, which its cron strings may name as well. */
export function useZone(id: string): string {
  return useGlance(id)?.timezone ?? 'UTC'
}
