import { Badge } from '@mantine/core'
import type { Schedule } from '../api/types'
import { now } from '../lib/clock'
import { instantText, relativeText } from '../lib/format'
import { displayZone, useZoneChoice } from '../lib/timezones'
import { rich, t } from '../messages'
import { HoverTooltip } from './HoverTooltip'
import { RelativeTime } from './Timestamp'

/** Badges for everything unusual about a schedule, with explanations as tooltips. */
export function ScheduleBadges({
  schedule,
  zone,
  isTargetPaused,
}: {
  schedule: Schedule
  zone: string
  isTargetPaused?: boolean
}) {
  const { status } = schedule
  return (
    <>
      {status === 'paused' && <PausedBadge schedule={schedule} zone={zone} />}
      {status === 'exhausted' && (
        <HoverTooltip focusable label={() => t('badge.completedHelp')}>
          <Badge color="gray">{t('scheduleState.exhausted')}</Badge>
        </HoverTooltip>
      )}
      {status === 'closed' && <Badge color="gray">{t('scheduleState.closed')}</Badge>}
      {status === 'damaged' && <Badge color="red">{t('scheduleState.damaged')}</Badge>}
      {schedule.degraded && (
        <HoverTooltip focusable label={() => schedule.degraded}>
          <Badge color="red">{t('badge.degraded')}</Badge>
        </HoverTooltip>
      )}
      {isTargetPaused && (
        <HoverTooltip focusable label={() => t('badge.targetPausedHelp')}>
          <Badge color="orange">{t('badge.targetPaused')}</Badge>
        </HoverTooltip>
      )}
      {schedule.shadow && (
        <HoverTooltip focusable label={() => t('badge.shadowHelp')}>
          <Badge color="grape">{t('badge.shadow')}</Badge>
        </HoverTooltip>
      )}
      {schedule.consecutive_failures > 0 && (
        <Badge color="red">{t('badge.failures', { count: schedule.consecutive_failures })}</Badge>
      )}
    </>
  )
}

/** "Paused by ann", or "Paused" if the actor is unknown. */
export function pausedText({ paused_by: actor }: Schedule): string {
  return actor ? t('badge.pausedBy', { actor }) : t('badge.paused')
}

function PausedBadge({ schedule, zone }: { schedule: Schedule; zone: string }) {
  const displayedZone = displayZone(useZoneChoice(), zone)
  const label = () => (
    <>
      {pausedText(schedule)}
      {schedule.paused_at && t('pauseDetails.relative', { at: relativeText(schedule.paused_at, now()) })}
      {schedule.paused_until
        ? t('pauseDetails.resumes', { at: instantText(schedule.paused_until, displayedZone, 'minute') })
        : t('pauseDetails.untilResumed')}
      {schedule.note && <div>{t('pauseDetails.quotedNote', { note: schedule.note })}</div>}
    </>
  )
  return (
    <HoverTooltip focusable label={label}>
      <Badge color="yellow">
        {pausedText(schedule)}
        {schedule.paused_until && rich('badge.resumes', { at: <RelativeTime at={schedule.paused_until} /> })}
      </Badge>
    </HoverTooltip>
  )
}
