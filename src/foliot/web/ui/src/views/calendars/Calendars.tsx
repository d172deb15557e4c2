import { Button } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'

import { calendarsQuery } from '../../api/queries'
import type { NamedCalendar } from '../../api/types'
import { useMay } from '../../api/visit'
import { now } from '../../parts/clock'
import { countText, dayText } from '../../parts/format'
import { Icon } from '../../parts/Icon'
import { More } from '../../parts/More'
import { Empty, Waiting, Wrong } from '../../parts/notes'
import { PageHead } from '../../parts/Page'
import { PutCalendar } from './PutCalendar'

/** Lists of days that many schedules leave out. */
export function Calendars() {
  const query = useInfiniteQuery(calendarsQuery())
  const mayEdit = useMay('editor')
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
      {query.isPending ? (
        <Waiting />
      ) : query.isError ? (
        <Wrong error={query.error} onRetry={() => void query.refetch()} />
      ) : items.length === 0 ? (
        <Empty title="There are no calendars yet">
          <p>
            A calendar is a list of days and windows, such as bank holidays, that schedules exclude by its name. When it
            changes, every schedule that excludes it is planned anew.
          </p>
        </Empty>
      ) : (
        <>
          <div className="panel scroll-x">
            <table className="plain-table">
              <thead>
                <tr>
                  <th>Calendar</th>
                  <th>Days</th>
                  <th>Windows</th>
                  <th>Next days off</th>
                  <th>Time zone</th>
                  <th>Version</th>
                  {mayEdit && <th aria-label="Actions" />}
                </tr>
              </thead>
              <tbody>
                {items.map((each) => (
                  <tr key={each.name}>
                    <td>{each.name}</td>
                    <td>{countText(each.dates.length, 'day')}</td>
                    <td>{each.windows.length}</td>
                    <td>{next(each)}</td>
                    <td>{each.timezone ?? "each schedule's own"}</td>
                    <td>{each.version}</td>
                    {mayEdit && (
                      <td>
                        <Button size="compact-xs" variant="default" onClick={() => setEditing(each)} aria-label={`Edit ${each.name}`}>
                          Edit
                        </Button>
                      </td>
                    )}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          <More query={query}>More calendars</More>
        </>
      )}
      {editing && <PutCalendar calendar={editing === 'new' ? undefined : editing} onClose={() => setEditing(null)} />}
    </>
  )
}

function next(calendar: NamedCalendar): string {
  const today = dayText(now(), 'UTC')
  const coming = calendar.dates.filter((date) => date >= today).sort()
  return coming.slice(0, 3).join(', ') + (coming.length > 3 ? ' …' : '') || '–'
}
