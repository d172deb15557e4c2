import { ActionIcon, Button, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useMemo } from 'react'

import { descriptionQuery } from '../../api/queries'
import { useIsAllowed } from '../../api/session'
import { useScheduleMutation } from '../../api/mutations'
import { useNow } from '../../lib/clock'
import { countText, dateText, dayText } from '../../lib/format'
import { Icon } from '../../components/Icon'
import { Timestamp } from '../../components/Timestamp'
import { Loading, ErrorState } from '../../components/states'
import { useZoneChoice, displayZone } from '../../lib/timezones'
import { DayAgenda } from './DayAgenda'
import { calendarDays, dayBoundaries, addMonths } from './calendarDays'
import { OutcomeLegend } from './OutcomeLegend'
import { MonthGrid } from './MonthGrid'
import { useTimelineMarks, type Day } from './timelineMarks'
import classes from './Schedule.module.css'
import { useScheduleZone } from './useScheduleZone'

const route = getRouteApi('/schedules/$id/')

/** A calendar of what became of each tick, and of those to come. */
export function CalendarTab() {
  const { id } = route.useParams()
  const zone = useScheduleZone(id)
  const displayedZone = displayZone(useZoneChoice(), zone)
  const now = useNow()
  const today = dayText(now, displayedZone)
  const { month: searchMonth, day: searchDay } = route.useSearch()
  const navigate = route.useNavigate()
  const month = searchMonth ?? (searchDay ?? today).slice(0, 7)
  const days = useMemo(() => calendarDays(month), [month])
  const day = [searchDay, today].find((candidate) => candidate && days.includes(candidate)) ?? `${month}-01`
  const edges = useMemo(() => dayBoundaries(days, displayedZone), [days, displayedZone])
  const { byDay, pending, error, older, loadOlder, loadingOlder } = useTimelineMarks(id, days, edges, day, now)
  const goTo = (search: { month?: string; day?: string }) =>
    void navigate({ search: (all) => ({ ...all, ...search }), replace: true, resetScroll: false })
  if (pending) return <Loading lines={10} />
  if (error) return <ErrorState error={error} />
  return (
    <div className={classes.grid}>
      <section aria-label="Calendar">
        <div className={classes.bar}>
          <ActionIcon variant="default" aria-label="The month before" onClick={() => goTo({ month: addMonths(month, -1) })}>
            <Icon name="left" />
          </ActionIcon>
          <Title order={2} w={150} ta="center">
            {monthName(month)}
          </Title>
          <ActionIcon variant="default" aria-label="The month after" onClick={() => goTo({ month: addMonths(month, 1) })}>
            <Icon name="right" />
          </ActionIcon>
          <Button variant="default" onClick={() => goTo({ month: undefined, day: undefined })}>
            Today
          </Button>
          <Text size="xs" className="dim">
            Days of {displayedZone}
          </Text>
          <OutcomeLegend />
        </div>
        <MonthGrid month={month} days={days} today={today} day={day} onDay={(day) => goTo({ day, month })} byDay={byDay} />
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
        <ResumePreview id={id} zone={zone} />
        <SkippedRuns id={id} zone={zone} />
        <DayAgenda id={id} day={day} dayMarks={byDay.get(day) ?? NOT_LOADED} displayedZone={displayedZone} now={now} today={day === today} />
      </div>
    </div>
  )
}

const NOT_LOADED = { marks: [], missing: 'all' } satisfies Day

function monthName(month: string): string {
  return dateText(`${month}-15`, { month: 'long', year: 'numeric' })
}

/** While it is paused: what a resume would start. */
function ResumePreview({ id, zone }: { id: string; zone: string }) {
  const description = useQuery(descriptionQuery(id)).data
  if (description?.schedule.state !== 'paused') return null
  return (
    <section className={`panel ${classes.side}`} style={{ marginBottom: '1rem' }} aria-label="On resume">
      <Title order={2}>If it were resumed now</Title>
      {description.would_run_count === 0 ? (
        <Text size="sm" className="dim">
          None of the ticks of the pause would run.
        </Text>
      ) : (
        <>
          <Text size="sm">{countText(description.would_run_count, 'tick')} of the pause would run:</Text>
          <ul>
            {description.would_run_on_resume.slice(0, 8).map((at) => (
              <li key={at}>
                <Timestamp at={at} zone={zone} />
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  )
}

const MAX_SKIPS_SHOWN = 8

/** The ticks to come that somebody asked to skip, on whichever day: each can be taken back. */
function SkippedRuns({ id, zone }: { id: string; zone: string }) {
  const skips = useQuery(descriptionQuery(id)).data?.skipped_ticks ?? []
  const mayOperate = useIsAllowed('operator')
  const mutation = useScheduleMutation()
  if (skips.length === 0) return null
  return (
    <section className={`panel ${classes.side}`} style={{ marginBottom: '1rem' }} aria-label="To be skipped">
      <Title order={2}>To be skipped</Title>
      <ul className={classes.skips}>
        {skips.slice(0, MAX_SKIPS_SHOWN).map((at) => (
          <li key={at}>
            <Timestamp at={at} zone={zone} precision="minute" />
            {mayOperate && (
              <Button
                variant="default"
                size="compact-xs"
                loading={mutation.isPending && mutation.variables.at === at}
                onClick={() => mutation.mutate({ action: 'unskip', id, at })}
              >
                Take back
              </Button>
            )}
          </li>
        ))}
      </ul>
      {skips.length > MAX_SKIPS_SHOWN && <Text size="sm" className="dim">and {countText(skips.length - MAX_SKIPS_SHOWN, 'other')}: each is marked on its day.</Text>}
    </section>
  )
}
