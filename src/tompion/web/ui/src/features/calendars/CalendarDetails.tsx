import { Button, Title } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'

import { calendarsQuery, schedulesQuery } from '../../api/queries'
import type { Calendar } from '../../api/types'
import { countText } from '../../lib/format'
import classes from './CalendarsView.module.css'

/** One calendar: all its days and windows, and which schedules leave them out. */
export function CalendarDetails({ name, onClose }: { name: string; onClose: () => void }) {
  const query = useInfiniteQuery(calendarsQuery())
  const calendar = query.data?.pages.flatMap((page) => page.items).find((calendar) => calendar.name === name)
  if (query.isPending) return null
  return (
    <section className={`panel ${classes.one}`} aria-label={`Calendar ${name}`}>
      <div className={classes.title}>
        <Title order={2}>{name}</Title>
        <Button size="compact-xs" variant="subtle" color="gray" onClick={onClose}>
          Close
        </Button>
      </div>
      {calendar ? <CalendarDates calendar={calendar} /> : <p className="dim">There is no calendar of this name among those that were read.</p>}
      {calendar && <CalendarUsers name={name} />}
    </section>
  )
}

function CalendarDates({ calendar }: { calendar: Calendar }) {
  return (
    <>
      <h3>{countText(calendar.dates.length, 'day')}</h3>
      <ul className={classes.days}>
        {[...calendar.dates].sort().map((date) => (
          <li key={date}>{date}</li>
        ))}
      </ul>
      {calendar.windows.length > 0 && (
        <>
          <h3>{countText(calendar.windows.length, 'window')}</h3>
          <ul className={classes.windows}>
            {calendar.windows.map((range) => (
              <li key={`${range.begin} ${range.end}`}>
                {range.begin} – {range.end}
                {range.note && <span className="dim"> {range.note}</span>}
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  )
}

/** The service does not keep who names a calendar: schedules are read, a page at a time, and looked through. */
function CalendarUsers({ name }: { name: string }) {
  const query = useInfiniteQuery(schedulesQuery({}))
  const all = query.data?.pages.flatMap((page) => page.items) ?? []
  const users = all.filter(({ definition }) => (definition.spec?.exclude as { named?: string[] } | undefined)?.named?.includes(name))
  return (
    <>
      <h3>Schedules that leave them out</h3>
      <ul className={classes.windows}>
        {users.map(({ schedule_id: id }) => (
          <li key={id}>
            <Link to="/schedules/$id" params={{ id }} className="text-link">
              {id}
            </Link>
          </li>
        ))}
        {users.length === 0 && !query.isPending && <li className="dim">None{query.hasNextPage && ' yet'}.</li>}
      </ul>
      {query.hasNextPage && (
        <Button mt="xs" size="compact-xs" variant="default" loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
          Look through more than {all.length.toLocaleString('en-GB')}
        </Button>
      )}
    </>
  )
}
