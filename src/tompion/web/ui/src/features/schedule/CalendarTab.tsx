import { ActionIcon, Button, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useMemo } from 'react'

import { describeQuery } from '../../api/queries'
import { useMay } from '../../api/session'
import { useDeeds } from '../../api/mutations'
import { useNow } from '../../lib/clock'
import { countText, dateText, dayText } from '../../lib/format'
import { Icon } from '../../components/Icon'
import { Moment } from '../../components/Timestamp'
import { Waiting, Wrong } from '../../components/states'
import { useZoneChoice, zoneFor } from '../../lib/timezones'
import { Agenda } from './DayAgenda'
import { daysOf, edgesOf, monthAfter } from './calendarDays'
import { Legend } from './OutcomeLegend'
import { Month } from './MonthGrid'
import { useMarks, type Day } from './timelineMarks'
import classes from './Schedule.module.css'
import { useZone } from './useScheduleZone'

const route = getRouteApi('/schedules/$id/')

/** A calendar of what became of each tick, and of those to come. */
export function Ticks() {
  const { id } = route.useParams()
  const zone = useZone(id)
  const shown = zoneFor(useZoneChoice(), zone)
  const now = useNow()
  const today = dayText(now, shown)
  const { month: asked, day: picked } = route.useSearch()
  const navigate = route.useNavigate()
  const month = asked ?? (picked ?? today).slice(0, 7)
  const days = useMemo(() => daysOf(month), [month])
  const day = [picked, today].find((each) => each && days.includes(each)) ?? `${month}-01`
  const edges = useMemo(() => edgesOf(days, shown), [days, shown])
  const { byDay, pending, error, older, loadOlder, loadingOlder } = useMarks(id, days, edges, day, now)
  const go = (where: { month?: string; day?: string }) =>
    void navigate({ search: (all) => ({ ...all, ...where }), replace: true, resetScroll: false })
  if (pending) return <Waiting lines={10} />
  if (error) return <Wrong error={error} />
  return (
    <div className={classes.grid}>
      <section aria-label="Calendar">
        <div className={classes.bar}>
          <ActionIcon variant="default" aria-label="The month before" onClick={() => go({ month: monthAfter(month, -1) })}>
            <Icon name="left" />
          </ActionIcon>
          <Title order={2} w={150} ta="center">
            {monthName(month)}
          </Title>
          <ActionIcon variant="default" aria-label="The month after" onClick={() => go({ month: monthAfter(month, 1) })}>
            <Icon name="right" />
          </ActionIcon>
          <Button variant="default" onClick={() => go({ month: undefined, day: undefined })}>
            Today
          </Button>
          <Text size="xs" className="dim">
            Days of {shown}
          </Text>
          <Legend />
        </div>
        <Month month={month} days={days} today={today} day={day} onDay={(day) => go({ day, month })} byDay={byDay} />
        {older && (
          <Text size="xs" className="dim" mt="xs">
            Older runs have not been read.{' '}
            <Button variant="subtle" size="compact-xs" loading={loadingOlder} onClick={loadOlder}>
              Show older ones
            </Button>
          </Text>
        )}
      </section>
      <div>
        <OnResume id={id} zone={zone} />
        <Skips id={id} zone={zone} />
        <Agenda id={id} day={day} of={byDay.get(day) ?? NOT_READ} shown={shown} now={now} today={day === today} />
      </div>
    </div>
  )
}

const NOT_READ = { marks: [], unread: 'all' } satisfies Day

function monthName(month: string): string {
  return dateText(`${month}-15`, { month: 'long', year: 'numeric' })
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

const MOST_SKIPS = 8

/** The ticks to come that somebody asked to skip, on whichever day: each can be taken back. */
function Skips({ id, zone }: { id: string; zone: string }) {
  const skips = useQuery(describeQuery(id)).data?.skipped_ticks ?? []
  const mayOperate = useMay('operator')
  const deeds = useDeeds()
  if (skips.length === 0) return null
  return (
    <section className={`panel ${classes.side}`} style={{ marginBottom: '1rem' }} aria-label="To be skipped">
      <Title order={2}>To be skipped</Title>
      <ul className={classes.skips}>
        {skips.slice(0, MOST_SKIPS).map((at) => (
          <li key={at}>
            <Moment at={at} zone={zone} precision="minute" />
            {mayOperate && (
              <Button
                variant="default"
                size="compact-xs"
                loading={deeds.isPending && deeds.variables.at === at}
                onClick={() => deeds.mutate({ deed: 'unskip', id, at })}
              >
                Take back
              </Button>
            )}
          </li>
        ))}
      </ul>
      {skips.length > MOST_SKIPS && <Text size="sm" className="dim">and {countText(skips.length - MOST_SKIPS, 'other')}: each is marked on its day.</Text>}
    </section>
  )
}
