import { Badge } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'

import { recentChangesQuery } from '../api/queries'
import type { AuditEntry } from '../api/types'
import { rich, t } from '../messages'
import { RelativeTime } from './Timestamp'

/** Return the audit entry of the newest pause of a workflow or a queue, if it is recent enough to be loaded. */
function findPause(changes: AuditEntry[], target: 'workflow' | 'queue', name: string): AuditEntry | undefined {
  return changes.find(
    ({ operation, after }) =>
      operation === 'pause_target' && (after as Record<string, unknown> | null)?.[target] === name,
  )
}

/** A badge for a paused workflow or queue, with the actor, the time and the reason. */
export function TargetPausedBadge({ target, name }: { target: 'workflow' | 'queue'; name: string }) {
  const changes = useQuery(recentChangesQuery()).data?.items
  const pause = changes && findPause(changes, target, name)
  const note = (pause?.after as { note?: string } | null | undefined)?.note
  return (
    <>
      <Badge color="orange">{t('badge.paused')}</Badge>
      {pause && (
        <span className="dim small">
          {rich('target.pausedBy', { actor: pause.actor, at: <RelativeTime at={pause.at} /> })}
          {note && t('pauseDetails.note', { note })}
        </span>
      )}
    </>
  )
}
