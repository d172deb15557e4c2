import { useQuery } from '@tanstack/react-query'

import { glancesQuery } from '../../api/queries'

/** The time zone of a schedule, which its cron strings may name as well. */
export function useZone(id: string): string {
  return useQuery(glancesQuery([id])).data?.[0]?.timezone ?? 'UTC'
}
