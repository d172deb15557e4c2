import { NumberInput, Select, Switch, TextInput } from '@mantine/core'
import { t } from '../../messages'

import { type Draft, type FieldError, SERVER_DEFAULT, withField } from './document'
import classes from './Editor.module.css'

interface Choice {
  name: string
  label: string
  /** The default. Without one, the server decides. */
  defaultValue?: string
  options: [value: string, label: string][]
}

const SELECTS: Choice[] = [
  {
    name: 'overlap_policy',
    label: t('policy.overlap'),
    options: [
      ['skip', t('overlap.skip')],
      ['allow', t('overlap.allow')],
      ['queue', t('overlap.queue')],
      ['buffer_one', t('overlap.buffer_one')],
      ['cancel_other', t('overlap.cancel_other')],
      ['terminate_other', t('overlap.terminate_other')],
    ],
  },
  {
    name: 'catchup_policy',
    label: t('policy.catchup'),
    options: [
      ['none', t('catchup.none')],
      ['coalesce', t('catchup.coalesce')],
      ['fire_immediately', t('catchup.fire_immediately')],
      ['spread', t('catchup.spread')],
    ],
  },
  {
    name: 'on_resume',
    label: t('policy.onResume'),
    defaultValue: 'policy',
    options: [
      ['policy', t('policy.onResumePolicy')],
      ['skip', t('policy.onResumeSkip')],
      ['fire_once', t('policy.onResumeOnce')],
    ],
  },
  {
    name: 'buffer_keep',
    label: t('policy.bufferKeep'),
    defaultValue: 'latest',
    options: [
      ['latest', t('policy.bufferLatest')],
      ['first', t('policy.bufferFirst')],
    ],
  },
  {
    name: 'on_worker_lost',
    label: t('policy.workerLost'),
    defaultValue: 'relaunch',
    options: [
      ['relaunch', t('policy.workerLostRetry')],
      ['fail', t('policy.workerLostFail')],
    ],
  },
]
const NUMBERS: { name: string; label: string; defaultValue?: number; placeholder: string; scale?: number }[] = [
  { name: 'max_concurrent', label: t('policy.maxConcurrent'), defaultValue: 1, placeholder: '1' },
  { name: 'max_attempts', label: t('policy.maxAttempts'), defaultValue: 1, placeholder: '1' },
  {
    name: 'retry_delay_ms',
    label: t('policy.retryDelay'),
    defaultValue: 1_000,
    placeholder: '1',
    scale: 1_000,
  },
  {
    name: 'launch_deadline_ms',
    label: t('policy.launchDeadline'),
    placeholder: SERVER_DEFAULT,
    scale: 1_000,
  },
  { name: 'max_execution_ms', label: t('policy.timeout'), placeholder: t('policy.noTimeout'), scale: 1_000 },
  {
    name: 'min_interval_ms',
    label: t('policy.minInterval'),
    placeholder: SERVER_DEFAULT,
    scale: 1_000,
  },
  {
    name: 'max_interval_ms',
    label: t('policy.maxInterval'),
    placeholder: t('policy.noLimit'),
    scale: 1_000,
  },
  { name: 'remaining_actions', label: t('policy.remaining'), placeholder: t('policy.unlimited') },
]
const FLAGS: { name: string; label: string; defaultValue: boolean }[] = [
  { name: 'pause_on_failure', label: t('policy.pauseOnFailure'), defaultValue: false },
  { name: 'notify', label: t('policy.notify'), defaultValue: true },
  { name: 'shadow', label: t('policy.shadow'), defaultValue: false },
  { name: 'adaptive', label: t('policy.adaptive'), defaultValue: false },
  { name: 'failure_backoff', label: t('policy.failureBackoff'), defaultValue: true },
]

interface Props {
  draft: Draft
  onChange: (draft: Draft) => void
  fieldError: FieldError
}

/** The policies of a schedule. A field with its default value is not part of the draft. */
export function PolicyFields({ draft, onChange, fieldError }: Props) {
  const set = (name: string, value: unknown, defaultValue: unknown) =>
    onChange(withField(draft, name, value === defaultValue ? undefined : value))
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
          label={t('policy.catchupWindow')}
          placeholder={t('policy.noLimit')}
          description={t('policy.catchupWindowHelp')}
          error={fieldError('catchup_window')}
          value={
            draft.catchup_window === undefined || draft.catchup_window === null ? '' : String(draft.catchup_window)
          }
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
            onChange={(value) =>
              set(name, typeof value === 'number' ? Math.round(value * scale) : undefined, defaultValue)
            }
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
