import { Button, FileButton, Group, Textarea, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'

import { unwrap, api } from '../../api/client'
import { errorMessage } from '../../api/errors'
import type { Calendar } from '../../api/types'
import { useRefresh } from '../../api/refresh'
import { Dialog } from '../../components/Dialog'
import { countText } from '../../lib/format'
import { Icon } from '../../components/Icon'
import { showToast } from '../../components/toasts'
import { parseIcsDates } from './ics'

/** Windows, one a line: from / to, and what it is. */
const windowsText = (calendar: Calendar | undefined) =>
  (calendar?.windows ?? []).map((range) => `${range.begin} / ${range.end}${range.note ? ` / ${range.note}` : ''}`).join('\n')

/** Store a calendar, or the next version of one; days can come from an iCalendar file. */
export function CalendarForm({ calendar, onClose }: { calendar?: Calendar; onClose: () => void }) {
  const refresh = useRefresh()
  const [name, setName] = useState(calendar?.name ?? '')
  const [dates, setDates] = useState(calendar?.dates.join('\n') ?? '')
  const [windows, setWindows] = useState(windowsText(calendar))
  const [zone, setZone] = useState(calendar?.timezone ?? '')
  const [imported, setImported] = useState('')
  const save = useMutation<Calendar, Error>({
    mutationFn: () =>
      unwrap(
        api.PUT('/api/v1/calendars/{name}', {
          params: { path: { name } },
          body: {
            dates: dates.split(/[\s,]+/).filter(Boolean),
            windows: windows
              .split('\n')
              .filter((line) => line.trim())
              .map((line) => line.split(' / ').map((part) => part.trim()))
              .map(([begin = '', end = '', note = '']) => ({ begin, end, note })),
            timezone: zone.trim() || null,
          } as never,
        }),
      ),
    onSuccess: (saved) => {
      showToast(`${saved.name} is stored, as version ${saved.version}`)
      onClose()
    },
    onSettled: () => refresh(),
  })
  const importFile = async (file: File | null) => {
    if (!file) return
    const parsed = parseIcsDates(await file.text())
    setDates((before) => [...new Set([...before.split(/[\s,]+/), ...parsed.dates])].filter(Boolean).sort().join('\n'))
    setImported(
      `${countText(parsed.dates.length, 'day')} from ${file.name}` +
        (parsed.skipped ? `; ${countText(parsed.skipped, 'event')} with times or repetitions left out: tompion calendars import reads these` : ''),
    )
  }
  return (
    <Dialog onClose={onClose} title={calendar ? `Calendar ${calendar.name}` : 'New calendar'} size="lg">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          save.mutate()
        }}
      >
        {!calendar && <TextInput data-autofocus label="Name" required value={name} onChange={(event) => setName(event.currentTarget.value)} />}
        <Textarea
          mt="sm"
          label="Days"
          description="Dates such as 2026-12-25, one a line"
          autosize
          minRows={5}
          maxRows={12}
          value={dates}
          error={save.error && errorMessage(save.error)}
          onChange={(event) => setDates(event.currentTarget.value)}
        />
        <Group mt={6} gap="xs">
          <FileButton onChange={(file) => void importFile(file)} accept=".ics,text/calendar" inputProps={{ 'aria-label': 'An iCalendar file' }}>
            {(props) => (
              <Button {...props} size="compact-xs" variant="default" leftSection={<Icon name="calendars" size={13} />}>
                Add days from an .ics file
              </Button>
            )}
          </FileButton>
          <span className="dim">{imported}</span>
        </Group>
        <Textarea
          mt="sm"
          label="Windows"
          description="2026-12-24T14:00 / 2026-12-27T06:00 / what it is, one a line"
          autosize
          minRows={2}
          value={windows}
          onChange={(event) => setWindows(event.currentTarget.value)}
        />
        <TextInput mt="sm" label="Time zone" description="Empty: that of each schedule" value={zone} onChange={(event) => setZone(event.currentTarget.value)} />
        <Group justify="flex-end" mt="md">
          <Button variant="default" onClick={onClose}>
            Leave it
          </Button>
          <Button type="submit" loading={save.isPending}>
            Store it
          </Button>
        </Group>
      </form>
    </Dialog>
  )
}
