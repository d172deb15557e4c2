import { NumberInput, TextInput } from '@mantine/core'
import { useState } from 'react'
import { SegmentedRadio } from '../../components/SegmentedRadio'
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

/** The action of a schedule: function or workflow, queue, owner and input. */
export function ActionFields({ draft, onChange, onInvalid, fieldError }: Props) {
  const [kind, setKind] = useState(draft.workflow_id ? 'workflow' : 'function')
  const text = (name: string) => (draft[name] as string | undefined) ?? ''
  const set = (name: string) => (event: React.ChangeEvent<HTMLInputElement>) =>
    onChange(withField(draft, name, event.currentTarget.value))
  const chooseKind = (next: string) => {
    setKind(next)
    onChange(
      next === 'function'
        ? withField(withField(draft, 'workflow_id', undefined), 'workflow_version', undefined)
        : withField(draft, 'function', undefined),
    )
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
