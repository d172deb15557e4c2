import { Title } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'

import { relativeText, timeText } from '../../parts/format'
import type { Mark } from './marks'
import classes from './Agenda.module.css'

const MOST = 300

interface Props {
  day: string
  marks: Mark[]
  shown: string
  now: number
  today: boolean
}

/** The ticks of one day, each with its time, what became of it, and why. */
export function Agenda({ day, marks, shown, now, today }: Props) {
  const list = useRef<HTMLOListElement>(null)
  const next = marks.findIndex((mark) => mark.at > now)
  useEffect(() => {
    const next = list.current?.querySelector<HTMLElement>('[data-next]')
    if (next && list.current) list.current.scrollTop = next.offsetTop - list.current.offsetTop - 120
  }, [day, next >= 0])
  const from = today && next > MOST / 2 ? next - MOST / 2 : 0
  const some = marks.slice(from, from + MOST)
  return (
    <section className={`panel ${classes.agenda}`} aria-label={`Ticks of ${day}`}>
      <Title order={2} className={classes.title}>
        {new Date(`${day}T12:00:00Z`).toLocaleDateString('en-GB', { weekday: 'long', day: 'numeric', month: 'long', timeZone: 'UTC' })}
      </Title>
      {marks.length === 0 && <p className={classes.none}>No tick falls on this day.</p>}
      <ol ref={list} className={classes.list}>
        {some.map((mark, at) => (
          <li key={`${mark.at} ${mark.runId ?? at}`} data-next={from + at === next || undefined} className={classes.item}>
            <i data-kind={mark.kind} className={classes.dot} />
            <span className={classes.time}>
              {mark.runId ? (
                <Link to="/runs/$runId" params={{ runId: mark.runId }} className="text-link">
                  {timeText(mark.at, shown)}
                </Link>
              ) : (
                timeText(mark.at, shown)
              )}
            </span>
            <span className={classes.text}>
              {mark.name}
              {from + at === next && <span className="dim"> · {relativeText(mark.at, now)}</span>}
              {mark.why && <span className={classes.why}>{mark.why}</span>}
            </span>
          </li>
        ))}
      </ol>
      {marks.length > some.length && <p className={classes.none}>{marks.length - some.length} more on this day: see Runs.</p>}
    </section>
  )
}
