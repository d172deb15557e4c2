import { ActionIcon, Autocomplete, Button, Group, MultiSelect, NumberInput, Select, Textarea, TextInput } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'

import { calendarsQuery } from '../../api/queries'
import { Icon } from '../../parts/Icon'
import { CronBuilder } from './CronBuilder'
import { listOf, UNSAID, withExclude, withSpec, type Draft } from './document'
import classes from './Editor.module.css'

const ZONES = Intl.supportedValuesOf('timeZone')
type Source = 'cron' | 'intervals' | 'rrules' | 'times'
const SOURCES: { name: Source; label: string }[] = [
  { name: 'cron', label: 'Cron' },
  { name: 'intervals', label: 'Interval' },
  { name: 'rrules', label: 'RRULE' },
  { name: 'times', label: 'Single times' },
]

interface Props {
  draft: Draft
  onChange: (draft: Draft) => void
  /** What is wrong with which field, as the service says. */
  wrong: (field: string) => string | undefined
}

/** When it runs: sources, zone, bounds, what is left out, and how it is spread. */
export function When({ draft, onChange, wrong }: Props) {
  const { spec } = draft
  const [opened, setOpened] = useState<ReadonlySet<Source>>(() => new Set(SOURCES.filter(({ name }) => spec[name] !== undefined).map(({ name }) => name)))
  const shows = (name: Source) => opened.has(name) || spec[name] !== undefined
  const set = (name: string) => (value: unknown) => onChange(withSpec(draft, name, value))
  return (
    <>
      {shows('cron') && <Crons texts={listOf(spec.cron) as string[]} onChange={set('cron')} wrong={wrong('cron')} />}
      {shows('intervals') && <Interval value={listOf(spec.intervals)[0]} onChange={(value) => set('intervals')(value === undefined ? undefined : [value])} wrong={wrong('intervals')} />}
      {shows('rrules') && (
        <Lines label="RRULE" about="RFC 5545, one a line: FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=9" value={spec.rrules} onChange={set('rrules')} wrong={wrong('rrules')} />
      )}
      {shows('times') && <Lines label="Single times" about="One a line: 2027-01-01T00:00:00Z" value={spec.times} onChange={set('times')} wrong={wrong('times')} />}
      <Group gap={6}>
        {SOURCES.filter(({ name }) => !shows(name)).map(({ name, label }) => (
          <Button key={name} size="compact-xs" variant="subtle" leftSection={<Icon name="plus" size={12} />} onClick={() => setOpened(new Set([...opened, name]))}>
            {label}
          </Button>
        ))}
      </Group>
      <div className={classes.pair}>
        <Autocomplete
          label="Time zone"
          size="xs"
          placeholder="UTC"
          data={ZONES}
          limit={50}
          error={wrong('timezone')}
          value={(spec.timezone as string | undefined) ?? ''}
          onChange={set('timezone')}
        />
        <Select
          label="Dialect of cron"
          data={['foliot', 'quartz', 'temporal']}
          allowDeselect={false}
          value={(spec.dialect as string | undefined) ?? 'foliot'}
          onChange={(value) => set('dialect')(value === 'foliot' ? undefined : value)}
        />
      </div>
      <div className={classes.pair}>
        <TextInput label="Not before" placeholder="2026-12-01T00:00" error={wrong('start_at')} value={(spec.start_at as string | undefined) ?? ''} onChange={(event) => set('start_at')(event.currentTarget.value)} />
        <TextInput label="Not after" placeholder="2027-12-31T23:59" error={wrong('end_at')} value={(spec.end_at as string | undefined) ?? ''} onChange={(event) => set('end_at')(event.currentTarget.value)} />
      </div>
      <div className={classes.pair}>
        <NumberInput
          label="Jitter, in seconds"
          description="Spreads schedules that would fire together"
          min={0}
          error={wrong('jitter_ms')}
          value={typeof spec.jitter_ms === 'number' ? spec.jitter_ms / 1_000 : ''}
          placeholder={UNSAID}
          onChange={(value) => set('jitter_ms')(typeof value === 'number' ? Math.round(value * 1_000) : undefined)}
        />
        <Select
          label="Jitter goes"
          description="Before and after the tick, or only after"
          data={[
            { value: 'symmetric', label: 'both ways' },
            { value: 'delay', label: 'only later' },
          ]}
          allowDeselect={false}
          value={(spec.jitter_mode as string | undefined) ?? 'symmetric'}
          onChange={(value) => set('jitter_mode')(value === 'symmetric' ? undefined : value)}
        />
      </div>
      <Clocks draft={draft} onChange={onChange} />
      <Exclusions draft={draft} onChange={onChange} wrong={wrong('exclude')} />
    </>
  )
}

