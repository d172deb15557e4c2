import { ActionIcon, Checkbox, Tooltip } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { Link } from '@tanstack/react-router'
import { memo } from 'react'

import type { Glance, Schedule } from '../../api/types'
import { Badges } from '../../parts/badges'
import { useNow } from '../../parts/clock'
import { nearText, relativeText } from '../../parts/format'
import { Icon, type IconName } from '../../parts/Icon'
import { Moment } from '../../parts/Moment'
import { Sparkline } from '../../parts/outcomes'
import { PauseDialog } from '../../parts/PauseDialog'
import { useScheduleActions } from '../../parts/actions'
import { MY_ZONE, useZoneChoice, zoneFor } from '../../parts/zones'
import classes from './Table.module.css'

interface Props {
  schedule: Schedule
  glance: Glance | undefined
  chosen: boolean
  onToggle: () => void
  mayOperate: boolean
  index: number
}

export const Row = memo(function Row({ schedule, glance, chosen, onToggle, mayOperate, index }: Props) {
  const { schedule_id: id, definition } = schedule
  const zone = glance?.timezone ?? definition.spec?.timezone ?? 'UTC'
  return (
    <div role="row" aria-rowindex={index + 1} className={`${classes.row} ${classes.body}`} data-operate={mayOperate} data-quiet={schedule.state !== 'active'}>
      {mayOperate && (
        <div role="cell">
          <Checkbox size="xs" aria-label={`Choose ${id}`} checked={chosen} onChange={onToggle} />
        </div>
      )}
      <div role="cell">
        <Link to="/schedules/$id" params={{ id }} className={classes.id}>
          {id}
        </Link>
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
        <div role="cell">
          <Actions schedule={schedule} />
        </div>
      )}
    </div>
  )
})

/** The next fire, in the zone that is wanted and in another one, and how long it is until then. */
function Next({ schedule, zone }: { schedule: Schedule; zone: string }) {
  const now = useNow()
  const choice = useZoneChoice()
  const at = schedule.next_fire_at ?? schedule.next_run_at
  if (!at) return <span className="dim">nothing to come</span>
  const shown = zoneFor(choice, zone)
  const other = choice === 'schedule' ? MY_ZONE : zone
  const paused = schedule.state === 'paused'
  return (
    <>
      <div>
        <Moment at={at} zone={zone} near />{' '}
        <span className="dim nowrap">{paused ? 'if resumed' : relativeText(at, now)}</span>
      </div>
      {zoneFor('schedule', other) !== shown && (
        <div className={classes.second}>
          {nearText(at, zoneFor('schedule', other), now)} {other}
        </div>
      )}
    </>
  )
}

function Actions({ schedule }: { schedule: Schedule }) {
  const { schedule_id: id, state } = schedule
  const { pause, resume, trigger, skip } = useScheduleActions(id)
  const [opened, dialog] = useDisclosure(false)
  if (state === 'closed' || state === 'damaged') return null
  return (
    <div className={classes.actions}>
      {state === 'paused' ? (
        <Act icon="resume" name={`Resume ${id}`} busy={resume.isPending} onClick={() => resume.mutate(undefined)} />
      ) : (
        <Act icon="pause" name={`Pause ${id}`} busy={pause.isPending} onClick={dialog.open} />
      )}
      <Act icon="trigger" name={`Trigger ${id} now`} busy={trigger.isPending} onClick={() => trigger.mutate()} />
      <Act icon="skip" name={`Skip the next tick of ${id}`} busy={skip.isPending} onClick={() => skip.mutate()} disabled={!schedule.next_run_at} />
      {opened && (
        <PauseDialog
          title={`Pause ${id}`}
          opened
          onClose={dialog.close}
          busy={pause.isPending}
          onPause={(request) => pause.mutate(request, { onSuccess: dialog.close })}
        />
      )}
    </div>
  )
}

function Act({ icon, name, busy, onClick, disabled }: { icon: IconName; name: string; busy: boolean; onClick: () => void; disabled?: boolean }) {
  return (
    <Tooltip label={name}>
      <ActionIcon aria-label={name} loading={busy} onClick={onClick} disabled={disabled}>
        <Icon name={icon} />
      </ActionIcon>
    </Tooltip>
  )
}
