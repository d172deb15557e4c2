import { Title } from '@mantine/core'
import { useEffect, useRef } from 'react'

import { useIsAllowed } from '../../api/session'
import { useScheduleMutation } from '../../api/mutations'
import { dateText, relativeText, timeText } from '../../lib/format'
import { Icon } from '../../components/Icon'
import { QuickLink } from '../../components/QuickLink'
import type { Day, Mark } from './timelineMarks'
import classes from './DayAgenda.module.css'

const MAX_SHOWN = 300
const MISSING_TEXT = {
  all: 'What falls on this day has not been read.',
  part: 'More may fall on this day than has been read.',
}

interface Props {
  id: string
  day: string
  dayMarks: Day
  displayedZone: string
  now: number
  today: boolean
}

/** The ticks of one day, each with its time, what became of it, and why. */
export function DayAgenda({ id, day, dayMarks: { marks, missing }, displayedZone, now, today }: Props) {
  const list = useRef<HTMLOListElement>(null)
  const mayOperate = useIsAllowed('operator')
  const mutation = useScheduleMutation()
  const nextIndex = marks.findIndex((mark) => mark.at > now)
  useEffect(() => {
    const nextItem = list.current?.querySelector<HTMLElement>('[data-next]')
    if (nextItem && list.current) list.current.scrollTop = nextItem.offsetTop - list.current.offsetTop - 120
  }, [day, nextIndex >= 0])
  const from = today && nextIndex > MAX_SHOWN / 2 ? nextIndex - MAX_SHOWN / 2 : 0
  const visible = marks.slice(from, from + MAX_SHOWN)
  const hiddenTicks = [...marks.slice(0, from), ...marks.slice(from + MAX_SHOWN)].reduce((sum, mark) => sum + mark.ticks, 0)
  return (
    <section className={`panel ${classes.agenda}`} aria-label={`Ticks of ${day}`}>
      <Title order={2} className={classes.title}>
        {dateText(day, { weekday: 'long', day: 'numeric', month: 'long' })}
      </Title>
      {marks.length === 0 && missing === 'no' && <p className={classes.none}>No tick falls on this day.</p>}
      {missing !== 'no' && <p className={classes.none}>{MISSING_TEXT[missing]}</p>}
      <ol ref={list} className={classes.list} tabIndex={0} aria-label="Its ticks">
        {visible.map((mark, at) => (
          <li key={`${mark.at} ${mark.runId ?? at}`} data-next={from + at === nextIndex || undefined} data-skips={mark.kind === 'skipped' || undefined} className={classes.item}>
            <i data-kind={mark.kind} className={classes.dot} />
            <span className={classes.time}>
              {mark.runId ? (
                <QuickLink to="/runs/$runId" params={{ runId: mark.runId }} className="text-link">
                  {timeText(mark.at, displayedZone)}
                </QuickLink>
              ) : (
                timeText(mark.from ?? mark.at, displayedZone)
              )}
            </span>
            <span className={classes.text}>
              {mark.name}
              {mark.from !== undefined && <span className="dim"> until {timeText(mark.at, displayedZone)}</span>}
              {from + at === nextIndex && <span className="dim"> · {relativeText(mark.at, now)}</span>}
              {mark.reason && <span className={classes.why}>{mark.reason}</span>}
            </span>
            {mayOperate && <SkipButton id={id} mark={mark} timeLabel={timeText(mark.at, displayedZone)} mutation={mutation} />}
          </li>
        ))}
      </ol>
      {hiddenTicks > 0 && <p className={classes.none}>{hiddenTicks.toLocaleString('en-GB')} more on this day: see Runs.</p>}
    </section>
  )
}

interface SkipButtonProps {
  id: string
  mark: Mark
  timeLabel: string
  mutation: ReturnType<typeof useScheduleMutation>
}

/** Skip a tick that is to come, or take that back. */
function SkipButton({ id, mark, timeLabel, mutation }: SkipButtonProps) {
  const at = new Date(mark.at).toISOString()
  const busy = mutation.isPending && mutation.variables.at === at
  if (mark.runId || mark.from !== undefined || (mark.kind !== 'coming' && mark.kind !== 'skipped')) return null
  const action = mark.kind === 'coming' ? 'skip' : 'unskip'
  const name = action === 'skip' ? `Skip the tick at ${timeLabel}` : `Do not skip the tick at ${timeLabel}`
  return (
    <button type="button" className={classes.act} title={name} aria-label={name} aria-disabled={busy || undefined} onClick={() => !busy && mutation.mutate({ action, id, at })}>
      <Icon name={action === 'skip' ? 'skip' : 'refresh'} size={14} />
    </button>
  )
}
