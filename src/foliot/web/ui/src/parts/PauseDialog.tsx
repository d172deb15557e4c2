import { Button, Group, Text, TextInput } from '@mantine/core'
import { useState } from 'react'

import { now } from './clock'
import { Dialog } from './Dialog'
import { instantText } from './format'
import type { PauseRequest } from './actions'
import { MY_ZONE } from './zones'

interface Props {
  title: string
  onClose: () => void
  onPause: (request: PauseRequest) => void
  busy?: boolean
}

const PRESETS: { name: string; until: () => Date }[] = [
  { name: '1 hour', until: () => new Date(now() + 3_600_000) },
  { name: '4 hours', until: () => new Date(now() + 4 * 3_600_000) },
  { name: 'Tomorrow 9:00', until: () => morning(1) },
  { name: 'Monday 9:00', until: () => morning(((8 - new Date(now()).getDay()) % 7) || 7) },
]

function morning(days: number): Date {
  const day = new Date(now())
  day.setDate(day.getDate() + days)
  day.setHours(9, 0, 0, 0)
  return day
}

/** "2026-11-16T09:00", as an input of this browser wants it. */
function asInput(date: Date): string {
  const two = (number: number) => String(number).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}T${two(date.getHours())}:${two(date.getMinutes())}`
}

/** Why, by whom and until when. */
export function PauseDialog({ title, onClose, onPause, busy }: Props) {
  const [note, setNote] = useState('')
  const [by, setBy] = useState('')
  const [until, setUntil] = useState('')
  const ends = until ? new Date(until) : undefined
  const wrong = ends && ends.getTime() <= now() ? 'This is over already' : undefined
  const send = () => onPause({ note: note || undefined, paused_by: by || undefined, until: ends?.toISOString() })
  return (
    <Dialog onClose={onClose} title={title}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (!wrong) send()
        }}
      >
        <TextInput data-autofocus label="Why" placeholder="Maintenance of the warehouse" value={note} onChange={(event) => setNote(event.currentTarget.value)} />
        <TextInput mt="sm" label="By" description="Whoever you are signed in as, unless you say otherwise" value={by} onChange={(event) => setBy(event.currentTarget.value)} />
        <TextInput
          mt="sm"
          type="datetime-local"
          label="Until"
          description={`In your time zone, ${MY_ZONE}; empty: until somebody resumes it`}
          value={until}
          error={wrong}
          onChange={(event) => setUntil(event.currentTarget.value)}
        />
        <Group gap={6} mt={6}>
          {PRESETS.map((each) => (
            <Button key={each.name} size="compact-xs" variant="default" onClick={() => setUntil(asInput(each.until()))}>
              {each.name}
            </Button>
          ))}
        </Group>
        {ends && !wrong && (
          <Text size="xs" mt="xs" className="dim">
            It goes on by itself at {instantText(ends.getTime(), 'UTC', 'minute')} UTC.
          </Text>
        )}
        <Group justify="flex-end" mt="md">
          <Button variant="default" onClick={onClose}>
            Leave it running
          </Button>
          <Button type="submit" loading={busy}>
            Pause
          </Button>
        </Group>
      </form>
    </Dialog>
  )
}
