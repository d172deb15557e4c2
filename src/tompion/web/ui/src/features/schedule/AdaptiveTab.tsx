import { Alert, Button, Group, Text, TextInput, Title } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'

import { unwrap, api } from '../../api/client'
import { descriptionQuery } from '../../api/queries'
import { useIsAllowed } from '../../api/session'
import { useRefresh } from '../../api/refresh'
import { DescriptionList } from '../../components/DescriptionList'
import { durationText } from '../../lib/format'
import { Timestamp, RelativeTime } from '../../components/Timestamp'
import { EmptyState } from '../../components/states'
import { showError, showToast } from '../../components/toasts'
import classes from './Schedule.module.css'
import { useScheduleZone } from './useScheduleZone'

const route = getRouteApi('/schedules/$id/adaptive')
const BOUND_LABELS: Record<string, string> = { min: 'not sooner than the least interval', max: 'not later than the most interval' }

/** What the governor wants next, and why; the hints that it listens to. */
export function AdaptiveTab() {
  const { id } = route.useParams()
  const zone = useScheduleZone(id)
  const mayOperate = useIsAllowed('operator')
  const description = useQuery(descriptionQuery(id)).data
  const outlook = description?.outlook
  const { clear, reset } = useAdaptiveMutations(id)
  if (!description) return null
  if (!outlook)
    return (
      <EmptyState title="This schedule is not adaptive">
        An adaptive schedule moves its next run by hints and failures, between bounds. Set <code>adaptive</code> to true.
      </EmptyState>
    )
  const policy = description.schedule.definition
  return (
    <div className={`panel ${classes.side}`}>
      {outlook.warning && (
        <Alert color="yellow" mb="md">
          {outlook.warning}
        </Alert>
      )}
      <DescriptionList
        items={[
          ['Wants to run', outlook.next_run_at ? <><Timestamp at={outlook.next_run_at} zone={zone} /> <RelativeTime at={outlook.next_run_at} /></> : 'not known while a run goes on'],
          ['Because of', outlook.source === 'hint' ? 'a hint' : 'its baseline'],
          ['Bound', outlook.bound && (BOUND_LABELS[outlook.bound] ?? outlook.bound)],
          ['Least interval', policy.min_interval_ms ? durationText(policy.min_interval_ms) : 'none'],
          ['Most interval', policy.max_interval_ms ? durationText(policy.max_interval_ms) : 'none'],
          ['Failures in a row', String(outlook.consecutive_failures)],
        ]}
      />
      <Title order={2} mt="lg" mb="xs">
        Hints
      </Title>
      {outlook.hints.length === 0 ? (
        <Text className="dim">Nobody suggests anything; the baseline holds.</Text>
      ) : (
        <div className={`scroll-x ${classes.flush}`}>
        <table className="plain-table">
          <thead>
            <tr>
              <th>Suggests</th>
              <th>Until</th>
              <th>By</th>
              <th>Why</th>
            </tr>
          </thead>
          <tbody>
            {outlook.hints.map((hint) => (
              <tr key={hint.created_at}>
                <td>{hint.interval_ms ? `every ${durationText(hint.interval_ms)}` : <>once, at <Timestamp at={hint.at} zone={zone} /></>}</td>
                <td>
                  <Timestamp at={hint.expires_at} zone={zone} />
                </td>
                <td>{hint.author}</td>
                <td>{hint.reason}</td>
              </tr>
            ))}
          </tbody>
        </table>
        </div>
      )}
      {mayOperate && (
        <>
          <HintForm id={id} />
          <Group mt="md">
            <Button variant="default" disabled={outlook.hints.length === 0} loading={clear.isPending} onClick={() => clear.mutate()}>
              Take all hints back
            </Button>
            <Button variant="default" disabled={outlook.consecutive_failures === 0} loading={reset.isPending} onClick={() => reset.mutate()}>
              Forget the failures
            </Button>
          </Group>
        </>
      )}
    </div>
  )
}

function useAdaptiveMutations(id: string) {
  const refresh = useRefresh()
  const params = { path: { schedule_id: id } }
  const callbacks = (text: string) => ({ onSuccess: () => showToast(text), onError: showError, onSettled: () => refresh(id) })
  return {
    hint: useMutation({
      mutationFn: (body: { interval_ms: number; ttl_ms: number; reason?: string }) =>
        unwrap(api.POST('/api/v1/schedules/{schedule_id}/hints', { params, body })),
      ...callbacks('The hint is live'),
    }),
    clear: useMutation({
      mutationFn: () => unwrap(api.DELETE('/api/v1/schedules/{schedule_id}/hints', { params })),
      ...callbacks('No hints are left'),
    }),
    reset: useMutation({
      mutationFn: () => unwrap(api.POST('/api/v1/schedules/{schedule_id}/reset-failures', { params, body: {} })),
      ...callbacks('The failures are forgotten'),
    }),
  }
}

function HintForm({ id }: { id: string }) {
  const { hint } = useAdaptiveMutations(id)
  const [intervalSeconds, setIntervalSeconds] = useState('120')
  const [hours, setHours] = useState('1')
  const [reason, setReason] = useState('')
  const isValid = Number(intervalSeconds) > 0 && Number(hours) > 0
  return (
    <form
      style={{ display: 'flex', flexWrap: 'wrap', gap: '0.75rem', alignItems: 'flex-end', marginTop: '1rem' }}
      onSubmit={(event) => {
        event.preventDefault()
        hint.mutate({ interval_ms: Number(intervalSeconds) * 1_000, ttl_ms: Number(hours) * 3_600_000, reason: reason || undefined })
      }}
    >
      <TextInput type="number" label="Run every, in seconds" min={1} value={intervalSeconds} onChange={(event) => setIntervalSeconds(event.currentTarget.value)} w={160} />
      <TextInput type="number" label="For so many hours" min={0.1} step="any" value={hours} onChange={(event) => setHours(event.currentTarget.value)} w={140} />
      <TextInput label="Why" value={reason} onChange={(event) => setReason(event.currentTarget.value)} />
      <Button type="submit" loading={hint.isPending} disabled={!isValid}>
        Suggest
      </Button>
    </form>
  )
}
