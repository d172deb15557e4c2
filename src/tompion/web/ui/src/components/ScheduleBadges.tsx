import { Badge } from '@mantine/core'

import type { Schedule } from '../api/types'
import { now } from '../lib/clock'
import { instantText, relativeText } from '../lib/format'
import { Hover } from './HoverTooltip'
import { Relative } from './Timestamp'
import { useZoneChoice, zoneFor } from '../lib/timezones'

/** What is special about a schedule, each with its reason a hover away. */
export function Badges({ schedule, zone, targetPaused }: { schedule: Schedule; zone: string; targetPaused?: boolean }) {
  const { state, definition } = schedule
  return (
    <>
      {state === 'paused' && <Paused schedule={schedule} zone={zone} />}
      {state === 'exhausted' && (
        <Hover focusable label={() => 'It has no more ticks to come'}>
          <Badge color="gray">exhausted</Badge>
        </Hover>
      )}
      {state === 'closed' && <Badge color="gray">deleted</Badge>}
      {state === 'damaged' && <Badge color="red">damaged</Badge>}
      {schedule.degraded && (
        <Hover focusable label={() => schedule.degraded}>
          <Badge color="red">degraded</Badge>
        </Hover>
      )}
      {targetPaused && (
        <Hover focusable label={() => 'Its workflow or queue is paused: ticks are recorded, and wait'}>
          <Badge color="orange">target paused</Badge>
        </Hover>
      )}
      {definition.shadow && (
        <Hover focusable label={() => 'It records what it would start, and starts nothing'}>
          <Badge color="grape">shadow</Badge>
        </Hover>
      )}
      {schedule.consecutive_failures > 0 && <Badge color="red">{schedule.consecutive_failures} failed in a row</Badge>}
    </>
  )
}

function Paused({ schedule, zone }: { schedule: Schedule; zone: string }) {
  const shown = zoneFor(useZoneChoice(), zone)
  const by = schedule.paused_by ?? 'somebody'
  const label = () => (
    <>
      Paused by {by}
      {schedule.paused_at && `, ${relativeText(schedule.paused_at, now())}`}
      {schedule.paused_until ? `, until ${instantText(schedule.paused_until, shown, 'minute')}` : ', until somebody resumes it'}
      {schedule.pause_note && <div>“{schedule.pause_note}”</div>}
    </>
  )
  return (
    <Hover focusable label={label}>
      <Badge color="yellow">
        paused by {by}
        {schedule.paused_until && (
          <>
            {' · ends '}
            <Relative at={schedule.paused_until} />
          </>
        )}
      </Badge>
    </Hover>
  )
}
