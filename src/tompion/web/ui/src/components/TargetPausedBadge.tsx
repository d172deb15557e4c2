import { Badge } from '@mantine/core'
import { queryOptions, useQuery } from '@tanstack/react-query'

import { answer, api } from '../api/client'
import { key } from '../api/queries'
import type { Change } from '../api/types'
import { Relative } from './Timestamp'

const READ = 200

/** The newest changes of everything: who paused what is known from there. */
const changesQuery = () =>
  queryOptions({
    queryKey: key('audit', 'pauses'),
    queryFn: () => answer(api.GET('/api/v1/audit', { params: { query: { everything: true, limit: READ } } })),
  })

/** What a pause of a workflow or a queue says of itself, if it is not too long ago to be found. */
function pauseOf(changes: Change[], target: 'workflow' | 'queue', name: string): Change | undefined {
  return changes.find(({ operation, after }) => operation === 'pause_target' && (after as Record<string, unknown> | null)?.[target] === name)
}

/** That a workflow or a queue is paused: by whom, since when, and why. */
export function TargetPaused({ target, name }: { target: 'workflow' | 'queue'; name: string }) {
  const changes = useQuery(changesQuery()).data?.items
  const pause = changes && pauseOf(changes, target, name)
  const note = (pause?.after as { note?: string } | null | undefined)?.note
  return (
    <>
      <Badge color="orange">paused</Badge>
      {pause && (
        <span className="dim small">
          {' '}
          by {pause.actor}, <Relative at={pause.at} />
          {note && ` · “${note}”`}
        </span>
      )}
    </>
  )
}
