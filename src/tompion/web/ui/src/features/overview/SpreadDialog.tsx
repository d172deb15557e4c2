import { Button, Group, Progress as Bar, SegmentedControl, Text } from '@mantine/core'
import { useMutation, useQueries, useQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'

import { unwrap, api } from '../../api/client'
import { queryKey, scheduleQuery } from '../../api/queries'
import type { LoadSpike, SpecGroup, SpecPeer } from '../../api/types'
import { useRefresh } from '../../api/refresh'
import { Dialog } from '../../components/Dialog'
import { countText, durationText, timeText } from '../../lib/format'
import { Timestamp } from '../../components/Timestamp'
import { Loading, ErrorState } from '../../components/states'
import { showError } from '../../components/toasts'
import { useZoneChoice, displayZone } from '../../lib/timezones'
import { applyChanges, specChange, fetchSpecPeers, type Progress, type SpreadMethod } from './spread'
import classes from './SpreadDialog.module.css'

const MAX_SAMPLES = 4
const MAX_FAILED_SHOWN = 50

/** Part the schedules of a herd: what it touches and what becomes of it is seen first, and who refused afterwards. */
export function SpreadDialog({ spike, onClose }: { spike: LoadSpike; onClose: () => void }) {
  const groups = spike.kin.filter((group) => group.jitter_ms !== null || group.hashed)
  const [methods, setMethods] = useState<Record<string, SpreadMethod>>({})
  const [progress, setProgress] = useState<Progress | null>(null)
  const abort = useRef(new AbortController())
  const refresh = useRefresh()
  const hasSharedSpec = groups.some((group) => group.schedules > 1)
  // What stands alone is none of the herd's making: it is left as it is unless somebody wants it otherwise.
  const methodFor = (group: SpecGroup) => methods[group.example] ?? (hasSharedSpec && group.schedules === 1 ? 'leave' : group.jitter_ms === null ? 'hash' : 'jitter')
  const peerQueries = useQueries({
    queries: groups.map((group) => ({
      queryKey: queryKey('sharers', group.example),
      queryFn: ({ signal }: { signal: AbortSignal }) => fetchSpecPeers(group.example, signal),
      staleTime: Infinity,
      gcTime: 0,
    })),
  })
  const changes = groups.flatMap((group, at) => {
    const change = specChange(group, methodFor(group))
    return change ? (peerQueries[at]?.data ?? []).map((peer) => ({ peer, change })) : []
  })
  const apply = useMutation({
    mutationFn: () => applyChanges(changes, abort.current.signal, setProgress),
    onSuccess: setProgress,
    onError: showError,
    onSettled: () => refresh(),
  })
  const error = peerQueries.find((query) => query.error)?.error
  const close = () => {
    abort.current.abort()
    onClose()
  }
  return (
    <Dialog
      onClose={close}
      size="lg"
      closeOnClickOutside={!apply.isPending}
      title={
        <>
          Spread the {countText(spike.fires, 'fire')} of <Timestamp at={spike.start} precision="minute" short />
        </>
      }
    >
      {progress ? (
        <SpreadProgress progress={progress} busy={apply.isPending} />
      ) : (
        <>
          <Text size="sm">
            Each schedule is changed by itself, as an edit of yours: it gets a new version, and can be restored. One that somebody
            else changes in the meantime is left alone.
          </Text>
          {groups.map((group, at) => (
            <GroupSection
              key={group.example}
              group={group}
              method={methodFor(group)}
              onMethod={(method) => setMethods({ ...methods, [group.example]: method })}
              peers={peerQueries[at]?.data}
            />
          ))}
          {error && <ErrorState error={error} />}
        </>
      )}
      <Group justify="flex-end" mt="md">
        {apply.isPending ? (
          <Button variant="default" onClick={() => abort.current.abort()}>
            Stop here
          </Button>
        ) : (
          <Button variant="default" onClick={close}>
            {progress ? 'Done' : 'Do nothing'}
          </Button>
        )}
        {!progress && (
          <Button disabled={changes.length === 0 || peerQueries.some((query) => query.isPending)} onClick={() => apply.mutate()}>
            {changes.length === 0 ? 'Change them' : `Change ${countText(changes.length, 'schedule')}`}
          </Button>
        )}
      </Group>
    </Dialog>
  )
}

interface GroupSectionProps {
  group: SpecGroup
  method: SpreadMethod
  onMethod: (method: SpreadMethod) => void
  peers: SpecPeer[] | undefined
}

/** Schedules of one spec: how many, what would part them, and when some of them would fire then. */
function GroupSection({ group, method, onMethod, peers }: GroupSectionProps) {
  const options = [
    ...(group.jitter_ms === null ? [] : [{ value: 'jitter', label: `Jitter of up to ${durationText(group.jitter_ms)}` }]),
    ...(group.hashed ? [{ value: 'hash', label: `Own minute: ${group.hashed.join(', ')}` }] : []),
    { value: 'leave', label: 'Leave them' },
  ]
  return (
    <section className={classes.kind} aria-label={group.example}>
      <h3>
        {peers ? countText(peers.length, 'schedule') : '…'} <span className="dim">like</span> {group.example}
      </h3>
      <p>{group.explanation}</p>
      <SegmentedControl size="xs" className={classes.ways} aria-label={`What becomes of ${group.example}`} value={method} onChange={(value) => onMethod(value as SpreadMethod)} data={options} />
      {peers && method !== 'leave' && <Samples group={group} method={method} peers={peers} />}
    </section>
  )
}

/** When a few of them fire next, as it is and as it would be. */
function Samples({ group, method, peers }: { group: SpecGroup; method: SpreadMethod; peers: SpecPeer[] }) {
  const spec = useQuery(scheduleQuery(group.example)).data?.definition.spec
  const samples = peers.slice(0, MAX_SAMPLES)
  const previewQuery = (id: string, change: object) => ({
    queryKey: queryKey('spread', group.example, id, change),
    queryFn: () => unwrap(api.POST('/api/v1/preview', { body: { ...spec, ...change, schedule_id: id, count: 1 } as never })),
    enabled: spec !== undefined,
    gcTime: 0,
  })
  const before = useQuery(previewQuery(group.example, {})).data
  const after = useQueries({ queries: samples.map(({ schedule_id: id }) => previewQuery(id, specChange(group, method) ?? {})) })
  const zone = displayZone(useZoneChoice(), before?.timezone)
  const nextRunText = (preview: typeof before) => (preview?.ticks[0] ? timeText(preview.ticks[0].fire_at, zone) : '…')
  const error = after.find((query) => query.error)?.error
  if (error) return <ErrorState error={error} />
  if (!before) return <Loading lines={2} />
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
        {samples.map(({ schedule_id: id }, at) => (
          <tr key={id}>
            <td className="mono">{id}</td>
            <td>{nextRunText(before)}</td>
            <td>{nextRunText(after[at]?.data)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** How far it is, and who refused, and why. */
function SpreadProgress({ progress: { done, failed, total, stopped }, busy }: { progress: Progress; busy: boolean }) {
  const changed = done - failed.length
  return (
    <>
      <Bar value={(100 * done) / Math.max(1, total)} animated={busy} aria-label="How many are done" />
      <Text mt="xs" size="sm" role="status">
        {countText(changed, 'schedule')} of {total.toLocaleString('en-GB')} changed
        {failed.length > 0 && `, ${failed.length.toLocaleString('en-GB')} refused`}
        {stopped && !busy && `; stopped before the other ${(total - done).toLocaleString('en-GB')}`}
        {busy ? ' …' : '.'}
      </Text>
      {failed.length > 0 && (
        <ul className={classes.refused} aria-label="Refused">
          {failed.slice(0, MAX_FAILED_SHOWN).map(({ id, reason }) => (
            <li key={id}>
              <span className="mono">{id}</span>: {reason}
            </li>
          ))}
          {failed.length > MAX_FAILED_SHOWN && <li className="dim">and {(failed.length - MAX_FAILED_SHOWN).toLocaleString('en-GB')} more</li>}
        </ul>
      )}
    </>
  )
}
