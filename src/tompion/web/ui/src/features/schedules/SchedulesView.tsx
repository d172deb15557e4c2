import { Button } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useCallback, useMemo, useState } from 'react'

import { countQuery, schedulesQuery } from '../../api/queries'
import type { ScheduleFilter } from '../../api/types'
import { useMay } from '../../api/session'
import { Icon } from '../../components/Icon'
import { Empty, Waiting, Wrong } from '../../components/states'
import { PageHead } from '../../components/PageHeader'
import { Bulk } from './BulkActions'
import { Filters } from './Filters'
import { Table } from './ScheduleTable'

const route = getRouteApi('/schedules')

/** All schedules: found, read and acted on without leaving the list. */
export function Schedules() {
  const filter = route.useSearch()
  const wanted = useMemo(
    () => ({ text: filter.text, state: filter.state, workflow_id: filter.workflow_id, label: filter.label, user_id: filter.user_id }),
    [filter],
  )
  const query = useInfiniteQuery(schedulesQuery(wanted))
  const mayOperate = useMay('operator')
  const mayEdit = useMay('editor')
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const chooseNone = useCallback(() => setChosen(new Set()), [])
  const items = useMemo(() => query.data?.pages.flatMap((page) => page.items) ?? [], [query.data])
  const filtered = Object.values(wanted).some(Boolean)
  return (
    <>
      <PageHead title="Schedules" note={<Total filter={wanted} filtered={filtered} listed={query.isSuccess && !query.isPlaceholderData} />}>
        {mayEdit && (
          <Button renderRoot={(props) => <Link {...props} to="/new" />} leftSection={<Icon name="plus" />}>
            New schedule
          </Button>
        )}
        {mayOperate && <Bulk filter={wanted} filtered={filtered} chosen={chosen} onDone={chooseNone} />}
      </PageHead>
      <Filters filter={wanted} />
      <div className="panel">
        {query.isPending ? (
          <div style={{ padding: '1rem' }}>
            <Waiting lines={10} />
          </div>
        ) : query.isError && !query.data ? (
          <Wrong error={query.error} onRetry={() => void query.refetch()} />
        ) : items.length === 0 ? (
          <Nothing filtered={filtered} />
        ) : (
          <Table
            items={items}
            more={query.hasNextPage}
            onMore={() => !query.isFetchingNextPage && void query.fetchNextPage()}
            chosen={chosen}
            onChoose={setChosen}
            mayOperate={mayOperate}
          />
        )}
      </div>
    </>
  )
}

/** How many match, and of how many: "1,234 of 100,000"; they are counted once those to be seen are there. */
function Total({ filter, filtered, listed }: { filter: ScheduleFilter; filtered: boolean; listed: boolean }) {
  const { data: counted, isPlaceholderData: isOld } = useQuery({ ...countQuery(filter), enabled: listed })
  if (!counted) return null
  const matching = isOld ? '…' : counted.matching.toLocaleString('en-GB')
  const total = counted.total.toLocaleString('en-GB')
  const least = counted.capped ? 'more than ' : ''
  if (!filtered) return `${least}${total}`
  return filter.state === 'closed' ? `${matching} deleted` : `${matching} of ${least}${total}`
}

function Nothing({ filtered }: { filtered: boolean }) {
  const navigate = route.useNavigate()
  if (filtered)
    return (
      <Empty title="No schedule matches">
        <Button variant="default" onClick={() => void navigate({ search: (all) => ({ namespace: all.namespace }) })}>
          Show all schedules
        </Button>
      </Empty>
    )
  return (
    <Empty title="There are no schedules yet">
      <p>A schedule says when something runs, and what. From a shell:</p>
      <pre className="raw">
        {'tompion schedules put report --cron "0 9 * * MON-FRI" \\\n    --timezone Europe/Berlin --function tasks:report'}
      </pre>
      <p>It shows up here at once, with its next tick.</p>
    </Empty>
  )
}
