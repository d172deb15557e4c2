import { Button, Group, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { PauseRequest } from '../api/requests'
import { now } from '../lib/clock'
import { dayText, instantText, parseInstant, timeText } from '../lib/format'
import { useDisplayZone } from '../lib/timezones'
import { type MessageKey, t } from '../messages'
import { Dialog } from './Dialog'

interface Props {
  title: string
  /** The time zone of the schedule, if the dialog is for one schedule. */
  zone?: string | null
  onClose: () => void
  onPause: (request: PauseRequest) => void
  busy?: boolean
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

const PRESETS: { key: MessageKey; until: (zone: string) => string }[] = [
  { key: 'pause.preset30m', until: (zone) => inputValue(now() + HOUR_MS / 2, zone) },
  { key: 'pause.preset1h', until: (zone) => inputValue(now() + HOUR_MS, zone) },
  { key: 'pause.preset2h', until: (zone) => inputValue(now() + 2 * HOUR_MS, zone) },
  { key: 'pause.preset4h', until: (zone) => inputValue(now() + 4 * HOUR_MS, zone) },
  { key: 'pause.preset24h', until: (zone) => inputValue(now() + DAY_MS, zone) },
  { key: 'pause.presetTomorrow', until: (zone) => `${dayText(now() + DAY_MS, zone)}T09:00` },
  { key: 'pause.presetMonday', until: (zone) => `${dayText(nextMonday(zone), zone)}T09:00` },
  { key: 'pause.presetNone', until: () => '' },
]

/** Return an instant as the value of a datetime-local input: "2026-11-16T09:00". */
function inputValue(instant: number, zone: string): string {
  return `${dayText(instant, zone)}T${timeText(instant, zone, 'minute')}`
}

function nextMonday(zone: string): number {
  const days = [1, 2, 3, 4, 5, 6, 7].map((value) => now() + value * DAY_MS)
  return days.find((day) => instantText(day, zone).startsWith('Mon')) ?? now()
}

/** A form for the reason of a pause and the time at which it ends. */
export function PauseDialog({ title, zone, onClose, onPause, busy }: Props) {
  const [note, setNote] = useState('')
  const [pausedBy, setPausedBy] = useState('')
  const [until, setUntil] = useState('')
  const displayedZone = useDisplayZone(zone)
  const resumesAt = until ? parseInstant(until, displayedZone) : undefined
  const error = !until
    ? undefined
    : !resumesAt
      ? t('time.invalidIn', { zone: displayedZone })
      : resumesAt.getTime() <= now()
        ? t('time.mustBeFuture')
        : undefined
  const submit = () =>
    onPause({ note: note || undefined, paused_by: pausedBy || undefined, until: resumesAt?.toISOString() })
  return (
    <Dialog onClose={onClose} title={title}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (!error) submit()
        }}
      >
        <TextInput
          data-autofocus
          label={t('common.reason')}
          placeholder={t('pause.reasonPlaceholder')}
          value={note}
          onChange={(event) => setNote(event.currentTarget.value)}
        />
        <TextInput
          mt="sm"
          label={t('pause.onBehalfOf')}
          description={t('pause.onBehalfOfHelp')}
          value={pausedBy}
          onChange={(event) => setPausedBy(event.currentTarget.value)}
        />
        <TextInput
          mt="sm"
          type="datetime-local"
          label={t('pause.until')}
          description={t('time.optionalZone', { zone: displayedZone })}
          value={until}
          error={error}
          onChange={(event) => setUntil(event.currentTarget.value)}
        />
        <Group gap={6} mt={6}>
          {PRESETS.map((preset) => (
            <Button
              key={preset.key}
              size="compact-xs"
              variant="default"
              onClick={() => setUntil(preset.until(displayedZone))}
            >
              {t(preset.key as 'pause.presetNone')}
            </Button>
          ))}
        </Group>
        {resumesAt && !error && (
          <Text size="xs" mt="xs" className="dim">
            {t('pause.resumesAt', { at: instantText(resumesAt.getTime(), 'UTC', 'minute') })}
          </Text>
        )}
        <Group justify="flex-end" mt="md">
          <Button variant="default" onClick={onClose}>
            {t('common.cancel')}
          </Button>
          <Button type="submit" loading={busy}>
            {t('common.pause')}
          </Button>
        </Group>
      </form>
    </Dialog>
  )
}