function Crons({ texts, onChange, wrong }: { texts: string[]; onChange: (value: unknown) => void; wrong?: string }) {
  const shown = texts.length > 0 ? texts : ['']
  const change = (at: number, text: string) => onChange(shown.map((each, number) => (number === at ? text : each)))
  return (
    <div className={classes.source}>
      {shown.map((text, at) => (
        <div key={at}>
          <Group gap={6} align="flex-end" wrap="nowrap">
            <TextInput
              className={classes.grow}
              label={at === 0 ? 'Cron' : undefined}
              aria-label={at === 0 ? undefined : `Cron ${at + 1}`}
              classNames={{ input: 'mono' }}
              placeholder="0 9 * * MON-FRI"
              value={text}
              error={at === 0 ? wrong : undefined}
              spellCheck={false}
              onChange={(event) => change(at, event.currentTarget.value)}
            />
            {shown.length > 1 && (
              <ActionIcon aria-label={`Remove cron ${at + 1}`} onClick={() => onChange(shown.filter((_, number) => number !== at))}>
                <Icon name="cross" size={14} />
              </ActionIcon>
            )}
          </Group>
          {at === 0 && <CronBuilder text={text} onChange={(built) => change(0, built)} />}
        </div>
      ))}
      <Button size="compact-xs" variant="subtle" leftSection={<Icon name="plus" size={12} />} onClick={() => onChange([...shown, '@daily'])}>
        Another cron string
      </Button>
    </div>
  )
}

interface Every {
  every: string | number
  offset?: string | number
  anchor?: string
}

function Interval({ value, onChange, wrong }: { value: unknown; onChange: (value: Every | undefined) => void; wrong?: string }) {
  const found: Every = value !== null && typeof value === 'object' ? (value as Every) : { every: (value as string | undefined) ?? '' }
  const change = (changed: Partial<Every>) => {
    const next = { ...found, ...changed }
    onChange(next.every === '' ? undefined : next)
  }
  return (
    <div className={classes.pair}>
      <TextInput label="Every" placeholder="15m" error={wrong} value={String(found.every)} onChange={(event) => change({ every: event.currentTarget.value })} />
      <TextInput label="Offset" placeholder="0s" value={String(found.offset ?? '')} onChange={(event) => change({ offset: event.currentTarget.value || undefined })} />
      <Select
        label="Counted from"
        data={[
          { value: 'epoch', label: 'the clock' },
          { value: 'completion', label: 'the end of the run before' },
        ]}
        allowDeselect={false}
        value={found.anchor ?? 'epoch'}
        onChange={(anchor) => change({ anchor: anchor === 'epoch' ? undefined : (anchor ?? undefined) })}
      />
    </div>
  )
}

function Lines({ label, about, value, onChange, wrong }: { label: string; about: string; value: unknown; onChange: (value: unknown) => void; wrong?: string }) {
  return (
    <Textarea
      label={label}
      description={about}
      autosize
      minRows={2}
      maxRows={8}
      error={wrong}
      classNames={{ input: 'mono' }}
      value={listOf(value).join('\n')}
      onChange={(event) => onChange(event.currentTarget.value === '' ? undefined : event.currentTarget.value.split('\n'))}
    />
  )
}

const GAPS = [
  { value: 'catch_up', label: 'run at the first instant after' },
  { value: 'shift', label: 'run later by the gap' },
  { value: 'skip', label: 'leave it out' },
]
const OVERLAPS = [
  { value: 'auto', label: 'by the kind of the spec' },
  { value: 'first', label: 'the first pass' },
  { value: 'second', label: 'the second pass' },
  { value: 'both', label: 'both passes' },
]

function Clocks({ draft, onChange }: { draft: Draft; onChange: (draft: Draft) => void }) {
  const { spec } = draft
  const set = (name: string, usual: string | null) => (value: string | null) => onChange(withSpec(draft, name, value === usual ? undefined : value))
  return (
    <div className={classes.pair}>
      <Select label="Clocks go forward" placeholder="as the profile says" clearable data={GAPS} value={(spec.dst_gap as string | undefined) ?? null} onChange={set('dst_gap', null)} />
      <Select label="Clocks go back" allowDeselect={false} data={OVERLAPS} value={(spec.dst_overlap as string | undefined) ?? 'auto'} onChange={set('dst_overlap', 'auto')} />
      <Select label="DST profile" placeholder="vixie" clearable data={['vixie', 'temporal', 'quartz', 'airflow']} value={(spec.dst_profile as string | undefined) ?? null} onChange={set('dst_profile', null)} />
    </div>
  )
}

function Exclusions({ draft, onChange, wrong }: { draft: Draft; onChange: (draft: Draft) => void; wrong?: string }) {
  const exclude = (draft.spec.exclude ?? {}) as Record<string, unknown>
  const calendars = useInfiniteQuery(calendarsQuery()).data?.pages.flatMap((page) => page.items.map((each) => each.name)) ?? []
  const named = listOf(exclude.named) as string[]
  return (
    <div className={classes.pair}>
      <MultiSelect
        label="Not on days of"
        size="xs"
        placeholder={calendars.length > 0 ? 'calendars' : 'there are no calendars yet'}
        data={[...new Set([...calendars, ...named])]}
        value={named}
        error={wrong}
        onChange={(value) => onChange(withExclude(draft, 'named', value))}
      />
      <TextInput
        label="Not on"
        placeholder="2026-12-25, 2026-12-26"
        value={listOf(exclude.dates).join(', ')}
        onChange={(event) => onChange(withExclude(draft, 'dates', event.currentTarget.value.split(/,\s*/).filter(Boolean)))}
      />
    </div>
  )
}
