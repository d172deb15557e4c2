import { Button } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'

import { calendarsQuery } from '../../api/queries'
import type { Calendar } from '../../api/types'
import { useIsAllowed } from '../../api/session'
import { now } from '../../lib/clock'
import { countText, dayText } from '../../lib/format'
import { Icon } from '../../components/Icon'
import { DataTable, type Column } from '../../components/DataTable'
import { LoadMore } from '../../components/LoadMore'
import { EmptyState } from '../../components/states'
import { PageHeader } from '../../components/PageHeader'
import { CalendarDetails } from './CalendarDetails'
import { CalendarForm } from './CalendarForm'

const COLUMNS: Column<Calendar>[] = [
  {
    name: 'Calendar',
    cell: ({ name }) => (
      <Link to="/calendars" search={(all) => ({ ...all, calendar: name })} className="text-link">
        {name}
      </Link>
    ),
  },
  { name: 'Days', cell: (calendar) => countText(calendar.dates.length, 'day') },
  { name: 'Windows', cell: (calendar) => calendar.windows.length },
  { name: 'Next days off', cell: (calendar) => nextDates(calendar) },
  { name: 'Time zone', cell: (calendar) => calendar.timezone ?? "each schedule's own" },
  { name: 'Version', cell: (calendar) => calendar.version },
]

const route = getRouteApi('/calendars')

/** Lists of days that many schedules leave out. */
export function CalendarsView() {
  const query = useInfiniteQuery(calendarsQuery())
  const mayEdit = useIsAllowed('editor')
  const { calendar } = route.useSearch()
  const navigate = route.useNavigate()
  const [editing, setEditing] = useState<Calendar | 'new' | null>(null)
  const items = query.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <>
      <PageHeader title="Calendars">
        {mayEdit && (
          <Button leftSection={<Icon name="plus" />} onClick={() => setEditing('new')}>
            New calendar
          </Button>
        )}
      </PageHeader>
      <DataTable
        query={query}
        items={items}
        keyOf={(calendar) => calendar.name}
        columns={COLUMNS}
        actions={
          mayEdit
            ? (calendar) => (
                <Button size="compact-xs" variant="default" onClick={() => setEditing(calendar)} aria-label={`Edit ${calendar.name}`}>
                  Edit
                </Button>
              )
            : undefined
        }
        empty={
          <EmptyState title="There are no calendars yet">
            <p>
              A calendar is a list of days and windows, such as bank holidays, that schedules exclude by its name. When it
              changes, every schedule that excludes it is planned anew.
            </p>
          </EmptyState>
        }
      >
        <LoadMore query={query}>More calendars</LoadMore>
      </DataTable>
      {calendar && <CalendarDetails name={calendar} onClose={() => void navigate({ search: (all) => ({ ...all, calendar: undefined }) })} />}
      {editing && <CalendarForm calendar={editing === 'new' ? undefined : editing} onClose={() => setEditing(null)} />}
    </>
  )
}

function nextDates(calendar: Calendar): string {
  const today = dayText(now(), 'UTC')
  const futureDates = calendar.dates.filter((date) => date >= today).sort()
  return futureDates.slice(0, 3).join(', ') + (futureDates.length > 3 ? ' …' : '') || '–'
}
