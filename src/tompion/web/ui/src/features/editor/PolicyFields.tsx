import { NumberInput, Select, Switch, TextInput } from '@mantine/core'

import { SERVER_DEFAULT, withField, type Draft, type FieldError } from './document'
import classes from './Editor.module.css'

interface Choice {
  name: string
  label: string
  /** What it is unless said otherwise; without it, the service decides. */
  defaultValue?: string
  options: [value: string, label: string][]
}

const SELECTS: Choice[] = [
  {
    name: 'overlap_policy',
    label: 'While the run before goes on',
    options: [
      ['skip', 'skip the tick'],
      ['allow', 'start all the same'],
      ['queue', 'let all of them wait'],
      ['buffer_one', 'let one wait'],
      ['cancel_other', 'ask the other to end, then start'],
      ['terminate_other', 'end the other by force, then start'],
    ],
  },
  {
    name: 'catchup_policy',
    label: 'Ticks that were missed',
    options: [
      ['none', 'are dropped'],
      ['coalesce', 'run once for all'],
      ['fire_immediately', 'run all, the oldest first'],
      ['spread', 'run all, spread over time'],
    ],
  },
  {
    name: 'on_resume',
    label: 'The ticks of a pause',
    defaultValue: 'policy',
    options: [
      ['policy', 'are as if they were missed'],
      ['skip', 'are dropped'],
      ['fire_once', 'run once for all'],
    ],
  },
  {
    name: 'buffer_keep',
    label: 'If one may wait, keep',
    defaultValue: 'latest',
    options: [
      ['latest', 'the latest'],
      ['first', 'the first'],
    ],
  },
  {
    name: 'on_worker_lost',
    label: 'A run whose worker was lost',
    defaultValue: 'relaunch',
    options: [
      ['relaunch', 'is started again'],
      ['fail', 'has failed'],
    ],
  },
]
const NUMBERS: { name: string; label: string; defaultValue?: number; placeholder: string; scale?: number }[] = [
  { name: 'max_concurrent', label: 'Runs at a time', defaultValue: 1, placeholder: '1' },
  { name: 'max_attempts', label: 'Attempts of a run', defaultValue: 1, placeholder: '1' },
  { name: 'retry_delay_ms', label: 'Before the second attempt, in seconds', defaultValue: 1_000, placeholder: '1', scale: 1_000 },
  { name: 'max_execution_ms', label: 'A run may take, in seconds', placeholder: 'as long as it takes', scale: 1_000 },
  { name: 'min_interval_ms', label: 'Least time between starts, in seconds', placeholder: SERVER_DEFAULT, scale: 1_000 },
  { name: 'max_interval_ms', label: 'Most time between runs, if adaptive, in seconds', placeholder: 'no bound', scale: 1_000 },
  { name: 'remaining_actions', label: 'Automatic starts that are left', placeholder: 'no bound' },
]
const FLAGS: { name: string; label: string; defaultValue: boolean }[] = [
  { name: 'pause_on_failure', label: 'Pause it after a run that failed for good', defaultValue: false },
  { name: 'notify', label: 'Notify of what goes wrong', defaultValue: true },
  { name: 'shadow', label: 'Shadow: record what it would start, and start nothing', defaultValue: false },
  { name: 'adaptive', label: 'Adaptive: hints, failures and bounds move its runs', defaultValue: false },
  { name: 'failure_backoff', label: 'Failures stretch an adaptive interval', defaultValue: true },
]

interface Props {
  draft: Draft
  onChange: (draft: Draft) => void
  fieldError: FieldError
}

/** How it behaves besides when it ticks; everything is as by default until it is touched. */
export function PolicyFields({ draft, onChange, fieldError }: Props) {
  const set = (name: string, value: unknown, defaultValue: unknown) => onChange(withField(draft, name, value === defaultValue ? undefined : value))
  return (
    <>
      <div className={classes.pair}>
        {SELECTS.map(({ name, label, defaultValue, options }) => (
          <Select
            key={name}
            label={label}
            error={fieldError(name)}
            data={options.map(([value, text]) => ({ value, label: text }))}
            allowDeselect={false}
            placeholder={SERVER_DEFAULT}
            value={(draft[name] as string | undefined) ?? defaultValue ?? null}
            onChange={(value) => set(name, value, defaultValue)}
          />
        ))}
        <TextInput
          label="Drop missed ticks older than"
          placeholder="never"
          description="A duration such as 2h"
          error={fieldError('catchup_window')}
          value={draft.catchup_window === undefined || draft.catchup_window === null ? '' : String(draft.catchup_window)}
          onChange={(event) => set('catchup_window', event.currentTarget.value, '')}
        />
        {NUMBERS.map(({ name, label, defaultValue, placeholder, scale = 1 }) => (
          <NumberInput
            key={name}
            label={label}
            placeholder={placeholder}
            min={0}
            error={fieldError(name)}
            value={typeof draft[name] === 'number' ? (draft[name] as number) / scale : ''}
            onChange={(value) => set(name, typeof value === 'number' ? Math.round(value * scale) : undefined, defaultValue)}
          />
        ))}
      </div>
      {FLAGS.map(({ name, label, defaultValue }) => (
        <Switch
          key={name}
          size="xs"
          label={label}
          checked={(draft[name] as boolean | undefined) ?? defaultValue}
          onChange={(event) => set(name, event.currentTarget.checked, defaultValue)}
        />
      ))}
    </>
  )
}
