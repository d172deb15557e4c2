import { memo } from 'react'

import type { Glance, Schedule } from '../../api/types'
import { Badges } from '../../components/ScheduleBadges'
import { now } from '../../lib/clock'
import type { Deed, Doing } from '../../api/mutations'
import { nearText } from '../../lib/format'
import { Icon, type IconName } from '../../components/Icon'
import { Moment, Relative } from '../../components/Timestamp'
import { Sparkline } from '../../components/outcomes'
import { QuickLink } from '../../components/QuickLink'
import { MY_ZONE, useZoneChoice, zoneFor } from '../../lib/timezones'
import classes from './ScheduleTable.module.css'

interface Props {
  schedule: Schedule
  glance: Glance | undefined
  chosen: boolean
  onToggle: (id: string) => void
  mayOperate: boolean
  index: number
  doing: Doing | undefined
  onDo: (deed: Deed, schedule: Schedule) => void
}

export const Row = memo(function Row({ schedule, glance, chosen, onToggle, mayOperate, index, doing, onDo }: Props) {
  const { schedule_id: id, definition } = schedule
  const zone = glance?.timezone ?? definition.spec?.timezone ?? 'UTC'
  return (
    <div role="row" aria-rowindex={index + 1} className={`${classes.row} ${classes.body}`} data-operate={mayOperate} data-quiet={schedule.state !== 'active'} aria-busy={glance ? undefined : true}>
      {mayOperate && (
        <div role="cell">
          <input type="checkbox" className={classes.check} aria-label={`Choose ${id}`} checked={chosen} onChange={() => onToggle(id)} />
        </div>
      )}
      <div role="cell">
        <QuickLink to="/schedules/$id" params={{ id }} className={classes.id}>
          {id}
        </QuickLink>
        <div className={classes.second}>
          <span>{definition.workflow_id ?? definition.function}</span>
          <Badges schedule={schedule} zone={zone} targetPaused={glance?.target_paused} />
        </div>
      </div>
      <div role="cell" className={classes.when}>
        <div className={classes.clamp} title={glance?.explanation}>
          {glance ? glance.explanation.replace(/:\n[•\- ]*/, ': ').replace(/\n[•\- ]*/g, ' · ') : '…'}
        </div>
      </div>
      <div role="cell" className={classes.next}>
        <Next schedule={schedule} zone={zone} />
      </div>
      <div role="cell" className={classes.outcomes}>
        <Sparkline glance={glance} zone={zone} />
      </div>
      {mayOperate && (
        <div role="cell" className={classes.acts}>
          <Actions schedule={schedule} doing={doing} onDo={(deed) => onDo(deed, schedule)} />
        </div>
      )}
    </div>
  )
})

/** The next fire, in the zone that is wanted and in another one, and how long it is until then. */
function Next({ schedule, zone }: { schedule: Schedule; zone: string }) {
  const choice = useZoneChoice()
  const at = schedule.next_fire_at ?? schedule.next_run_at
  if (!at) return <span className="dim">nothing to come</span>
  const shown = zoneFor(choice, zone)
  const other = choice === 'schedule' ? MY_ZONE : zone
  const paused = schedule.state === 'paused'
  return (
    <>
      <Moment at={at} zone={zone} near />
      <div className={classes.second}>
        {paused ? 'if resumed' : <Relative at={at} />}
        {zoneFor('schedule', other) !== shown && <span title={other}>{nearText(at, zoneFor('schedule', other), now(), 'minute')} {placeOf(other)}</span>}
      </div>
    </>
  )
}

/** "New York": where a zone is, short enough for a row. */
const placeOf = (zone: string) => zone.slice(zone.lastIndexOf('/') + 1).replaceAll('_', ' ')

function Actions({ schedule, doing, onDo }: { schedule: Schedule; doing: Doing | undefined; onDo: (deed: Deed) => void }) {
  const { schedule_id: id, state } = schedule
  if (state === 'closed' || state === 'damaged') return null
  const busy = doing?.id === id
  return (
    <div className={classes.actions}>
      {state === 'paused' ? (
        <Act icon="resume" name={`Resume ${id}`} busy={busy} onClick={() => onDo('resume')} />
      ) : (
        <Act icon="pause" name={`Pause ${id}`} busy={busy} onClick={() => onDo('pause')} />
      )}
      <Act icon="trigger" name={`Trigger ${id} now`} busy={busy} onClick={() => onDo('trigger')} />
      <Act icon="skip" name={`Skip the next tick of ${id}`} busy={busy} disabled={!schedule.next_run_at} onClick={() => onDo('skip')} />
    </div>
  )
}

interface ActProps {
  icon: IconName
  name: string
  busy: boolean
  disabled?: boolean
  onClick: () => void
}

/** What is busy keeps the focus, which a disabled button would lose. */
function Act({ icon, name, busy, disabled, onClick }: ActProps) {
  return (
    <button type="button" className={classes.act} title={name} aria-label={name} disabled={disabled} aria-disabled={busy || undefined} onClick={() => !busy && onClick()}>
      <Icon name={icon} />
    </button>
  )
}
