import { MultiSelect, TextInput } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { calendarsQuery } from '../../api/queries'
import { t } from '../../messages'
import { CalendarFields, type CalendarSpec } from './CalendarFields'
import { type Draft, type FieldError, splitCommas, toList, withExclude } from './document'
import classes from './Editor.module.css'
import { ParsedTextInput } from './ParsedTextInput'
import { AddButton, RepeatedFields } from './RepeatedFields'

interface ExcludedRange {
  from: string
  to: string
  note?: string
}

interface Holidays {
  country: string
  subdivision?: string | null
}

/** The exclusions of a schedule: calendars, dates, public holidays, time ranges, days and hours. */
export function ExclusionFields({
  draft,
  onChange,
  fieldError,
}: {
  draft: Draft
  onChange: (draft: Draft) => void
  fieldError: FieldError
}) {
  const exclude = (draft.exclude ?? {}) as Record<string, unknown>
  const calendarNames =
    useInfiniteQuery(calendarsQuery()).data?.pages.flatMap((page) => page.items.map((calendar) => calendar.name)) ?? []
  const selectedNames = toList(exclude.named) as string[]
  const [windows, calendars] = [toList(exclude.windows) as ExcludedRange[], toList(exclude.calendars) as CalendarSpec[]]
  const set = (name: string) => (value: unknown[]) => onChange(withExclude(draft, name, value))
  return (
    <>
      <div className={classes.pair}>
        <MultiSelect
          label={t('exclude.calendars')}
          size="xs"
          placeholder={t(calendarNames.length > 0 ? 'exclude.calendarsPlaceholder' : 'exclude.noCalendars')}
          data={[...new Set([...calendarNames, ...selectedNames])]}
          value={selectedNames}
          error={fieldError('exclude.named')}
          onChange={set('named')}
        />
        <ParsedTextInput
          label={t('exclude.dates')}
          placeholder="2026-12-25, 2026-12-26"
          initialText={toList(exclude.dates).join(', ')}
          error={fieldError('exclude.dates')}
          onText={(text) => set('dates')(splitCommas(text))}
        />
        <ParsedTextInput
          label={t('exclude.holidays')}
          placeholder="DE-BY, AT"
          initialText={toHolidays(exclude.holidays).map(holidayCode).join(', ')}
          error={fieldError('exclude.holidays')}
          onText={(text) => set('holidays')(parseHolidays(text, toHolidays(exclude.holidays)))}
        />
      </div>
      <RepeatedFields
        name={t('timing.itemRange')}
        items={windows}
        newItem={{ from: '', to: '' }}
        onChange={set('windows')}
      >
        {(value, at, change) => (
          <div className={classes.pair}>
            <TextInput
              label={t('exclude.from')}
              placeholder="2026-12-20T18:00"
              error={fieldError('exclude.windows', at)}
              value={value.from}
              onChange={(event) => change({ ...value, from: event.currentTarget.value })}
            />
            <TextInput
              label={t('exclude.to')}
              placeholder="2027-01-04"
              value={value.to}
              onChange={(event) => change({ ...value, to: event.currentTarget.value })}
            />
            <TextInput
              label={t('common.note')}
              value={value.note ?? ''}
              onChange={(event) => change({ ...value, note: event.currentTarget.value || undefined })}
            />
          </div>
        )}
      </RepeatedFields>
      <CalendarFields
        name={t('timing.itemExcludedCalendar')}
        field="exclude.calendars"
        timePlaceholder="*"
        values={calendars}
        onChange={set('calendars')}
        fieldError={fieldError}
      />
      <div className={classes.adds}>
        {windows.length === 0 && (
          <AddButton onClick={() => set('windows')([{ from: '', to: '' }])}>{t('exclude.addRange')}</AddButton>
        )}
        {calendars.length === 0 && (
          <AddButton onClick={() => set('calendars')([{ day_of_week: 'SAT,SUN' }])}>
            {t('exclude.addCalendar')}
          </AddButton>
        )}
      </div>
    </>
  )
}

function toHolidays(value: unknown): Holidays[] {
  return toList(value).map((item) => {
    if (typeof item !== 'string') return item as Holidays
    const [country = '', subdivision] = item.split('-')
    return { country, subdivision }
  })
}

const holidayCode = ({ country, subdivision }: Holidays) => (subdivision ? `${country}-${subdivision}` : country)

/** Parse the codes of countries. One that was there before keeps the dates that the server has resolved. */
function parseHolidays(text: string, before: Holidays[]): unknown[] {
  return splitCommas(text).map(
    (item) => before.find((holiday) => holidayCode(holiday) === item && 'dates' in holiday) ?? item,
  )
}
