import { Button, Group, Progress as Bar, SegmentedControl, Text } from '@mantine/core'
import { useMutation, useQueries, useQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'

import { answer, api } from '../../api/client'
import { key, scheduleQuery } from '../../api/queries'
import type { Herd, Kin, Sharer } from '../../api/types'
import { useRefresh } from '../../api/refresh'
import { Dialog } from '../../components/Dialog'
import { countText, durationText, timeText } from '../../lib/format'
import { Moment } from '../../components/Timestamp'
import { Waiting, Wrong } from '../../components/states'
import { complain } from '../../components/toasts'
import { useZoneChoice, zoneFor } from '../../lib/timezones'
import { changeAll, changeOf, sharersOf, type Progress, type Way } from './spread'
import classes from './SpreadDialog.module.css'

const SAMPLES = 4
const MOST_REFUSED = 50

/** Part the schedules of a herd: what it touches and what becomes of it is seen first, and who refused afterwards. */
export function Spread({ herd, onClose }: { herd: Herd; onClose: () => void }) {
  const kins = herd.kin.filter((each) => each.jitter_ms !== null || each.hashed)
  const [ways, setWays] = useState<Record<string, Way>>({})
  const [progress, setProgress] = useState<Progress | null>(null)
  const stop = useRef(new AbortController())
  const refresh = useRefresh()
  const shared = kins.some((each) => each.schedules > 1)
  // What stands alone is none of the herd's making: it is left as it is unless somebody wants it otherwise.
  const wayOf = (kin: Kin) => ways[kin.example] ?? (shared && kin.schedules === 1 ? 'leave' : kin.jitter_ms === null ? 'hash' : 'jitter')
  const found = useQueries({
    queries: kins.map((kin) => ({
      queryKey: key('sharers', kin.example),
      queryFn: ({ signal }: { signal: AbortSignal }) => sharersOf(kin.example, signal),
      staleTime: Infinity,
      gcTime: 0,
    })),
  })
  const work = kins.flatMap((kin, at) => {
    const change = changeOf(kin, wayOf(kin))
    return change ? (found[at]?.data ?? []).map((sharer) => ({ sharer, change })) : []
  })
  const act = useMutation({
    mutationFn: () => changeAll(work, stop.current.signal, setProgress),
    onSuccess: setProgress,
    onError: complain,
    onSettled: () => refresh(),
  })
  const wrong = found.find((each) => each.error)?.error
  const close = () => {
    stop.current.abort()
    onClose()
  }
  return (
    <Dialog
      onClose={close}
      size="lg"
      closeOnClickOutside={!act.isPending}
      title={
        <>
          Spread the {countText(herd.fires, 'fire')} of <Moment at={herd.start} precision="minute" near />
        </>
      }
    >
      {progress ? (
        <Report progress={progress} busy={act.isPending} />
      ) : (
        <>
          <Text size="sm">
            Each schedule is changed by itself, as an edit of yours: it gets a new version, and can be restored. One that somebody
            else changes in the meantime is left alone.
          </Text>
          {kins.map((kin, at) => (
            <Kind
              key={kin.example}
              kin={kin}
              way={wayOf(kin)}
              onWay={(way) => setWays({ ...ways, [kin.example]: way })}
              sharers={found[at]?.data}
            />
          ))}
          {wrong && <Wrong error={wrong} />}
        </>
      )}
      <Group justify="flex-end" mt="md">
        {act.isPending ? (
          <Button variant="default" onClick={() => stop.current.abort()}>
            Stop here
          </Button>
        ) : (
          <Button variant="default" onClick={close}>
            {progress ? 'Done' : 'Do nothing'}
          </Button>
        )}
        {!progress && (
          <Button disabled={work.length === 0 || found.some((each) => each.isPending)} onClick={() => act.mutate()}>
            {work.length === 0 ? 'Change them' : `Change ${countText(work.length, 'schedule')}`}
          </Button>
        )}
      </Group>
    </Dialog>
  )
}

interface KindProps {
  kin: Kin
  way: Way
  onWay: (way: Way) => void
  sharers: Sharer[] | undefined
}

/** Schedules of one spec: how many, what would part them, and when some of them would fire then. */
function Kind({ kin, way, onWay, sharers }: KindProps) {
  const offered = [
    ...(kin.jitter_ms === null ? [] : [{ value: 'jitter', label: `Jitter of up to ${durationText(kin.jitter_ms)}` }]),
    ...(kin.hashed ? [{ value: 'hash', label: `Own minute: ${kin.hashed.join(', ')}` }] : []),
    { value: 'leave', label: 'Leave them' },
  ]
  return (
    <section className={classes.kind} aria-label={kin.example}>
      <h3>
        {sharers ? countText(sharers.length, 'schedule') : '…'} <span className="dim">like</span> {kin.example}
      </h3>
      <p>{kin.explanation}</p>
      <SegmentedControl size="xs" className={classes.ways} aria-label={`What becomes of ${kin.example}`} value={way} onChange={(value) => onWay(value as Way)} data={offered} />
      {sharers && way !== 'leave' && <Samples kin={kin} way={way} sharers={sharers} />}
    </section>
  )
}

/** When a few of them fire next, as it is and as it would be. */
function Samples({ kin, way, sharers }: { kin: Kin; way: Way; sharers: Sharer[] }) {
  const spec = useQuery(scheduleQuery(kin.example)).data?.definition.spec
  const some = sharers.slice(0, SAMPLES)
  const ask = (id: string, change: object) => ({
    queryKey: key('spread', kin.example, id, change),
    queryFn: () => answer(api.POST('/api/v1/preview', { body: { ...spec, ...change, schedule_id: id, count: 1 } as never })),
    enabled: spec !== undefined,
    gcTime: 0,
  })
  const before = useQuery(ask(kin.example, {})).data
  const after = useQueries({ queries: some.map(({ schedule_id: id }) => ask(id, changeOf(kin, way) ?? {})) })
  const zone = zoneFor(useZoneChoice(), before?.timezone)
  const told = (preview: typeof before) => (preview?.ticks[0] ? timeText(preview.ticks[0].fire_at, zone) : '…')
  const wrong = after.find((each) => each.error)?.error
  if (wrong) return <Wrong error={wrong} />
  if (!before) return <Waiting lines={2} />
  return (
    <table className={classes.samples}>
      <thead>
        <tr>
          <th>For example</th>
          <th>Fires next at</th>
          <th>It would at</th>
        </tr>
      </thead>
      <tbody>
        {some.map(({ schedule_id: id }, at) => (
          <tr key={id}>
            <td className="mono">{id}</td>
            <td>{told(before)}</td>
            <td>{told(after[at]?.data)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** How far it is, and who refused, and why. */
function Report({ progress: { done, refused, total, stopped }, busy }: { progress: Progress; busy: boolean }) {
  const changed = done - refused.length
  return (
    <>
      <Bar value={(100 * done) / Math.max(1, total)} animated={busy} aria-label="How many are done" />
      <Text mt="xs" size="sm" role="status">
        {countText(changed, 'schedule')} of {total.toLocaleString('en-GB')} changed
        {refused.length > 0 && `, ${refused.length.toLocaleString('en-GB')} refused`}
        {stopped && !busy && `; stopped before the other ${(total - done).toLocaleString('en-GB')}`}
        {busy ? ' …' : '.'}
      </Text>
      {refused.length > 0 && (
        <ul className={classes.refused} aria-label="Refused">
          {refused.slice(0, MOST_REFUSED).map(({ id, problem }) => (
            <li key={id}>
              <span className="mono">{id}</span>: {problem}
            </li>
          ))}
          {refused.length > MOST_REFUSED && <li className="dim">and {(refused.length - MOST_REFUSED).toLocaleString('en-GB')} more</li>}
        </ul>
      )}
    </>
  )
}
