import { Badge } from '@mantine/core'

import type { Schedule } from '../api/types'
import { now } from '../lib/clock'
import { instantText, relativeText } from '../lib/format'
import { HoverTooltip } from './HoverTooltip'
import { RelativeTime } from './Timestamp'
import { useZoneChoice, displayZone } from '../lib/timezones'

/** What is special about a schedule, each with its reason a hover away. */
export function ScheduleBadges({ schedule, zone, isTargetPaused }: { schedule: Schedule; zone: string; isTargetPaused?: boolean }) {
  const { state, definition } = schedule
  return (
    <>
      {state === 'paused' && <PausedBadge schedule={schedule} zone={zone} />}
      {state === 'exhausted' && (
        <HoverTooltip focusable label={() => 'It has no more ticks to come'}>
          <Badge color="gray">exhausted</Badge>
        </HoverTooltip>
      )}
      {state === 'closed' && <Badge color="gray">deleted</Badge>}
      {state === 'damaged' && <Badge color="red">damaged</Badge>}
      {schedule.degraded && (
        <HoverTooltip focusable label={() => schedule.degraded}>
          <Badge color="red">degraded</Badge>
        </HoverTooltip>
      )}
      {isTargetPaused && (
        <HoverTooltip focusable label={() => 'Its workflow or queue is paused: ticks are recorded, and wait'}>
          <Badge color="orange">target paused</Badge>
        </HoverTooltip>
      )}
      {definition.shadow && (
        <HoverTooltip focusable label={() => 'It records what it would start, and starts nothing'}>
          <Badge color="grape">shadow</Badge>
        </HoverTooltip>
      )}
      {schedule.consecutive_failures > 0 && <Badge color="red">{schedule.consecutive_failures} failed in a row</Badge>}
    </>
  )
}

function PausedBadge({ schedule, zone }: { schedule: Schedule; zone: string }) {
  const displayedZone = displayZone(useZoneChoice(), zone)
  const by = schedule.paused_by ?? 'somebody'
  const label = () => (
    <>
      Paused by {by}
      {schedule.paused_at && `, ${relativeText(schedule.paused_at, now())}`}
      {schedule.paused_until ? `, until ${instantText(schedule.paused_until, displayedZone, 'minute')}` : ', until somebody resumes it'}
      {schedule.pause_note && <div>“{schedule.pause_note}”</div>}
    </>
  )
  return (
    <HoverTooltip focusable label={label}>
      <Badge color="yellow">
        paused by {by}
        {schedule.paused_until && (
          <>
            {' · ends '}
            <RelativeTime at={schedule.paused_until} />
          </>
        )}
      </Badge>
    </HoverTooltip>
  )
}
