import { ActionIcon, Button, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'

import { describeQuery } from '../../api/queries'
import { useNow } from '../../parts/clock'
import { countText, dayText } from '../../parts/format'
import { Icon } from '../../parts/Icon'
import { Moment } from '../../parts/Moment'
import { Waiting, Wrong } from '../../parts/notes'
import { useZoneChoice, zoneFor } from '../../parts/zones'
import { Agenda } from './Agenda'
import { Legend, Month } from './Month'
import { useMarks, type Mark } from './marks'
import classes from './Schedule.module.css'
import { useZone } from './zone'

const route = getRouteApi('/schedules/$id/')

/** A calendar of what became of each tick, and of those to come. */
export function Ticks() {
  const { id } = route.useParams()
  const zone = useZone(id)
  const shown = zoneFor(useZoneChoice(), zone)
  const now = useNow()
  const today = dayText(now, shown)
  const { marks, pending, error, hasOlder, loadOlder, loadingOlder, aheadCapped } = useMarks(id)
  const [month, setMonth] = useState(today.slice(0, 7))
  const [day, setDay] = useState(today)
  if (pending) return <Waiting lines={10} />
  if (error) return <Wrong error={error} />
  const byDay = Map.groupBy(marks, (mark) => dayText(mark.at, shown))
  const first = marks[0] && dayText(marks[0].at, shown)
  return (
    <div className={classes.grid}>
      <section aria-label="Calendar">
        <div className={classes.bar}>
          <ActionIcon variant="default" aria-label="The month before" onClick={() => setMonth(moved(month, -1))}>
            <Icon name="left" />
          </ActionIcon>
          <Title order={2} w={150} ta="center">
            {monthName(month)}
          </Title>
          <ActionIcon variant="default" aria-label="The month after" onClick={() => setMonth(moved(month, 1))}>
            <Icon name="right" />
          </ActionIcon>
          <Button
            variant="default"
            onClick={() => {
              setMonth(today.slice(0, 7))
              setDay(today)
            }}
          >
            Today
          </Button>
          <Text size="xs" className="dim">
            Days of {shown}
          </Text>
        </div>
        <Month month={month} today={today} day={day} onDay={setDay} byDay={byDay} />
        <Legend />
        {hasOlder && first && month <= first.slice(0, 7) && (
          <Text size="xs" className="dim" mt="xs">
            Runs before {first} are not shown yet.{' '}
            <Button variant="subtle" size="compact-xs" loading={loadingOlder} onClick={loadOlder}>
              Show older ones
            </Button>
          </Text>
        )}
        {aheadCapped && (
          <Text size="xs" className="dim" mt="xs">
            The next 500 ticks are shown; more follow.
          </Text>
        )}
      </section>
      <div>
        <OnResume id={id} zone={zone} />
        <Agenda day={day} marks={byDay.get(day) ?? NONE} shown={shown} now={now} today={day === today} />
      </div>
    </div>
  )
}

const NONE: Mark[] = []

function moved(month: string, by: number): string {
  const [year = 0, number = 1] = month.split('-').map(Number)
  return new Date(Date.UTC(year, number - 1 + by, 1)).toISOString().slice(0, 7)
}

function monthName(month: string): string {
  return new Date(`${month}-15T12:00:00Z`).toLocaleDateString('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' })
}

/** While it is paused: what a resume would start. */
function OnResume({ id, zone }: { id: string; zone: string }) {
  const found = useQuery(describeQuery(id)).data
  if (found?.schedule.state !== 'paused') return null
  return (
    <section className={`panel ${classes.side}`} style={{ marginBottom: '1rem' }} aria-label="On resume">
      <Title order={2}>If it were resumed now</Title>
      {found.would_run_count === 0 ? (
        <Text size="sm" className="dim">
          None of the ticks of the pause would run.
        </Text>
      ) : (
        <>
          <Text size="sm">{countText(found.would_run_count, 'tick')} of the pause would run:</Text>
          <ul>
            {found.would_run_on_resume.slice(0, 8).map((at) => (
              <li key={at}>
                <Moment at={at} zone={zone} />
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  )
}
