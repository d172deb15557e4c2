import { Progress as Bar, Button, Group, Text } from '@mantine/core'
import { useMutation, useQueries, useQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { useRefresh } from '../../api/mutations'
import { changedSpecQuery, queryKey, scheduleQuery } from '../../api/queries'
import { fetchSpecPeers } from '../../api/requests'
import type { LoadSpike, SpecGroup, SpecPeer } from '../../api/types'
import { Dialog } from '../../components/Dialog'
import { SegmentedRadio } from '../../components/SegmentedRadio'
import { ErrorState, Loading } from '../../components/states'
import { Timestamp } from '../../components/Timestamp'
import { showError } from '../../components/toasts'
import { durationText, timeText } from '../../lib/format'
import { displayZone, useZoneChoice } from '../../lib/timezones'
import { rich, t } from '../../messages'
import classes from './SpreadDialog.module.css'
import { applyChanges, type Progress, type SpreadMethod, specChange } from './spread'

const PEERS_PER_PAGE = 1_000
const MAX_SAMPLES = 4
const MAX_FAILED_SHOWN = 50

/** Spreads the schedules of a load spike: shows the changes first, then the progress and the failures. */
export function SpreadDialog({ spike, onClose }: { spike: LoadSpike; onClose: () => void }) {
  const groups = spike.groups.filter((group) => group.jitter_ms !== null || group.hashed)
  const [methods, setMethods] = useState<Record<string, SpreadMethod>>({})
  const [progress, setProgress] = useState<Progress | null>(null)
  const abort = useRef(new AbortController())
  const refresh = useRefresh()
  const hasSharedSpec = groups.some((group) => group.schedules > 1)
  // A schedule with a spec of its own did not cause the spike, so its default is no change.
  const methodFor = (group: SpecGroup) =>
    methods[group.example] ??
    (hasSharedSpec && group.schedules === 1 ? 'leave' : group.jitter_ms === null ? 'hash' : 'jitter')
  const peerQueries = useQueries({
    queries: groups.map((group) => ({
      queryKey: queryKey('same-spec', group.example),
      queryFn: ({ signal }: { signal: AbortSignal }) => fetchSpecPeers(group.example, PEERS_PER_PAGE, signal),
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
      title={rich('spread.title', {
        runs: t('heat.runs', { count: spike.fires }),
        at: <Timestamp at={spike.start} precision="minute" short />,
      })}
    >
      {progress ? (
        <SpreadProgress progress={progress} busy={apply.isPending} />
      ) : (
        <>
          <Text size="sm">{t('spread.help')}</Text>
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
            {t('spread.stop')}
          </Button>
        ) : (
          <Button variant="default" onClick={close}>
            {progress ? t('common.close') : t('common.cancel')}
          </Button>
        )}
        {!progress && (
          <Button
            disabled={changes.length === 0 || peerQueries.some((query) => query.isPending)}
            onClick={() => apply.mutate()}
          >
            {changes.length === 0 ? t('spread.apply') : t('spread.update', { count: changes.length })}
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

/** Schedules with the same spec: their number, the methods to spread them, and samples of the result. */
function GroupSection({ group, method, onMethod, peers }: GroupSectionProps) {
  const options: { value: SpreadMethod; label: string }[] = [
    ...(group.jitter_ms === null
      ? []
      : [{ value: 'jitter' as const, label: t('spread.jitter', { duration: durationText(group.jitter_ms) }) }]),
    ...(group.hashed ? [{ value: 'hash' as const, label: t('spread.hash', { cron: group.hashed.join(', ') }) }] : []),
    { value: 'leave', label: t('spread.leave') },
  ]
  return (
    <section className={classes.group} aria-label={group.example}>
      <h3>{t('spread.group', { count: peers?.length ?? group.schedules, example: group.example })}</h3>
      <p>{group.explanation}</p>
      <SegmentedRadio
        className={classes.methods}
        aria-label={t('spread.method', { example: group.example })}
        value={method}
        onChange={onMethod}
        data={options}
      />
      {peers && method !== 'leave' && <Samples group={group} method={method} peers={peers} />}
    </section>
  )
}

/** The next runs of a few schedules, before and after the change. */
function Samples({ group, method, peers }: { group: SpecGroup; method: SpreadMethod; peers: SpecPeer[] }) {
  const schedule = useQuery(scheduleQuery(group.example)).data
  const samples = peers.slice(0, MAX_SAMPLES)
  const before = useQuery(changedSpecQuery(group.example, schedule, {})).data
  const after = useQueries({
    queries: samples.map(({ schedule_id: id }) => changedSpecQuery(id, schedule, specChange(group, method) ?? {})),
  })
  const zone = displayZone(useZoneChoice(), before?.timezone)
  const nextRunText = (preview: typeof before) => (preview?.ticks[0] ? timeText(preview.ticks[0].fire_at, zone) : '…')
  const error = after.find((query) => query.error)?.error
  if (error) return <ErrorState error={error} />
  if (!before) return <Loading lines={2} />
  return (
    <table className={classes.samples}>
      <thead>
        <tr>
          <th>{t('spread.example')}</th>
          <th>{t('spread.before')}</th>
          <th>{t('spread.after')}</th>
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

/** The progress of the changes, and the failures with their reasons. */
function SpreadProgress({ progress: { done, failed, total, stopped }, busy }: { progress: Progress; busy: boolean }) {
  return (
    <>
      <Bar value={(100 * done) / Math.max(1, total)} animated={busy} aria-label={t('spread.progress')} />
      <Text mt="xs" size="sm" role="status">
        {t('spread.updated', { done: done - failed.length, total })}
        {failed.length > 0 && t('spread.failed', { count: failed.length })}
        {stopped && !busy && t('spread.stopped', { count: total - done })}
      </Text>
      {failed.length > 0 && (
        <ul className={classes.failed} aria-label={t('spread.failedList')}>
          {failed.slice(0, MAX_FAILED_SHOWN).map(({ id, reason }) => (
            <li key={id}>{rich('bulk.failure', { id: <span className="mono">{id}</span>, reason })}</li>
          ))}
          {failed.length > MAX_FAILED_SHOWN && (
            <li className="dim">{t('common.andMore', { count: failed.length - MAX_FAILED_SHOWN })}</li>
          )}
        </ul>
      )}
    </>
  )
}
