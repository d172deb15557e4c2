import { Button, Group, Text, TextInput } from '@mantine/core'
import { useState } from 'react'

import { now } from '../lib/clock'
import { Dialog } from './Dialog'
import { dayText, parseInstant, instantText, timeText } from '../lib/format'
import type { PauseRequest } from '../api/refresh'
import { useDisplayZone, zoneLabel } from '../lib/timezones'

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
  { name: '1 hour', until: (zone) => inputValue(now() + 3_600_000, zone) },
  { name: '4 hours', until: (zone) => inputValue(now() + 4 * 3_600_000, zone) },
  { name: 'Tomorrow 9:00', until: (zone) => `${dayText(now() + DAY_MS, zone)}T09:00` },
  { name: 'Monday 9:00', until: (zone) => `${dayText(nextMonday(zone), zone)}T09:00` },
]

function inputValue(instant: number, zone: string): string {
  return `${dayText(instant, zone)}T${timeText(instant, zone, 'minute')}`
}

function nextMonday(zone: string): number {
  const days = [1, 2, 3, 4, 5, 6, 7].map((value) => now() + value * DAY_MS)
  return days.find((day) => instantText(day, zone).startsWith('Mon')) ?? now()
}

/** Why, by whom and until when. */
export function PauseDialog({ title, zone, onClose, onPause, busy }: Props) {
  const [note, setNote] = useState('')
  const [pausedBy, setPausedBy] = useState('')
  const [until, setUntil] = useState('')
  const displayedZone = useDisplayZone(zone)
  const resumesAt = until ? parseInstant(until, displayedZone) : undefined
  const error = !until ? undefined : !resumesAt ? `There is no such time in ${displayedZone}` : resumesAt.getTime() <= now() ? 'This is over already' : undefined
  const submit = () => onPause({ note: note || undefined, paused_by: pausedBy || undefined, until: resumesAt?.toISOString() })
  return (
    <Dialog onClose={onClose} title={title}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (!error) submit()
        }}
      >
        <TextInput data-autofocus label="Why" placeholder="Maintenance of the warehouse" value={note} onChange={(event) => setNote(event.currentTarget.value)} />
        <TextInput mt="sm" label="By" description="Whoever you are signed in as, unless you say otherwise" value={pausedBy} onChange={(event) => setPausedBy(event.currentTarget.value)} />
        <TextInput
          mt="sm"
          type="datetime-local"
          label="Until"
          description={`In ${zoneLabel(displayedZone)}; empty: until somebody resumes it`}
          value={until}
          error={error}
          onChange={(event) => setUntil(event.currentTarget.value)}
        />
        <Group gap={6} mt={6}>
          {PRESETS.map((preset) => (
            <Button key={preset.name} size="compact-xs" variant="default" onClick={() => setUntil(preset.until(displayedZone))}>
              {preset.name}
            </Button>
          ))}
        </Group>
        {resumesAt && !error && (
          <Text size="xs" mt="xs" className="dim">
            It goes on by itself at {instantText(resumesAt.getTime(), 'UTC', 'minute')} UTC.
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
