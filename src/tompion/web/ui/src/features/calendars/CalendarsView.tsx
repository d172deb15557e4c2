import { Button } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { calendarsQuery } from '../../api/queries'
import { useIsAllowed } from '../../api/session'
import type { Calendar } from '../../api/types'
import { type Column, DataTable } from '../../components/DataTable'
import { Icon } from '../../components/Icon'
import { LoadMore } from '../../components/LoadMore'
import { PageHeader } from '../../components/PageHeader'
import { EmptyState } from '../../components/states'
import { now } from '../../lib/clock'
import { dayText, NO_VALUE } from '../../lib/format'
import { numberText, t } from '../../messages'
import { CalendarDetails } from './CalendarDetails'
import { CalendarForm } from './CalendarForm'

const COLUMNS: Column<Calendar>[] = [
  {
    name: t('calendars.calendar'),
    cell: ({ name }) => (
      <Link to="/calendars" search={(all) => ({ ...all, calendar: name })} className="text-link">
        {name}
      </Link>
    ),
  },
  { name: t('calendars.dates'), cell: (calendar) => numberText(calendar.dates.length) },
  { name: t('calendars.ranges'), cell: (calendar) => numberText(calendar.windows.length) },
  { name: t('calendars.nextDates'), cell: (calendar) => nextDates(calendar) },
  { name: t('common.timeZone'), cell: (calendar) => calendar.timezone ?? t('calendars.scheduleZone') },
  { name: t('common.version'), cell: (calendar) => calendar.version },
]

const route = getRouteApi('/calendars')

/** Calendars: dates and time ranges that schedules can exclude. */
export function CalendarsView() {
  const query = useInfiniteQuery(calendarsQuery())
  const mayEdit = useIsAllowed('editor')
  const { calendar } = route.useSearch()
  const navigate = route.useNavigate()
  const [editing, setEditing] = useState<Calendar | 'new' | null>(null)
  const items = query.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <>
      <PageHeader title={t('nav.calendars')}>
        {mayEdit && (
          <Button leftSection={<Icon name="plus" />} onClick={() => setEditing('new')}>
            {t('calendars.new')}
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
                <Button
                  size="compact-xs"
                  variant="default"
                  onClick={() => setEditing(calendar)}
                  aria-label={t('calendars.edit', { name: calendar.name })}
                >
                  {t('common.edit')}
                </Button>
              )
            : undefined
        }
        empty={<EmptyState title={t('calendars.none')}>{t('calendars.noneHelp')}</EmptyState>}
      >
        <LoadMore query={query} />
      </DataTable>
      {calendar && (
        <CalendarDetails
          name={calendar}
          onClose={() => void navigate({ search: (all) => ({ ...all, calendar: undefined }) })}
        />
      )}
      {editing && <CalendarForm calendar={editing === 'new' ? undefined : editing} onClose={() => setEditing(null)} />}
    </>
  )
}

function nextDates(calendar: Calendar): string {
  const today = dayText(now(), 'UTC')
  const futureDates = calendar.dates.filter((date) => date >= today).sort()
  return futureDates.slice(0, 3).join(', ') + (futureDates.length > 3 ? ' …' : '') || NO_VALUE
}
