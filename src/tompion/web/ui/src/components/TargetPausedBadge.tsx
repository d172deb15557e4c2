import { Badge } from '@mantine/core'
import { queryOptions, useQuery } from '@tanstack/react-query'

import { unwrap, api } from '../api/client'
import { queryKey } from '../api/queries'
import type { AuditEntry } from '../api/types'
import { RelativeTime } from './Timestamp'

const MAX_CHANGES = 200

/** The newest changes of everything: who paused what is known from there. */
const recentChangesQuery = () =>
  queryOptions({
    queryKey: queryKey('audit', 'pauses'),
    queryFn: () => unwrap(api.GET('/api/v1/audit', { params: { query: { everything: true, limit: MAX_CHANGES } } })),
  })

/** What a pause of a workflow or a queue says of itself, if it is not too long ago to be found. */
function findPause(changes: AuditEntry[], target: 'workflow' | 'queue', name: string): AuditEntry | undefined {
  return changes.find(({ operation, after }) => operation === 'pause_target' && (after as Record<string, unknown> | null)?.[target] === name)
}

/** That a workflow or a queue is paused: by whom, since when, and why. */
export function TargetPausedBadge({ target, name }: { target: 'workflow' | 'queue'; name: string }) {
  const changes = useQuery(recentChangesQuery()).data?.items
  const pause = changes && findPause(changes, target, name)
  const note = (pause?.after as { note?: string } | null | undefined)?.note
  return (
    <>
      <Badge color="orange">paused</Badge>
      {pause && (
        <span className="dim small">
          {' '}
          by {pause.actor}, <RelativeTime at={pause.at} />
          {note && ` · “${note}”`}
        </span>
      )}
    </>
  )
}
