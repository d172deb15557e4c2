import { Alert, Button, Group, Text, TextInput, Title } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'

import { answer, api } from '../../api/client'
import { describeQuery } from '../../api/queries'
import { useMay } from '../../api/session'
import { useRefresh } from '../../api/refresh'
import { Facts } from '../../components/DescriptionList'
import { durationText } from '../../lib/format'
import { Moment, Relative } from '../../components/Timestamp'
import { Empty } from '../../components/states'
import { complain, say } from '../../components/toasts'
import classes from './Schedule.module.css'
import { useZone } from './useScheduleZone'

const route = getRouteApi('/schedules/$id/adaptive')
const BOUNDS: Record<string, string> = { min: 'not sooner than the least interval', max: 'not later than the most interval' }

/** What the governor wants next, and why; the hints that it listens to. */
export function Adaptive() {
  const { id } = route.useParams()
  const zone = useZone(id)
  const mayOperate = useMay('operator')
  const found = useQuery(describeQuery(id)).data
  const outlook = found?.outlook
  const { clear, reset } = useAdaptiveActions(id)
  if (!found) return null
  if (!outlook)
    return (
      <Empty title="This schedule is not adaptive">
        An adaptive schedule moves its next run by hints and failures, between bounds. Set <code>adaptive</code> to true.
      </Empty>
    )
  const policy = found.schedule.definition
  return (
    <div className={`panel ${classes.side}`}>
      {outlook.warning && (
        <Alert color="yellow" mb="md">
          {outlook.warning}
        </Alert>
      )}
      <Facts
        facts={[
          ['Wants to run', outlook.next_run_at ? <><Moment at={outlook.next_run_at} zone={zone} /> <Relative at={outlook.next_run_at} /></> : 'not known while a run goes on'],
          ['Because of', outlook.source === 'hint' ? 'a hint' : 'its baseline'],
          ['Bound', outlook.bound && (BOUNDS[outlook.bound] ?? outlook.bound)],
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
                <td>{hint.interval_ms ? `every ${durationText(hint.interval_ms)}` : <>once, at <Moment at={hint.at} zone={zone} /></>}</td>
                <td>
                  <Moment at={hint.expires_at} zone={zone} />
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
          <Suggest id={id} />
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

function useAdaptiveActions(id: string) {
  const refresh = useRefresh()
  const params = { path: { schedule_id: id } }
  const settled = (text: string) => ({ onSuccess: () => say(text), onError: complain, onSettled: () => refresh(id) })
  return {
    hint: useMutation({
      mutationFn: (body: { interval_ms: number; ttl_ms: number; reason?: string }) =>
        answer(api.POST('/api/v1/schedules/{schedule_id}/hints', { params, body })),
      ...settled('The hint is live'),
    }),
    clear: useMutation({
      mutationFn: () => answer(api.DELETE('/api/v1/schedules/{schedule_id}/hints', { params })),
      ...settled('No hints are left'),
    }),
    reset: useMutation({
      mutationFn: () => answer(api.POST('/api/v1/schedules/{schedule_id}/reset-failures', { params, body: {} })),
      ...settled('The failures are forgotten'),
    }),
  }
}

function Suggest({ id }: { id: string }) {
  const { hint } = useAdaptiveActions(id)
  const [every, setEvery] = useState('120')
  const [hours, setHours] = useState('1')
  const [reason, setReason] = useState('')
  const usable = Number(every) > 0 && Number(hours) > 0
  return (
    <form
      style={{ display: 'flex', flexWrap: 'wrap', gap: '0.75rem', alignItems: 'flex-end', marginTop: '1rem' }}
      onSubmit={(event) => {
        event.preventDefault()
        hint.mutate({ interval_ms: Number(every) * 1_000, ttl_ms: Number(hours) * 3_600_000, reason: reason || undefined })
      }}
    >
      <TextInput type="number" label="Run every, in seconds" min={1} value={every} onChange={(event) => setEvery(event.currentTarget.value)} w={160} />
      <TextInput type="number" label="For so many hours" min={0.1} step="any" value={hours} onChange={(event) => setHours(event.currentTarget.value)} w={140} />
      <TextInput label="Why" value={reason} onChange={(event) => setReason(event.currentTarget.value)} />
      <Button type="submit" loading={hint.isPending} disabled={!usable}>
        Suggest
      </Button>
    </form>
  )
}
