import { Title } from '@mantine/core'
import { useEffect, useRef } from 'react'

import { useMay } from '../../api/session'
import { useDeeds } from '../../api/mutations'
import { dateText, relativeText, timeText } from '../../lib/format'
import { Icon } from '../../components/Icon'
import { QuickLink } from '../../components/QuickLink'
import type { Day, Mark } from './timelineMarks'
import classes from './DayAgenda.module.css'

const MOST = 300
const UNREAD = {
  all: 'What falls on this day has not been read.',
  part: 'More may fall on this day than has been read.',
}

interface Props {
  id: string
  day: string
  of: Day
  shown: string
  now: number
  today: boolean
}

/** The ticks of one day, each with its time, what became of it, and why. */
export function Agenda({ id, day, of: { marks, unread }, shown, now, today }: Props) {
  const list = useRef<HTMLOListElement>(null)
  const mayOperate = useMay('operator')
  const deeds = useDeeds()
  const next = marks.findIndex((mark) => mark.at > now)
  useEffect(() => {
    const next = list.current?.querySelector<HTMLElement>('[data-next]')
    if (next && list.current) list.current.scrollTop = next.offsetTop - list.current.offsetTop - 120
  }, [day, next >= 0])
  const from = today && next > MOST / 2 ? next - MOST / 2 : 0
  const some = marks.slice(from, from + MOST)
  const left = [...marks.slice(0, from), ...marks.slice(from + MOST)].reduce((sum, mark) => sum + mark.ticks, 0)
  return (
    <section className={`panel ${classes.agenda}`} aria-label={`Ticks of ${day}`}>
      <Title order={2} className={classes.title}>
        {dateText(day, { weekday: 'long', day: 'numeric', month: 'long' })}
      </Title>
      {marks.length === 0 && unread === 'no' && <p className={classes.none}>No tick falls on this day.</p>}
      {unread !== 'no' && <p className={classes.none}>{UNREAD[unread]}</p>}
      <ol ref={list} className={classes.list} tabIndex={0} aria-label="Its ticks">
        {some.map((mark, at) => (
          <li key={`${mark.at} ${mark.runId ?? at}`} data-next={from + at === next || undefined} data-skips={mark.kind === 'skipped' || undefined} className={classes.item}>
            <i data-kind={mark.kind} className={classes.dot} />
            <span className={classes.time}>
              {mark.runId ? (
                <QuickLink to="/runs/$runId" params={{ runId: mark.runId }} className="text-link">
                  {timeText(mark.at, shown)}
                </QuickLink>
              ) : (
                timeText(mark.from ?? mark.at, shown)
              )}
            </span>
            <span className={classes.text}>
              {mark.name}
              {mark.from !== undefined && <span className="dim"> until {timeText(mark.at, shown)}</span>}
              {from + at === next && <span className="dim"> · {relativeText(mark.at, now)}</span>}
              {mark.why && <span className={classes.why}>{mark.why}</span>}
            </span>
            {mayOperate && <SkipSwitch id={id} mark={mark} told={timeText(mark.at, shown)} deeds={deeds} />}
          </li>
        ))}
      </ol>
      {left > 0 && <p className={classes.none}>{left.toLocaleString('en-GB')} more on this day: see Runs.</p>}
    </section>
  )
}

interface SwitchProps {
  id: string
  mark: Mark
  told: string
  deeds: ReturnType<typeof useDeeds>
}

/** Skip a tick that is to come, or take that back. */
function SkipSwitch({ id, mark, told, deeds }: SwitchProps) {
  const at = new Date(mark.at).toISOString()
  const busy = deeds.isPending && deeds.variables.at === at
  if (mark.runId || mark.from !== undefined || (mark.kind !== 'coming' && mark.kind !== 'skipped')) return null
  const deed = mark.kind === 'coming' ? 'skip' : 'unskip'
  const name = deed === 'skip' ? `Skip the tick at ${told}` : `Do not skip the tick at ${told}`
  return (
    <button type="button" className={classes.act} title={name} aria-label={name} aria-disabled={busy || undefined} onClick={() => !busy && deeds.mutate({ deed, id, at })}>
      <Icon name={deed === 'skip' ? 'skip' : 'refresh'} size={14} />
    </button>
  )
}
