import { Radio, Stack, Text } from '@mantine/core'
import { useState } from 'react'

import type { Description } from '../api/types'
import { Ask } from './ConfirmDialog'
import { countText } from '../lib/format'
import { Moment } from './Timestamp'

interface Props {
  found: Description
  zone: string
  busy: boolean
  onResume: (onResume?: string) => void
  onClose: () => void
}

/** What would run on resume, before it does. */
export function ResumeDialog({ found, zone, busy, onResume, onClose }: Props) {
  const [choice, setChoice] = useState('policy')
  return (
    <Ask
      title={`Resume ${found.schedule.schedule_id}`}
      yes="Resume"
      no="Leave it paused"
      busy={busy}
      onYes={() => onResume(choice === 'policy' ? undefined : choice)}
      onClose={onClose}
    >
      <Text size="sm">
        {found.would_run_count === 0
          ? 'By its policy, none of the ticks of the pause would run.'
          : `By its policy, ${countText(found.would_run_count, 'tick')} of the pause would run:`}
      </Text>
      <ul>
        {found.would_run_on_resume.slice(0, 5).map((at) => (
          <li key={at}>
            <Moment at={at} zone={zone} />
          </li>
        ))}
        {found.would_run_count > 5 && <li className="dim">and {found.would_run_count - 5} more</li>}
      </ul>
      <Radio.Group label="The ticks of the pause" value={choice} onChange={setChoice}>
        <Stack gap={6} mt={6}>
          <Radio value="policy" label="By the policy of the schedule" size="xs" />
          <Radio value="skip" label="Drop them" size="xs" />
          <Radio value="fire_once" label="Run once for all of them" size="xs" />
        </Stack>
      </Radio.Group>
    </Ask>
  )
}
