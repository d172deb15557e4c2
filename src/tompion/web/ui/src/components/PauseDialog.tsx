import { Button, Group, Text, TextInput } from '@mantine/core'
import { useState } from 'react'

import { now } from '../lib/clock'
import { Dialog } from './Dialog'
import { dayText, instantOf, instantText, timeText } from '../lib/format'
import type { PauseRequest } from '../api/refresh'
import { useShownZone, zoneText } from '../lib/timezones'

interface Props {
  title: string
  /** That of the schedule, if it is one. */
  zone?: string | null
  onClose: () => void
  onPause: (request: PauseRequest) => void
  busy?: boolean
}

const DAY_MS = 86_400_000

/** What an input of this browser wants, "2026-11-16T09:00", in a zone. */
const PRESETS: { name: string; until: (zone: string) => string }[] = [
  { name: '1 hour', until: (zone) => written(now() + 3_600_000, zone) },
  { name: '4 hours', until: (zone) => written(now() + 4 * 3_600_000, zone) },
  { name: 'Tomorrow 9:00', until: (zone) => `${dayText(now() + DAY_MS, zone)}T09:00` },
  { name: 'Monday 9:00', until: (zone) => `${dayText(monday(zone), zone)}T09:00` },
]

function written(instant: number, zone: string): string {
  return `${dayText(instant, zone)}T${timeText(instant, zone, 'minute')}`
}

function monday(zone: string): number {
  const days = [1, 2, 3, 4, 5, 6, 7].map((each) => now() + each * DAY_MS)
  return days.find((day) => instantText(day, zone).startsWith('Mon')) ?? now()
}

/** Why, by whom and until when. */
export function PauseDialog({ title, zone, onClose, onPause, busy }: Props) {
  const [note, setNote] = useState('')
  const [by, setBy] = useState('')
  const [until, setUntil] = useState('')
  const shown = useShownZone(zone)
  const ends = until ? instantOf(until, shown) : undefined
  const wrong = !until ? undefined : !ends ? `There is no such time in ${shown}` : ends.getTime() <= now() ? 'This is over already' : undefined
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
          description={`In ${zoneText(shown)}; empty: until somebody resumes it`}
          value={until}
          error={wrong}
          onChange={(event) => setUntil(event.currentTarget.value)}
        />
        <Group gap={6} mt={6}>
          {PRESETS.map((each) => (
            <Button key={each.name} size="compact-xs" variant="default" onClick={() => setUntil(each.until(shown))}>
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
