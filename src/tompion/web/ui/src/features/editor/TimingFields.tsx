import { Autocomplete, NumberInput, Select, TextInput } from '@mantine/core'
import { useState } from 'react'
import { t } from '../../messages'

import { CalendarFields, type CalendarSpec } from './CalendarFields'
import { CronFields } from './CronFields'
import {
  type Draft,
  type FieldError,
  hasValues,
  readRules,
  SERVER_DEFAULT,
  SOURCE_FIELDS,
  type SourceField,
  toList,
  withField,
  withSource,
} from './document'
import classes from './Editor.module.css'
import { ExclusionFields } from './ExclusionFields'
import { type Interval, IntervalFields, toInterval } from './IntervalFields'
import { ParsedTextInput } from './ParsedTextInput'
import { AddButton } from './RepeatedFields'

const ZONES = Intl.supportedValuesOf('timeZone')
const SOURCE_LABELS: Record<SourceField, string> = {
  cron: t('timing.cron'),
  intervals: t('timing.interval'),
  calendars: t('timing.calendar'),
  rrules: t('timing.rrule'),
  times: t('timing.dates'),
}
const CRON_SYNTAXES = [
  { value: 'tompion', label: t('timing.syntaxTompion') },
  { value: 'quartz', label: t('timing.syntaxQuartz') },
  { value: 'temporal', label: t('timing.syntaxTemporal') },
]

interface Props {
  draft: Draft
  onChange: (draft: Draft) => void
  fieldError: FieldError
}

/** The timing of a schedule: sources, time zone, start and end, jitter, DST and exclusions. */
export function TimingFields({ draft, onChange, fieldError }: Props) {
  const set = (name: string) => (value: unknown) => onChange(withField(draft, name, value))
  return (
    <>
      <SourceFields draft={draft} onChange={onChange} fieldError={fieldError} />
      <div className={classes.pair}>
        <Autocomplete
          label={t('common.timeZone')}
          size="xs"
          placeholder="UTC"
          data={ZONES}
          limit={50}
          error={fieldError('timezone')}
          value={(draft.timezone as string | undefined) ?? ''}
          onChange={set('timezone')}
        />
        <Select
          label={t('timing.cronSyntax')}
          data={CRON_SYNTAXES}
          allowDeselect={false}
          value={(draft.dialect as string | undefined) ?? 'tompion'}
          onChange={(value) => set('dialect')(value === 'tompion' ? undefined : value)}
        />
      </div>
      <div className={classes.pair}>
        <TextInput
          label={t('timing.startDate')}
          placeholder="2026-12-01T00:00"
          error={fieldError('start_at')}
          value={(draft.start_at as string | undefined) ?? ''}
          onChange={(event) => set('start_at')(event.currentTarget.value)}
        />
        <TextInput
          label={t('timing.endDate')}
          placeholder="2027-12-31T23:59"
          error={fieldError('end_at')}
          value={(draft.end_at as string | undefined) ?? ''}
          onChange={(event) => set('end_at')(event.currentTarget.value)}
        />
      </div>
      <div className={classes.pair}>
        <NumberInput
          label={t('timing.jitter')}
          description={t('timing.jitterHelp')}
          min={0}
          error={fieldError('jitter_ms')}
          value={typeof draft.jitter_ms === 'number' ? draft.jitter_ms / 1_000 : ''}
          placeholder={SERVER_DEFAULT}
          onChange={(value) => set('jitter_ms')(typeof value === 'number' ? Math.round(value * 1_000) : undefined)}
        />
        <Select
          label={t('timing.jitterDirection')}
          data={[
            { value: 'symmetric', label: t('timing.jitterBoth') },
            { value: 'delay', label: t('timing.jitterAfter') },
            { value: 'temporal', label: t('timing.jitterTemporal') },
          ]}
          allowDeselect={false}
          value={(draft.jitter_mode as string | undefined) ?? 'symmetric'}
          onChange={(value) => set('jitter_mode')(value === 'symmetric' ? undefined : value)}
        />
      </div>
      <DstFields draft={draft} onChange={onChange} />
      <ExclusionFields draft={draft} onChange={onChange} fieldError={fieldError} />
    </>
  )
}

