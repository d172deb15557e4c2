import { Badge, Button, Progress, Select, Text, TextInput, VisuallyHidden } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'

import { answer, api } from '../../api/client'
import { backfillsQuery, describeQuery, key } from '../../api/queries'
import type { Backfill } from '../../api/types'
import { useMay } from '../../api/session'
import { useRefresh } from '../../api/refresh'
import { countText, instantOf } from '../../lib/format'
import { Moment } from '../../components/Timestamp'
import { Empty, Waiting, Wrong } from '../../components/states'
import { complain, say } from '../../components/toasts'
import { useShownZone, zoneText } from '../../lib/timezones'
import classes from './Schedule.module.css'
import { useZone } from './useScheduleZone'

const route = getRouteApi('/schedules/$id/backfills')
const MOST_COUNTED = 1_000
const ONLY: Record<string, string> = { all: 'All of them', missing: 'Those that never ran', failed: 'Those that failed' }
const OVERLAP: Record<string, string> = { queue: 'Wait in line', allow: 'Run side by side', skip: 'Skip' }
const choices = (names: Record<string, string>) => Object.entries(names).map(([value, label]) => ({ value, label }))

/** Ranges of the past that are run again: asked for, watched, and stopped. */
export function Backfills() {
  const { id } = route.useParams()
  const zone = useZone(id)
  const mayOperate = useMay('operator')
  const query = useQuery(backfillsQuery(id))
  if (query.isPending) return <Waiting />
  if (query.isError) return <Wrong error={query.error} onRetry={() => void query.refetch()} />
  return (
    <>
      {mayOperate && <Begin id={id} zone={zone} />}
      {query.data.length === 0 ? (
        <Empty title="Nothing was backfilled">
          A backfill runs the ticks of a range of the past again, for instance those of an outage. It waits for the ticks of
          today, shows how far it is, and can be stopped.
        </Empty>
      ) : (
        <div className="panel scroll-x">
          <table className="plain-table">
            <thead>
              <tr>
                <th>Range</th>
                <th>Which</th>
                <th>State</th>
                <th style={{ minWidth: '12rem' }}>Progress</th>
                <th>Asked for</th>
                <th>
                <VisuallyHidden>Actions</VisuallyHidden>
              </th>
              </tr>
            </thead>
            <tbody>
              {query.data.map((each) => (
                <One key={each.backfill_id} id={id} backfill={each} zone={zone} mayOperate={mayOperate} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  )
}

function One({ id, backfill, zone, mayOperate }: { id: string; backfill: Backfill; zone: string; mayOperate: boolean }) {
  const refresh = useRefresh()
  const cancel = useMutation({
    mutationFn: () =>
      answer(api.POST('/api/v1/backfills/{backfill_id}/cancel', { params: { path: { backfill_id: backfill.backfill_id } }, body: {} })),
    onSuccess: () => say('The backfill was stopped'),
    onError: complain,
    onSettled: () => refresh(id),
  })
  const share = backfill.total === 0 ? 100 : (100 * backfill.done) / backfill.total
  const running = backfill.state === 'RUNNING'
  return (
    <tr>
      <td>
        <Moment at={backfill.start} zone={zone} precision="minute" /> – <Moment at={backfill.end} zone={zone} precision="minute" />
      </td>
      <td>
        {ONLY[backfill.only] ?? backfill.only}
        <div className="dim small">{OVERLAP[backfill.overlap] ?? backfill.overlap}</div>
      </td>
      <td>
        <Badge color={running ? 'blue' : backfill.state === 'CANCELLED' ? 'gray' : 'verdigris'}>{backfill.state.toLowerCase()}</Badge>
      </td>
      <td>
        <Progress value={share} aria-label={`${backfill.done} of ${backfill.total} ticks`} size="sm" mt={7} />
        <Text size="xs" className="dim">
          {backfill.done} of {countText(backfill.total, 'tick')}
          {backfill.undecided > 0 && `; ${backfill.undecided} left to the schedule itself`}
        </Text>
      </td>
      <td>
        <Moment at={backfill.created_at} zone={zone} />
      </td>
      <td>
        {mayOperate && running && (
          <Button size="compact-xs" variant="default" loading={cancel.isPending} onClick={() => cancel.mutate()}>
            Stop
          </Button>
        )}
      </td>
    </tr>
  )
}

function Begin({ id, zone }: { id: string; zone: string }) {
  const refresh = useRefresh()
  const [from, setFrom] = useState('')
  const [to, setTo] = useState('')
  const [only, setOnly] = useState('all')
  const [overlap, setOverlap] = useState('queue')
  const shown = useShownZone(zone)
  const [start, end] = [instantOf(from, shown), instantOf(to, shown)]
  const wrong = `No time in ${shown}; such as 2026-01-31 09:00`
  const backwards = start && end && start > end
  const begin = useMutation({
    mutationFn: () =>
      answer(
        api.POST('/api/v1/schedules/{schedule_id}/backfills', {
          params: { path: { schedule_id: id } },
          body: { start: start!.toISOString(), end: end!.toISOString(), only, overlap },
        }),
      ),
    onSuccess: (made) => say(`${countText(made.reduce((sum, each) => sum + each.total, 0), 'tick')} will be run again`),
    onError: complain,
    onSettled: () => refresh(id),
  })
  return (
    <form
      className={`panel ${classes.form}`}
      onSubmit={(event) => {
        event.preventDefault()
        begin.mutate()
      }}
    >
      <TextInput
        label="From"
        placeholder="2026-01-31 09:00"
        required
        value={from}
        error={from && !start ? wrong : undefined}
        onChange={(event) => setFrom(event.currentTarget.value)}
      />
      <TextInput
        label="To, included"
        placeholder="2026-01-31 18:00"
        required
        value={to}
        error={to && !end ? wrong : backwards ? 'Before its start' : undefined}
        onChange={(event) => setTo(event.currentTarget.value)}
      />
      <Select
        label="Which ticks"
        value={only}
        onChange={(value) => setOnly(value ?? 'all')}
        data={choices(ONLY)}
      />
      <Select
        label="While one is running"
        value={overlap}
        onChange={(value) => setOverlap(value ?? 'queue')}
        data={choices(OVERLAP)}
      />
      <Button type="submit" loading={begin.isPending} disabled={!start || !end || backwards}>
        Run them again
      </Button>
      <Text size="xs" className="dim" w="100%">
        Times are in {zoneText(shown)}. {start && end && !backwards && <Counted id={id} start={start} end={end} />}
      </Text>
    </form>
  )
}

/** How many ticks a range has, before anything is run. */
function Counted({ id, start, end }: { id: string; start: Date; end: Date }) {
  const spec = useQuery(describeQuery(id)).data?.schedule.definition.spec
  const { data } = useQuery({
    queryKey: key('schedule', id, 'count', start, end),
    queryFn: () =>
      answer(
        api.POST('/api/v1/preview', {
          body: { ...spec, schedule_id: id, after: new Date(start.getTime() - 1_000).toISOString(), count: MOST_COUNTED },
        }),
      ),
    enabled: spec !== undefined,
  })
  if (!data) return null
  const count = data.ticks.filter((tick) => Date.parse(tick.at) <= end.getTime()).length
  return <strong>The range has {count === MOST_COUNTED ? `${MOST_COUNTED} ticks or more` : countText(count, 'tick')}.</strong>
}
