import { NumberInput, Select, Switch, TextInput } from '@mantine/core'

import { UNSAID, withField, type Draft, type WrongAt } from './document'
import classes from './Editor.module.css'

interface Choice {
  name: string
  label: string
  /** What it is unless said otherwise; without it, the service decides. */
  usual?: string
  options: [value: string, label: string][]
}

const CHOICES: Choice[] = [
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
    usual: 'policy',
    options: [
      ['policy', 'are as if they were missed'],
      ['skip', 'are dropped'],
      ['fire_once', 'run once for all'],
    ],
  },
  {
    name: 'buffer_keep',
    label: 'If one may wait, keep',
    usual: 'latest',
    options: [
      ['latest', 'the latest'],
      ['first', 'the first'],
    ],
  },
  {
    name: 'on_worker_lost',
    label: 'A run whose worker was lost',
    usual: 'relaunch',
    options: [
      ['relaunch', 'is started again'],
      ['fail', 'has failed'],
    ],
  },
]
const NUMBERS: { name: string; label: string; usual?: number; placeholder: string; scale?: number }[] = [
  { name: 'max_concurrent', label: 'Runs at a time', usual: 1, placeholder: '1' },
  { name: 'max_attempts', label: 'Attempts of a run', usual: 1, placeholder: '1' },
  { name: 'retry_delay_ms', label: 'Before the second attempt, in seconds', usual: 1_000, placeholder: '1', scale: 1_000 },
  { name: 'max_execution_ms', label: 'A run may take, in seconds', placeholder: 'as long as it takes', scale: 1_000 },
  { name: 'min_interval_ms', label: 'Least time between starts, in seconds', placeholder: UNSAID, scale: 1_000 },
  { name: 'max_interval_ms', label: 'Most time between runs, if adaptive, in seconds', placeholder: 'no bound', scale: 1_000 },
  { name: 'remaining_actions', label: 'Automatic starts that are left', placeholder: 'no bound' },
]
const FLAGS: { name: string; label: string; usual: boolean }[] = [
  { name: 'pause_on_failure', label: 'Pause it after a run that failed for good', usual: false },
  { name: 'notify', label: 'Notify of what goes wrong', usual: true },
  { name: 'shadow', label: 'Shadow: record what it would start, and start nothing', usual: false },
  { name: 'adaptive', label: 'Adaptive: hints, failures and bounds move its runs', usual: false },
  { name: 'failure_backoff', label: 'Failures stretch an adaptive interval', usual: true },
]

interface Props {
  draft: Draft
  onChange: (draft: Draft) => void
  wrong: WrongAt
}

/** How it behaves besides when it ticks; everything is as by default until it is touched. */
export function Policies({ draft, onChange, wrong }: Props) {
  const set = (name: string, value: unknown, usual: unknown) => onChange(withField(draft, name, value === usual ? undefined : value))
  return (
    <>
      <div className={classes.pair}>
        {CHOICES.map(({ name, label, usual, options }) => (
          <Select
            key={name}
            label={label}
            error={wrong(name)}
            data={options.map(([value, text]) => ({ value, label: text }))}
            allowDeselect={false}
            placeholder={UNSAID}
            value={(draft[name] as string | undefined) ?? usual ?? null}
            onChange={(value) => set(name, value, usual)}
          />
        ))}
        <TextInput
          label="Drop missed ticks older than"
          placeholder="never"
          description="A duration such as 2h"
          error={wrong('catchup_window')}
          value={draft.catchup_window === undefined || draft.catchup_window === null ? '' : String(draft.catchup_window)}
          onChange={(event) => set('catchup_window', event.currentTarget.value, '')}
        />
        {NUMBERS.map(({ name, label, usual, placeholder, scale = 1 }) => (
          <NumberInput
            key={name}
            label={label}
            placeholder={placeholder}
            min={0}
            error={wrong(name)}
            value={typeof draft[name] === 'number' ? (draft[name] as number) / scale : ''}
            onChange={(value) => set(name, typeof value === 'number' ? Math.round(value * scale) : undefined, usual)}
          />
        ))}
      </div>
      {FLAGS.map(({ name, label, usual }) => (
        <Switch
          key={name}
          size="xs"
          label={label}
          checked={(draft[name] as boolean | undefined) ?? usual}
          onChange={(event) => set(name, event.currentTarget.checked, usual)}
        />
      ))}
    </>
  )
}
