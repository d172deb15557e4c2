import { Radio, Stack, Text } from '@mantine/core'
import { useState } from 'react'

import type { ScheduleDescription } from '../api/types'
import { ConfirmDialog } from './ConfirmDialog'
import { countText } from '../lib/format'
import { Timestamp } from './Timestamp'

interface Props {
  description: ScheduleDescription
  zone: string
  busy: boolean
  onResume: (onResume?: string) => void
  onClose: () => void
}

/** What would run on resume, before it does. */
export function ResumeDialog({ description, zone, busy, onResume, onClose }: Props) {
  const [choice, setChoice] = useState('policy')
  return (
    <ConfirmDialog
      title={`Resume ${description.schedule.schedule_id}`}
      confirmLabel="Resume"
      cancelLabel="Leave it paused"
      busy={busy}
      onConfirm={() => onResume(choice === 'policy' ? undefined : choice)}
      onClose={onClose}
    >
      <Text size="sm">
        {description.would_run_count === 0
          ? 'By its policy, none of the ticks of the pause would run.'
          : `By its policy, ${countText(description.would_run_count, 'tick')} of the pause would run:`}
      </Text>
      <ul>
        {description.would_run_on_resume.slice(0, 5).map((at) => (
          <li key={at}>
            <Timestamp at={at} zone={zone} />
          </li>
        ))}
        {description.would_run_count > 5 && <li className="dim">and {description.would_run_count - 5} more</li>}
      </ul>
      <Radio.Group label="The ticks of the pause" value={choice} onChange={setChoice}>
        <Stack gap={6} mt={6}>
          <Radio value="policy" label="By the policy of the schedule" size="xs" />
          <Radio value="skip" label="Drop them" size="xs" />
          <Radio value="fire_once" label="Run once for all of them" size="xs" />
        </Stack>
      </Radio.Group>
    </ConfirmDialog>
  )
}
