import { Radio, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { ScheduleDescription } from '../api/types'
import { t } from '../messages'
import { ConfirmDialog } from './ConfirmDialog'
import { Timestamp } from './Timestamp'

const MAX_SHOWN = 5

interface Props {
  description: ScheduleDescription
  zone: string
  busy: boolean
  onResume: (onResume?: string) => void
  onClose: () => void
}

/** Confirms a resume and shows the runs that it would start. */
export function ResumeDialog({ description, zone, busy, onResume, onClose }: Props) {
  const [choice, setChoice] = useState('policy')
  return (
    <ConfirmDialog
      title={t('resume.title', { id: description.schedule.schedule_id })}
      confirmLabel={t('common.resume')}
      busy={busy}
      onConfirm={() => onResume(choice === 'policy' ? undefined : choice)}
      onClose={onClose}
    >
      <Text size="sm">
        {description.would_run_count === 0
          ? t('resume.noneStart')
          : t('resume.willStart', { count: description.would_run_count })}
      </Text>
      <ul>
        {description.would_run_on_resume.slice(0, MAX_SHOWN).map((at) => (
          <li key={at}>
            <Timestamp at={at} zone={zone} />
          </li>
        ))}
        {description.would_run_count > MAX_SHOWN && (
          <li className="dim">{t('common.andMore', { count: description.would_run_count - MAX_SHOWN })}</li>
        )}
      </ul>
      <Radio.Group label={t('resume.missedRuns')} value={choice} onChange={setChoice}>
        <Stack gap={6} mt={6}>
          <Radio value="policy" label={t('resume.byPolicy')} size="xs" />
          <Radio value="skip" label={t('resume.skipAll')} size="xs" />
          <Radio value="fire_once" label={t('resume.runOnce')} size="xs" />
        </Stack>
      </Radio.Group>
    </ConfirmDialog>
  )
}
