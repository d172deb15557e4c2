import { NumberInput, TextInput } from '@mantine/core'
import { useState } from 'react'

import { SegmentedRadio } from '../../components/SegmentedRadio'
import { labelsText, readLabels, withField, type Draft, type FieldError } from './document'
import classes from './Editor.module.css'
import { ParsedTextInput } from './ParsedTextInput'

interface Props {
  draft: Draft
  onChange: (draft: Draft) => void
  /** Something is written that cannot be read, and why; or everything can be. */
  onInvalid: (reason?: string) => void
  fieldError: FieldError
}

/** What it starts, for whom, with what. */
export function ActionFields({ draft, onChange, onInvalid, fieldError }: Props) {
  const [kind, setKind] = useState(draft.workflow_id ? 'workflow' : 'function')
  const text = (name: string) => (draft[name] as string | undefined) ?? ''
  const set = (name: string) => (event: React.ChangeEvent<HTMLInputElement>) => onChange(withField(draft, name, event.currentTarget.value))
  const chooseKind = (next: string) => {
    setKind(next)
    onChange(next === 'function' ? withField(withField(draft, 'workflow_id', undefined), 'workflow_version', undefined) : withField(draft, 'function', undefined))
  }
  return (
    <>
      <SegmentedRadio
        aria-label="What it starts"
        value={kind}
        onChange={chooseKind}
        data={[
          { value: 'function', label: 'A function' },
          { value: 'workflow', label: 'A workflow' },
        ]}
      />
      {kind === 'function' ? (
        <TextInput label="Function" description="By its import path" placeholder="tasks:report" classNames={{ input: 'mono' }} value={text('function')} error={fieldError('function')} onChange={set('function')} />
      ) : (
        <div className={classes.pair}>
          <TextInput label="Workflow" value={text('workflow_id')} error={fieldError('workflow_id')} onChange={set('workflow_id')} />
          <NumberInput
            label="Version"
            placeholder="the newest"
            min={1}
            value={(draft.workflow_version as number | undefined) ?? ''}
            onChange={(value) => onChange(withField(draft, 'workflow_version', typeof value === 'number' ? value : undefined))}
          />
        </div>
      )}
      <div className={classes.pair}>
        <TextInput
          label="Queue"
          placeholder="default"
          value={draft.queue === 'default' ? '' : text('queue')}
          error={fieldError('queue')}
          onChange={set('queue')}
        />
        <TextInput label="On behalf of" placeholder="a user id" value={text('user_id')} onChange={set('user_id')} />
      </div>
      <PayloadInput draft={draft} onChange={onChange} onInvalid={onInvalid} error={fieldError('payload')} />
      <TextInput label="Description" value={text('description')} onChange={set('description')} />
      <ParsedTextInput
        label="Labels"
        placeholder="team=billing, tier=gold"
        initialText={labelsText(draft.labels)}
        error={fieldError('labels')}
        onText={(text) => onChange(withField(draft, 'labels', readLabels(text)))}
      />
    </>
  )
}

/** JSON, which is taken over while it is whole; until then the editor knows that it is broken. */
function PayloadInput({ draft, onChange, onInvalid, error }: { draft: Draft; onChange: (draft: Draft) => void; onInvalid: (reason?: string) => void; error?: string }) {
  const [invalid, setInvalid] = useState<string | undefined>()
  const report = (reason?: string) => {
    setInvalid(reason)
    onInvalid(reason)
  }
  return (
    <ParsedTextInput
      multiline
      label="Payload"
      description="JSON that each run is given"
      initialText={draft.payload === undefined || draft.payload === null ? '' : JSON.stringify(draft.payload, null, 2)}
      error={invalid ?? error}
      onText={(text) => {
        try {
          onChange(text.trim() === '' ? withField(draft, 'payload', undefined) : { ...draft, payload: JSON.parse(text) as unknown })
          report()
        } catch {
          report('The payload is not JSON yet')
        }
      }}
    />
  )
}