/** The sources of ticks that are in use, and a button to add each of the others. */
function SourceFields({ draft, onChange, fieldError }: Props) {
  const [openSources, setOpenSources] = useState<ReadonlySet<SourceField>>(
    () => new Set(SOURCE_FIELDS.filter((name) => hasValues(draft, name))),
  )
  const isShown = (name: SourceField) => openSources.has(name) || hasValues(draft, name)
  const set = (name: SourceField) => (value: unknown[]) =>
    onChange(withSource(draft, name, value.every(isBlank) ? [] : value))
  const change = (name: SourceField) => (value: unknown[]) => {
    if (value.length === 0) setOpenSources(new Set([...openSources].filter((source) => source !== name)))
    set(name)(value)
  }
  const orBlank = <T,>(values: T[], blank: T) => (values.length > 0 ? values : [blank])
  return (
    <>
      {isShown('cron') && (
        <CronFields
          texts={orBlank(toList(draft.cron) as string[], '')}
          onChange={change('cron')}
          fieldError={fieldError}
        />
      )}
      {isShown('intervals') && (
        <IntervalFields
          values={orBlank<Interval>(toList(draft.intervals).map(toInterval), { every: '' })}
          onChange={change('intervals')}
          fieldError={fieldError}
        />
      )}
      {isShown('calendars') && (
        <CalendarFields
          name={t('timing.itemCalendar')}
          field="calendars"
          timePlaceholder="0"
          values={orBlank<CalendarSpec>(toList(draft.calendars) as CalendarSpec[], {})}
          onChange={change('calendars')}
          fieldError={fieldError}
        />
      )}
      {isShown('rrules') && (
        <ParsedTextInput
          multiline
          label={t('timing.rrule')}
          description={t('timing.rruleHelp')}
          initialText={toList(draft.rrules).join('\n')}
          error={fieldError('rrules')}
          onText={(text) => set('rrules')(readRules(text))}
        />
      )}
      {isShown('times') && (
        <ParsedTextInput
          multiline
          label={t('timing.dates')}
          description={t('timing.datesHelp')}
          initialText={toList(draft.times).join('\n')}
          error={fieldError('times')}
          onText={(text) =>
            set('times')(
              text
                .split('\n')
                .map((item) => item.trim())
                .filter(Boolean),
            )
          }
        />
      )}
      <div className={classes.adds}>
        {SOURCE_FIELDS.filter((name) => !isShown(name)).map((name) => (
          <AddButton key={name} onClick={() => setOpenSources(new Set([...openSources, name]))}>
            {SOURCE_LABELS[name]}
          </AddButton>
        ))}
      </div>
    </>
  )
}

/** Return whether a source has no value yet. */
function isBlank(value: unknown): boolean {
  if (value === null || typeof value !== 'object') return value === ''
  return Object.values(value).every((item) => item === undefined || item === '')
}

const DST_GAP_OPTIONS = [
  { value: 'catch_up', label: t('timing.dstGapCatchUp') },
  { value: 'shift', label: t('timing.dstGapShift') },
  { value: 'skip', label: t('timing.dstGapSkip') },
]
const DST_OVERLAP_OPTIONS = [
  { value: 'auto', label: t('timing.dstOverlapAuto') },
  { value: 'first', label: t('timing.dstOverlapFirst') },
  { value: 'second', label: t('timing.dstOverlapSecond') },
  { value: 'both', label: t('timing.dstOverlapBoth') },
]

const DST_PRESETS = [
  { value: 'vixie', label: t('timing.dstVixie') },
  { value: 'temporal', label: t('timing.dstTemporal') },
  { value: 'quartz', label: t('timing.dstQuartz') },
  { value: 'airflow', label: t('timing.dstAirflow') },
]

function DstFields({ draft, onChange }: { draft: Draft; onChange: (draft: Draft) => void }) {
  const set = (name: string, defaultValue: string | null) => (value: string | null) =>
    onChange(withField(draft, name, value === defaultValue ? undefined : value))
  return (
    <div className={classes.pair}>
      <Select
        label={t('timing.dstGap')}
        placeholder={t('timing.dstDefault')}
        clearable
        data={DST_GAP_OPTIONS}
        value={(draft.dst_gap as string | undefined) ?? null}
        onChange={set('dst_gap', null)}
      />
      <Select
        label={t('timing.dstOverlap')}
        allowDeselect={false}
        data={DST_OVERLAP_OPTIONS}
        value={(draft.dst_overlap as string | undefined) ?? 'auto'}
        onChange={set('dst_overlap', 'auto')}
      />
      <Select
        label={t('timing.dstPreset')}
        placeholder={t('timing.dstVixie')}
        clearable
        data={DST_PRESETS}
        value={(draft.dst_profile as string | undefined) ?? null}
        onChange={set('dst_profile', null)}
      />
    </div>
  )
}
