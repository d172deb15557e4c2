import { Badge, Tooltip } from '@mantine/core'

import type { Schedule } from '../api/types'
import { useNow } from './clock'
import { instantText, relativeText } from './format'
import { useZoneChoice, zoneFor } from './zones'

/** What is special about a schedule, each with its reason a hover away. */
export function Badges({ schedule, zone, targetPaused }: { schedule: Schedule; zone: string; targetPaused?: boolean }) {
  const now = useNow()
  const shown = zoneFor(useZoneChoice(), zone)
  const { state, definition } = schedule
  return (
    <>
      {state === 'paused' && (
        <Tooltip
          label={
            <>
              Paused by {schedule.paused_by ?? 'somebody'}
              {schedule.paused_at && `, ${relativeText(schedule.paused_at, now)}`}
              {schedule.paused_until ? `, until ${instantText(schedule.paused_until, shown, 'minute')}` : ', until somebody resumes it'}
              {schedule.pause_note && <div>“{schedule.pause_note}”</div>}
            </>
          }
        >
          <Badge color="yellow">
            paused by {schedule.paused_by ?? 'somebody'}
            {schedule.paused_until && ` · ${relativeText(schedule.paused_until, now)}`}
          </Badge>
        </Tooltip>
      )}
      {state === 'exhausted' && (
        <Tooltip label="It has no more ticks to come">
          <Badge color="gray">exhausted</Badge>
        </Tooltip>
      )}
      {state === 'closed' && <Badge color="gray">deleted</Badge>}
      {state === 'damaged' && <Badge color="red">damaged</Badge>}
      {schedule.degraded && (
        <Tooltip label={schedule.degraded}>
          <Badge color="red">degraded</Badge>
        </Tooltip>
      )}
      {targetPaused && (
        <Tooltip label="Its workflow or queue is paused: ticks are recorded, and wait">
          <Badge color="orange">target paused</Badge>
        </Tooltip>
      )}
      {definition.shadow && (
        <Tooltip label="It records what it would start, and starts nothing">
          <Badge color="grape">shadow</Badge>
        </Tooltip>
      )}
      {schedule.consecutive_failures > 0 && (
        <Badge color="red">
          {schedule.consecutive_failures} failed in a row
        </Badge>
      )}
    </>
  )
}
