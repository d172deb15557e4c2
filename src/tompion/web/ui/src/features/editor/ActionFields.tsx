import { NumberInput, TextInput } from '@mantine/core'
import { useState } from 'react'

import { Segments } from '../../components/SegmentedRadio'
import { labelsText, readLabels, withField, type Draft, type WrongAt } from './document'
import classes from './Editor.module.css'
import { Typed } from './ParsedTextInput'

interface Props {
  draft: Draft
  onChange: (draft: Draft) => void
  /** Something is written that cannot be read, and why; or everything can be. */
  onBroken: (reason?: string) => void
  wrong: WrongAt
}

/** What it starts, for whom, with what. */
export function What({ draft, onChange, onBroken, wrong }: Props) {
  const [kind, setKind] = useState(draft.workflow_id ? 'workflow' : 'function')
  const text = (name: string) => (draft[name] as string | undefined) ?? ''
  const set = (name: string) => (event: React.ChangeEvent<HTMLInputElement>) => onChange(withField(draft, name, event.currentTarget.value))
  const choose = (next: string) => {
    setKind(next)
    onChange(next === 'function' ? withField(withField(draft, 'workflow_id', undefined), 'workflow_version', undefined) : withField(draft, 'function', undefined))
  }
  return (
    <>
      <Segments
        aria-label="What it starts"
        value={kind}
        onChange={choose}
        data={[
          { value: 'function', label: 'A function' },
          { value: 'workflow', label: 'A workflow' },
        ]}
      />
      {kind === 'function' ? (
        <TextInput label="Function" description="By its import path" placeholder="tasks:report" classNames={{ input: 'mono' }} value={text('function')} error={wrong('function')} onChange={set('function')} />
      ) : (
        <div className={classes.pair}>
          <TextInput label="Workflow" value={text('workflow_id')} error={wrong('workflow_id')} onChange={set('workflow_id')} />
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
          error={wrong('queue')}
          onChange={set('queue')}
        />
        <TextInput label="On behalf of" placeholder="a user id" value={text('user_id')} onChange={set('user_id')} />
      </div>
      <Payload draft={draft} onChange={onChange} onBroken={onBroken} wrong={wrong('payload')} />
      <TextInput label="Description" value={text('description')} onChange={set('description')} />
      <Typed
        label="Labels"
        placeholder="team=billing, tier=gold"
        first={labelsText(draft.labels)}
        wrong={wrong('labels')}
        onType={(text) => onChange(withField(draft, 'labels', readLabels(text)))}
      />
    </>
  )
}

/** JSON, which is taken over while it is whole; until then the editor knows that it is broken. */
function Payload({ draft, onChange, onBroken, wrong }: { draft: Draft; onChange: (draft: Draft) => void; onBroken: (reason?: string) => void; wrong?: string }) {
  const [broken, setBroken] = useState<string | undefined>()
  const tell = (reason?: string) => {
    setBroken(reason)
    onBroken(reason)
  }
  return (
    <Typed
      lines
      label="Payload"
      about="JSON that each run is given"
      first={draft.payload === undefined || draft.payload === null ? '' : JSON.stringify(draft.payload, null, 2)}
      wrong={broken ?? wrong}
      onType={(text) => {
        try {
          onChange(text.trim() === '' ? withField(draft, 'payload', undefined) : { ...draft, payload: JSON.parse(text) as unknown })
          tell()
        } catch {
          tell('The payload is not JSON yet')
        }
      }}
    />
  )
}
