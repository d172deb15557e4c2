import { ActionIcon, Button, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useScheduleMutations } from '../../api/mutations'
import { descriptionQuery } from '../../api/queries'
import { useIsAllowed } from '../../api/session'
import { Icon } from '../../components/Icon'
import { ErrorState, Loading } from '../../components/states'
import { Timestamp } from '../../components/Timestamp'
import { useNow } from '../../lib/clock'
import { dateText, dayText } from '../../lib/format'
import { displayZone, useZoneChoice } from '../../lib/timezones'
import { t } from '../../messages'
import { addMonths, calendarDays, dayBoundaries } from './calendarDays'
import { DayAgenda } from './DayAgenda'
import { MonthGrid } from './MonthGrid'
import { OutcomeLegend } from './OutcomeLegend'
import classes from './Schedule.module.css'
import { type Day, useTimelineMarks } from './timelineMarks'
import { useScheduleZone } from './useScheduleZone'

const route = getRouteApi('/schedules/$id/')

/** A calendar of past and upcoming runs, with the agenda of one day. */
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
      <section aria-label={t('calendar.label')}>
        <div className={classes.bar}>
          <ActionIcon
            variant="default"
            aria-label={t('calendar.previousMonth')}
            onClick={() => goTo({ month: addMonths(month, -1) })}
          >
            <Icon name="left" />
          </ActionIcon>
          <Title order={2} w={150} ta="center">
            {monthName(month)}
          </Title>
          <ActionIcon
            variant="default"
            aria-label={t('calendar.nextMonth')}
            onClick={() => goTo({ month: addMonths(month, 1) })}
          >
            <Icon name="right" />
          </ActionIcon>
          <Button variant="default" onClick={() => goTo({ month: undefined, day: undefined })}>
            {t('calendar.today')}
          </Button>
          <Text size="xs" className="dim">
            {t('calendar.zone', { zone: displayedZone })}
          </Text>
          <OutcomeLegend />
        </div>
        <MonthGrid
          month={month}
          days={days}
          today={today}
          day={day}
          onDay={(day) => goTo({ day, month })}
          byDay={byDay}
        />
        {older && (
          <Text size="xs" className="dim" mt="xs">
            {t('calendar.olderNotLoaded')}{' '}
            <Button variant="subtle" size="compact-xs" loading={loadingOlder} onClick={loadOlder}>
              {t('common.loadMore')}
            </Button>
          </Text>
        )}
      </section>
      <div>
        <ResumePreview id={id} zone={zone} />
        <SkippedRuns id={id} zone={zone} />
        <DayAgenda
          id={id}
          day={day}
          dayMarks={byDay.get(day) ?? NOT_LOADED}
          displayedZone={displayedZone}
          now={now}
          today={day === today}
        />
      </div>
    </div>
  )
}

const NOT_LOADED = { marks: [], missing: 'all' } satisfies Day

function monthName(month: string): string {
  return dateText(`${month}-15`, { month: 'long', year: 'numeric' })
}

/** The runs that a resume would start, shown while the schedule is paused. */
function ResumePreview({ id, zone }: { id: string; zone: string }) {
  const description = useQuery(descriptionQuery(id)).data
  if (description?.schedule.status !== 'paused') return null
  return (
    <section className={`panel ${classes.side}`} style={{ marginBottom: '1rem' }} aria-label={t('resume.preview')}>
      <Title order={2}>{t('resume.ifNow')}</Title>
      {description.would_run_count === 0 ? (
        <Text size="sm" className="dim">
          {t('resume.noneStart')}
        </Text>
      ) : (
        <>
          <Text size="sm">{t('resume.missedStart', { count: description.would_run_count })}</Text>
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

/** The upcoming runs that will be skipped, each with a button to undo that. */
function SkippedRuns({ id, zone }: { id: string; zone: string }) {
  const skips = useQuery(descriptionQuery(id)).data?.skipped_ticks ?? []
  const mayOperate = useIsAllowed('operator')
  const mutation = useScheduleMutations()
  if (skips.length === 0) return null
  return (
    <section
      className={`panel ${classes.side}`}
      style={{ marginBottom: '1rem' }}
      aria-label={t('calendar.skippedRuns')}
    >
      <Title order={2}>{t('calendar.skippedRuns')}</Title>
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
                {t('calendar.undoSkip')}
              </Button>
            )}
          </li>
        ))}
      </ul>
      {skips.length > MAX_SKIPS_SHOWN && (
        <Text size="sm" className="dim">
          {t('calendar.moreSkips', { count: skips.length - MAX_SKIPS_SHOWN })}
        </Text>
      )}
    </section>
  )
}
