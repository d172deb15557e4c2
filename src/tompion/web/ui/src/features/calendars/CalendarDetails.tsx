import { Button, Title } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { calendarsQuery, schedulesQuery } from '../../api/queries'
import type { Calendar } from '../../api/types'
import { t } from '../../messages'
import classes from './CalendarsView.module.css'

/** One calendar: its dates and time ranges, and the schedules that use it. */
export function CalendarDetails({ name, onClose }: { name: string; onClose: () => void }) {
  const query = useInfiniteQuery(calendarsQuery())
  const calendar = query.data?.pages.flatMap((page) => page.items).find((calendar) => calendar.name === name)
  if (query.isPending) return null
  return (
    <section className={`panel ${classes.one}`} aria-label={t('calendars.named', { name })}>
      <div className={classes.title}>
        <Title order={2}>{name}</Title>
        <Button size="compact-xs" variant="subtle" color="gray" onClick={onClose}>
          {t('common.close')}
        </Button>
      </div>
      {calendar ? <CalendarDates calendar={calendar} /> : <p className="dim">{t('calendars.notFound')}</p>}
      {calendar && <CalendarUsers name={name} />}
    </section>
  )
}

function CalendarDates({ calendar }: { calendar: Calendar }) {
  return (
    <>
      <h3>{t('calendars.dateCount', { count: calendar.dates.length })}</h3>
      <ul className={classes.days}>
        {[...calendar.dates].sort().map((date) => (
          <li key={date}>{date}</li>
        ))}
      </ul>
      {calendar.windows.length > 0 && (
        <>
          <h3>{t('calendars.rangeCount', { count: calendar.windows.length })}</h3>
          <ul className={classes.windows}>
            {calendar.windows.map((range) => (
              <li key={`${range.begin} ${range.end}`}>
                {t('calendars.range', { begin: range.begin, end: range.end })}
                {range.note && <span className="dim"> {range.note}</span>}
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  )
}

/** The schedules that use a calendar. The API has no such list, so pages of schedules are searched. */
function CalendarUsers({ name }: { name: string }) {
  const query = useInfiniteQuery(schedulesQuery({}))
  const all = query.data?.pages.flatMap((page) => page.items) ?? []
  const users = all.filter(({ exclude }) => (exclude as { named?: string[] } | undefined)?.named?.includes(name))
  return (
    <>
      <h3>{t('calendars.usedBy')}</h3>
      <ul className={classes.windows}>
        {users.map(({ schedule_id: id }) => (
          <li key={id}>
            <Link to="/schedules/$id" params={{ id }} className="text-link">
              {id}
            </Link>
          </li>
        ))}
        {users.length === 0 && !query.isPending && <li className="dim">{t('common.none')}</li>}
      </ul>
      {query.hasNextPage && (
        <Button
          mt="xs"
          size="compact-xs"
          variant="default"
          loading={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          {t('calendars.searchMore')}
        </Button>
      )}
    </>
  )
}
