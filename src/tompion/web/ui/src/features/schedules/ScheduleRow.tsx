import { memo } from 'react'
import type { ScheduleAction, ScheduleActionRequest } from '../../api/mutations'
import type { Schedule, ScheduleSummary } from '../../api/types'
import { Icon, type IconName } from '../../components/Icon'
import { Sparkline } from '../../components/outcomes'
import { QuickLink } from '../../components/QuickLink'
import { ScheduleBadges } from '../../components/ScheduleBadges'
import { RelativeTime, Timestamp } from '../../components/Timestamp'
import { now } from '../../lib/clock'
import { shortInstantText } from '../../lib/format'
import { targetText } from '../../lib/target'
import { displayZone, LOCAL_ZONE, useZoneChoice } from '../../lib/timezones'
import { t } from '../../messages'
import classes from './ScheduleTable.module.css'

interface Props {
  schedule: Schedule
  summary: ScheduleSummary | undefined
  isSelected: boolean
  onToggle: (id: string) => void
  mayOperate: boolean
  index: number
  pendingRequest: ScheduleActionRequest | undefined
  onAction: (action: ScheduleAction, schedule: Schedule) => void
}

export const ScheduleRow = memo(function ScheduleRow({
  schedule,
  summary,
  isSelected,
  onToggle,
  mayOperate,
  index,
  pendingRequest,
  onAction,
}: Props) {
  const { schedule_id: id } = schedule
  const zone = summary?.timezone ?? schedule.timezone ?? 'UTC'
  return (
    <div
      role="row"
      aria-rowindex={index + 1}
      className={`${classes.row} ${classes.body}`}
      data-operate={mayOperate}
      data-quiet={schedule.status !== 'active'}
      aria-busy={summary ? undefined : true}
    >
      {mayOperate && (
        <div role="cell">
          <input
            type="checkbox"
            className={classes.check}
            aria-label={t('schedules.select', { id })}
            checked={isSelected}
            onChange={() => onToggle(id)}
          />
        </div>
      )}
      <div role="cell">
        <QuickLink to="/schedules/$id" params={{ id }} className={classes.id}>
          {id}
        </QuickLink>
        <div className={classes.second}>
          <span>{targetText(schedule)}</span>
          <ScheduleBadges schedule={schedule} zone={zone} isTargetPaused={summary?.target_paused} />
        </div>
      </div>
      <div role="cell" className={classes.when}>
        <div className={classes.clamp} title={summary?.explanation}>
          {summary ? summary.explanation.replace(/:\n[•\- ]*/, ': ').replace(/\n[•\- ]*/g, ' · ') : '…'}
        </div>
      </div>
      <div role="cell" className={classes.next}>
        <NextRun schedule={schedule} zone={zone} />
      </div>
      <div role="cell" className={classes.outcomes}>
        <Sparkline summary={summary} zone={zone} />
      </div>
      {mayOperate && (
        <div role="cell" className={classes.actions}>
          <RowActions
            schedule={schedule}
            pendingRequest={pendingRequest}
            onAction={(action) => onAction(action, schedule)}
          />
        </div>
      )}
    </div>
  )
})

/** The next fire, in the zone that is wanted and in another one, and how long it is until then. */
function NextRun({ schedule, zone }: { schedule: Schedule; zone: string }) {
  const choice = useZoneChoice()
  const at = schedule.next_fire_at ?? schedule.next_run_at
  if (!at) return <span className="dim">{t('schedules.noUpcoming')}</span>
  const displayedZone = displayZone(choice, zone)
  const otherZone = choice === 'schedule' ? LOCAL_ZONE : zone
  const isPaused = schedule.status === 'paused'
  return (
    <>
      <Timestamp at={at} zone={zone} short />
      <div className={classes.second}>
        {isPaused ? t('schedules.whilePaused') : <RelativeTime at={at} />}
        {displayZone('schedule', otherZone) !== displayedZone && (
          <span title={otherZone}>
            {shortInstantText(at, displayZone('schedule', otherZone), now(), 'minute')} {zoneCity(otherZone)}
          </span>
        )}
      </div>
    </>
  )
}

/** Return the city of a zone, which is short enough for a row: "New York". */
const zoneCity = (zone: string) => zone.slice(zone.lastIndexOf('/') + 1).replaceAll('_', ' ')

function RowActions({
  schedule,
  pendingRequest,
  onAction,
}: {
  schedule: Schedule
  pendingRequest: ScheduleActionRequest | undefined
  onAction: (action: ScheduleAction) => void
}) {
  const { schedule_id: id, status } = schedule
  if (status === 'closed' || status === 'damaged') return null
  const isBusy = pendingRequest?.id === id
  return (
    <div className={classes.actions}>
      {status === 'paused' ? (
        <RowAction
          icon="resume"
          name={t('palette.resume', { id })}
          isBusy={isBusy}
          onClick={() => onAction('resume')}
        />
      ) : (
        <RowAction icon="pause" name={t('palette.pause', { id })} isBusy={isBusy} onClick={() => onAction('pause')} />
      )}
      <RowAction
        icon="trigger"
        name={t('palette.trigger', { id })}
        isBusy={isBusy}
        onClick={() => onAction('trigger')}
      />
      <RowAction
        icon="skip"
        name={t('palette.skip', { id })}
        isBusy={isBusy}
        disabled={!schedule.next_run_at}
        onClick={() => onAction('skip')}
      />
    </div>
  )
}

interface RowActionProps {
  icon: IconName
  name: string
  isBusy: boolean
  disabled?: boolean
  onClick: () => void
}

/** A button of a row. While busy it is aria-disabled, because a disabled button loses the focus. */
function RowAction({ icon, name, isBusy, disabled, onClick }: RowActionProps) {
  return (
    <button
      type="button"
      className={classes.action}
      title={name}
      aria-label={name}
      disabled={disabled}
      aria-disabled={isBusy || undefined}
      onClick={() => !isBusy && onClick()}
    >
      <Icon name={icon} />
    </button>
  )
}
