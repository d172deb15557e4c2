import { NumberInput, SegmentedControl, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'

import { labelsText, readLabels, withField, type Draft } from './document'
import classes from './Editor.module.css'

interface Props {
  draft: Draft
  onChange: (draft: Draft) => void
  wrong: (field: string) => string | undefined
}

/** What it starts, for whom, with what. */
export function What({ draft, onChange, wrong }: Props) {
  const [kind, setKind] = useState(draft.workflow_id ? 'workflow' : 'function')
  const text = (name: string) => (draft[name] as string | undefined) ?? ''
  const set = (name: string) => (event: React.ChangeEvent<HTMLInputElement>) => onChange(withField(draft, name, event.currentTarget.value))
  const choose = (next: string) => {
    setKind(next)
    onChange(next === 'function' ? withField(withField(draft, 'workflow_id', undefined), 'workflow_version', undefined) : withField(draft, 'function', undefined))
  }
  return (
    <>
      <SegmentedControl
        size="xs"
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
      <Payload draft={draft} onChange={onChange} wrong={wrong('payload')} />
      <TextInput label="Description" value={text('description')} onChange={set('description')} />
      <Labels draft={draft} onChange={onChange} wrong={wrong('labels')} />
    </>
  )
}

function Payload({ draft, onChange, wrong }: { draft: Draft; onChange: (draft: Draft) => void; wrong?: string }) {
  const [typed, setTyped] = useState(draft.payload === undefined || draft.payload === null ? '' : JSON.stringify(draft.payload, null, 2))
  const [broken, setBroken] = useState<string | undefined>()
  return (
    <Textarea
      label="Payload"
      description="JSON that each run is given"
      autosize
      minRows={2}
      maxRows={10}
      classNames={{ input: 'mono' }}
      value={typed}
      error={broken ?? wrong}
      onChange={(event) => {
        const text = event.currentTarget.value
        setTyped(text)
        try {
          onChange(withField(draft, 'payload', text.trim() === '' ? undefined : JSON.parse(text)))
          setBroken(undefined)
        } catch {
          setBroken('This is not JSON yet')
        }
      }}
    />
  )
}

function Labels({ draft, onChange, wrong }: { draft: Draft; onChange: (draft: Draft) => void; wrong?: string }) {
  const [typed, setTyped] = useState(labelsText(draft.labels))
  return (
    <TextInput
      label="Labels"
      placeholder="team=billing, tier=gold"
      error={wrong}
      value={typed}
      onChange={(event) => {
        setTyped(event.currentTarget.value)
        onChange(withField(draft, 'labels', readLabels(event.currentTarget.value)))
      }}
    />
  )
}
