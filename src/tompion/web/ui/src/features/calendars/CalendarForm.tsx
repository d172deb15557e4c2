import { Button, FileButton, Group, Textarea, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { errorMessage } from '../../api/errors'
import { useRefresh } from '../../api/mutations'
import { saveCalendar } from '../../api/requests'
import type { Calendar } from '../../api/types'
import { Dialog } from '../../components/Dialog'
import { Icon } from '../../components/Icon'
import { showToast } from '../../components/toasts'
import { t } from '../../messages'
import { parseIcsDates } from './ics'

/** Format time ranges, one per line: start / end / note. */
const windowsText = (calendar: Calendar | undefined) =>
  (calendar?.windows ?? [])
    .map((range) => `${range.begin} / ${range.end}${range.note ? ` / ${range.note}` : ''}`)
    .join('\n')

/** Creates a calendar or saves a new version of one. Dates can be imported from an iCalendar file. */
export function CalendarForm({ calendar, onClose }: { calendar?: Calendar; onClose: () => void }) {
  const refresh = useRefresh()
  const [name, setName] = useState(calendar?.name ?? '')
  const [dates, setDates] = useState(calendar?.dates.join('\n') ?? '')
  const [windows, setWindows] = useState(windowsText(calendar))
  const [zone, setZone] = useState(calendar?.timezone ?? '')
  const [imported, setImported] = useState('')
  const save = useMutation<Calendar, Error>({
    mutationFn: () =>
      saveCalendar(name, {
        dates: dates.split(/[\s,]+/).filter(Boolean),
        windows: windows
          .split('\n')
          .filter((line) => line.trim())
          .map((line) => line.split(' / ').map((part) => part.trim()))
          .map(([begin = '', end = '', note = '']) => ({ begin, end, note })),
        timezone: zone.trim() || null,
      }),
    onSuccess: (saved) => {
      showToast(t('calendars.saved', { name: saved.name, version: saved.version }))
      onClose()
    },
    onSettled: () => refresh(),
  })
  const importFile = async (file: File | null) => {
    if (!file) return
    const parsed = parseIcsDates(await file.text())
    setDates((before) => [...new Set([...before.split(/[\s,]+/), ...parsed.dates])].filter(Boolean).sort().join('\n'))
    const imported = t('calendars.imported', { count: parsed.dates.length, file: file.name })
    setImported(parsed.skipped ? t('calendars.importedSome', { dates: imported, count: parsed.skipped }) : imported)
  }
  return (
    <Dialog
      onClose={onClose}
      title={calendar ? t('calendars.editTitle', { name: calendar.name }) : t('calendars.new')}
      size="lg"
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          save.mutate()
        }}
      >
        {!calendar && (
          <TextInput
            data-autofocus
            label={t('common.name')}
            required
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
        )}
        <Textarea
          mt="sm"
          label={t('calendars.dates')}
          description={t('calendars.datesHelp')}
          autosize
          minRows={5}
          maxRows={12}
          value={dates}
          error={save.error && errorMessage(save.error)}
          onChange={(event) => setDates(event.currentTarget.value)}
        />
        <Group mt={6} gap="xs">
          <FileButton
            onChange={(file) => void importFile(file)}
            accept=".ics,text/calendar"
            inputProps={{ 'aria-label': t('calendars.importFile') }}
          >
            {(props) => (
              <Button {...props} size="compact-xs" variant="default" leftSection={<Icon name="calendars" size={13} />}>
                {t('calendars.import')}
              </Button>
            )}
          </FileButton>
          <span className="dim">{imported}</span>
        </Group>
        <Textarea
          mt="sm"
          label={t('calendars.ranges')}
          description={t('calendars.rangesHelp')}
          autosize
          minRows={2}
          value={windows}
          onChange={(event) => setWindows(event.currentTarget.value)}
        />
        <TextInput
          mt="sm"
          label={t('common.timeZone')}
          description={t('calendars.zoneHelp')}
          value={zone}
          onChange={(event) => setZone(event.currentTarget.value)}
        />
        <Group justify="flex-end" mt="md">
          <Button variant="default" onClick={onClose}>
            {t('common.cancel')}
          </Button>
          <Button type="submit" loading={save.isPending}>
            {t('common.save')}
          </Button>
        </Group>
      </form>
    </Dialog>
  )
}
