import { NumberInput, TextInput } from '@mantine/core'
import { useState } from 'react'
import { SegmentedRadio } from '../../components/SegmentedRadio'
import { EXECUTOR_FIELDS, executorTarget, readExecutorTarget, withExecutorTarget } from '../../lib/target'
import { t } from '../../messages'
import { type Draft, type FieldError, labelsText, readLabels, withField } from './document'
import classes from './Editor.module.css'
import { ParsedTextInput } from './ParsedTextInput'

interface Props {
  draft: Draft
  onChange: (draft: Draft) => void
  /** Called with the reason while an input can not be parsed, and without one when it can. */
  onInvalid: (reason?: string) => void
  fieldError: FieldError
}

/** The action of a schedule: function, workflow or another executor, queue, owner and input. */
export function ActionFields({ draft, onChange, onInvalid, fieldError }: Props) {
  const [kind, setKind] = useState(draft.workflow_id ? 'workflow' : executorTarget(draft) ? 'executor' : 'function')
  const text = (name: string) => (draft[name] as string | undefined) ?? ''
  const set = (name: string) => (event: React.ChangeEvent<HTMLInputElement>) =>
    onChange(withField(draft, name, event.currentTarget.value))
  const chooseKind = (next: string) => {
    setKind(next)
    const names = ['function', 'workflow_id', 'workflow_version'].filter((name) => !name.startsWith(next))
    onInvalid()
    onChange(withExecutorTarget(names.reduce((fields, name) => withField(fields, name, undefined), draft)))
  }
  return (
    <>
      <SegmentedRadio
        aria-label={t('action.kind')}
        value={kind}
        onChange={chooseKind}
        data={[
          { value: 'function', label: t('action.function') },
          { value: 'workflow', label: t('action.workflow') },
          { value: 'executor', label: t('action.executor') },
        ]}
      />
      {kind === 'function' ? (
        <TextInput
          label={t('action.functionLabel')}
          description={t('action.functionHelp')}
          placeholder="tasks:report"
          classNames={{ input: 'mono' }}
          value={text('function')}
          error={fieldError('function')}
          onChange={set('function')}
        />
      ) : kind === 'executor' ? (
        <ExecutorInput draft={draft} onChange={onChange} onInvalid={onInvalid} fieldError={fieldError} />
      ) : (
        <div className={classes.pair}>
          <TextInput
            label={t('common.workflow')}
            value={text('workflow_id')}
            error={fieldError('workflow_id')}
            onChange={set('workflow_id')}
          />
          <NumberInput
            label={t('common.version')}
            placeholder={t('action.latest')}
            min={1}
            value={(draft.workflow_version as number | undefined) ?? ''}
            onChange={(value) =>
              onChange(withField(draft, 'workflow_version', typeof value === 'number' ? value : undefined))
            }
          />
        </div>
      )}
      <div className={classes.pair}>
        <TextInput
          label={t('common.queue')}
          placeholder="default"
          value={draft.queue === 'default' ? '' : text('queue')}
          error={fieldError('queue')}
          onChange={set('queue')}
        />
        <TextInput label={t('action.owner')} value={text('user_id')} onChange={set('user_id')} />
      </div>
      <PayloadInput draft={draft} onChange={onChange} onInvalid={onInvalid} error={fieldError('payload')} />
      <TextInput label={t('action.description')} value={text('description')} onChange={set('description')} />
      <ParsedTextInput
        label={t('action.labels')}
        placeholder="team=billing, tier=gold"
        initialText={labelsText(draft.labels)}
        error={fieldError('labels')}
        onText={(text) => onChange(withField(draft, 'labels', readLabels(text)))}
      />
    </>
  )
}

/** The executor and its options as JSON. The editor can not be saved while it is invalid. */
function ExecutorInput({ draft, onChange, onInvalid, fieldError }: Props) {
  const [invalid, setInvalid] = useState<string | undefined>()
  const target = executorTarget(draft)
  return (
    <ParsedTextInput
      multiline
      label={t('action.executorLabel')}
      description={t('action.executorHelp')}
      placeholder={'{"http": {"url": "https://example.org/run"}}'}
      initialText={target ? JSON.stringify(target, null, 2) : ''}
      error={invalid ?? EXECUTOR_FIELDS.map((name) => fieldError(name)).find(Boolean)}
      onText={(text) => {
        const next = readExecutorTarget(text)
        const reason = next ? undefined : t('action.executorInvalid')
        if (next) onChange(withExecutorTarget(draft, next))
        setInvalid(reason)
        onInvalid(reason)
      }}
    />
  )
}

/** The input of a run as JSON. The editor can not be saved while it is invalid. */
function PayloadInput({
  draft,
  onChange,
  onInvalid,
  error,
}: {
  draft: Draft
  onChange: (draft: Draft) => void
  onInvalid: (reason?: string) => void
  error?: string
}) {
  const [invalid, setInvalid] = useState<string | undefined>()
  const report = (reason?: string) => {
    setInvalid(reason)
    onInvalid(reason)
  }
  return (
    <ParsedTextInput
      multiline
      label={t('action.input')}
      description={t('action.inputHelp')}
      initialText={draft.payload === undefined || draft.payload === null ? '' : JSON.stringify(draft.payload, null, 2)}
      error={invalid ?? error}
      onText={(text) => {
        try {
          onChange(
            text.trim() === ''
              ? withField(draft, 'payload', undefined)
              : { ...draft, payload: JSON.parse(text) as unknown },
          )
          report()
        } catch {
          report(t('common.invalidJson'))
        }
      }}
    />
  )
}
