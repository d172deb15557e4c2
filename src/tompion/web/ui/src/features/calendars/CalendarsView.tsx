import { Button } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'

import { calendarsQuery } from '../../api/queries'
import type { NamedCalendar } from '../../api/types'
import { useMay } from '../../api/session'
import { now } from '../../lib/clock'
import { countText, dayText } from '../../lib/format'
import { Icon } from '../../components/Icon'
import { Listing, type Column } from '../../components/DataTable'
import { More } from '../../components/LoadMore'
import { Empty } from '../../components/states'
import { PageHead } from '../../components/PageHeader'
import { OneCalendar } from './CalendarDetails'
import { PutCalendar } from './CalendarForm'

const COLUMNS: Column<NamedCalendar>[] = [
  {
    name: 'Calendar',
    cell: ({ name }) => (
      <Link to="/calendars" search={(all) => ({ ...all, calendar: name })} className="text-link">
        {name}
      </Link>
    ),
  },
  { name: 'Days', cell: (each) => countText(each.dates.length, 'day') },
  { name: 'Windows', cell: (each) => each.windows.length },
  { name: 'Next days off', cell: (each) => next(each) },
  { name: 'Time zone', cell: (each) => each.timezone ?? "each schedule's own" },
  { name: 'Version', cell: (each) => each.version },
]

const route = getRouteApi('/calendars')

/** Lists of days that many schedules leave out. */
export function Calendars() {
  const query = useInfiniteQuery(calendarsQuery())
  const mayEdit = useMay('editor')
  const { calendar } = route.useSearch()
  const navigate = route.useNavigate()
  const [editing, setEditing] = useState<NamedCalendar | 'new' | null>(null)
  const items = query.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <>
      <PageHead title="Calendars">
        {mayEdit && (
          <Button leftSection={<Icon name="plus" />} onClick={() => setEditing('new')}>
            New calendar
          </Button>
        )}
      </PageHead>
      <Listing
        query={query}
        items={items}
        keyOf={(each) => each.name}
        columns={COLUMNS}
        act={
          mayEdit
            ? (each) => (
                <Button size="compact-xs" variant="default" onClick={() => setEditing(each)} aria-label={`Edit ${each.name}`}>
                  Edit
                </Button>
              )
            : undefined
        }
        empty={
          <Empty title="There are no calendars yet">
            <p>
              A calendar is a list of days and windows, such as bank holidays, that schedules exclude by its name. When it
              changes, every schedule that excludes it is planned anew.
            </p>
          </Empty>
        }
      >
        <More query={query}>More calendars</More>
      </Listing>
      {calendar && <OneCalendar name={calendar} onClose={() => void navigate({ search: (all) => ({ ...all, calendar: undefined }) })} />}
      {editing && <PutCalendar calendar={editing === 'new' ? undefined : editing} onClose={() => setEditing(null)} />}
    </>
  )
}

function next(calendar: NamedCalendar): string {
  const today = dayText(now(), 'UTC')
  const coming = calendar.dates.filter((date) => date >= today).sort()
  return coming.slice(0, 3).join(', ') + (coming.length > 3 ? ' …' : '') || '–'
}
