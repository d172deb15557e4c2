import { Alert, Button, Group, Text, TextInput, Title } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { useReporting } from '../../api/mutations'

import { descriptionQuery } from '../../api/queries'
import { addHint, clearHints, resetFailures } from '../../api/requests'
import { useIsAllowed } from '../../api/session'
import { DescriptionList } from '../../components/DescriptionList'
import { EmptyState } from '../../components/states'
import { RelativeTime, Timestamp } from '../../components/Timestamp'
import { durationText } from '../../lib/format'
import { numberText, rich, t } from '../../messages'
import classes from './Schedule.module.css'
import { useScheduleZone } from './useScheduleZone'

const route = getRouteApi('/schedules/$id/adaptive')
const BOUND_LABELS: Record<string, string> = {
  min: t('adaptive.minInterval'),
  max: t('adaptive.maxInterval'),
}

/** The next run of an adaptive schedule, its limits, and its hints. */
export function AdaptiveTab() {
  const { id } = route.useParams()
  const zone = useScheduleZone(id)
  const mayOperate = useIsAllowed('operator')
  const description = useQuery(descriptionQuery(id)).data
  const outlook = description?.outlook
  const { clear, reset } = useAdaptiveMutations(id)
  if (!description) return null
  if (!outlook) return <EmptyState title={t('adaptive.off')}>{t('adaptive.offHelp')}</EmptyState>
  const policy = description.schedule
  return (
    <div className={`panel ${classes.side}`}>
      {outlook.warning && (
        <Alert color="yellow" mb="md">
          {outlook.warning}
        </Alert>
      )}
      <DescriptionList
        items={[
          [
            t('adaptive.nextRun'),
            outlook.next_run_at ? (
              <>
                <Timestamp at={outlook.next_run_at} zone={zone} /> <RelativeTime at={outlook.next_run_at} />
              </>
            ) : (
              t('adaptive.nextRunUnknown')
            ),
          ],
          [t('adaptive.source'), t(outlook.source === 'hint' ? 'adaptive.sourceHint' : 'adaptive.sourceBase')],
          [t('adaptive.limitedBy'), outlook.bound && (BOUND_LABELS[outlook.bound] ?? outlook.bound)],
          [t('adaptive.minInterval'), intervalText(policy.min_interval_ms)],
          [t('adaptive.maxInterval'), intervalText(policy.max_interval_ms)],
          [t('adaptive.failures'), numberText(outlook.consecutive_failures)],
        ]}
      />
      <Title order={2} mt="lg" mb="xs">
        {t('adaptive.hints')}
      </Title>
      {outlook.hints.length === 0 ? (
        <Text className="dim">{t('adaptive.noHints')}</Text>
      ) : (
        <div className={`scroll-x ${classes.flush}`}>
          <table className="plain-table">
            <thead>
              <tr>
                <th>{t('adaptive.interval')}</th>
                <th>{t('adaptive.expires')}</th>
                <th>{t('versions.author')}</th>
                <th>{t('common.reason')}</th>
              </tr>
            </thead>
            <tbody>
              {outlook.hints.map((hint) => (
                <tr key={hint.created_at}>
                  <td>
                    {hint.interval_ms
                      ? t('adaptive.every', { duration: durationText(hint.interval_ms) })
                      : rich('adaptive.onceAt', { at: <Timestamp at={hint.at} zone={zone} /> })}
                  </td>
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
            <Button
              variant="default"
              disabled={outlook.hints.length === 0}
              loading={clear.isPending}
              onClick={() => clear.mutate()}
            >
              {t('adaptive.clearHints')}
            </Button>
            <Button
              variant="default"
              disabled={outlook.consecutive_failures === 0}
              loading={reset.isPending}
              onClick={() => reset.mutate()}
            >
              {t('adaptive.resetFailures')}
            </Button>
          </Group>
        </>
      )}
    </div>
  )
}

const intervalText = (ms: number | null | undefined) => (ms ? durationText(ms) : t('common.none'))

function useAdaptiveMutations(id: string) {
  const callbacks = useReporting(id)
  return {
    hint: useMutation({
      mutationFn: (body: { interval_ms: number; ttl_ms: number; reason?: string }) => addHint(id, body),
      ...callbacks(t('adaptive.hintAdded')),
    }),
    clear: useMutation({
      mutationFn: () => clearHints(id),
      ...callbacks(t('adaptive.hintsCleared')),
    }),
    reset: useMutation({
      mutationFn: () => resetFailures(id),
      ...callbacks(t('adaptive.failuresReset')),
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
        hint.mutate({
          interval_ms: Number(intervalSeconds) * 1_000,
          ttl_ms: Number(hours) * 3_600_000,
          reason: reason || undefined,
        })
      }}
    >
      <TextInput
        type="number"
        label={t('adaptive.intervalSeconds')}
        min={1}
        value={intervalSeconds}
        onChange={(event) => setIntervalSeconds(event.currentTarget.value)}
        w={160}
      />
      <TextInput
        type="number"
        label={t('adaptive.validHours')}
        min={0.1}
        step="any"
        value={hours}
        onChange={(event) => setHours(event.currentTarget.value)}
        w={140}
      />
      <TextInput label={t('common.reason')} value={reason} onChange={(event) => setReason(event.currentTarget.value)} />
      <Button type="submit" loading={hint.isPending} disabled={!isValid}>
        {t('adaptive.addHint')}
      </Button>
    </form>
  )
}
