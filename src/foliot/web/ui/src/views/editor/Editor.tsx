import { Accordion, Button, SegmentedControl, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'

import { Problem } from '../../api/problem'
import { Wrong } from '../../parts/notes'
import type { Draft } from './document'
import { Outlook, useEffectOf, usePreview } from './Outlook'
import { Policies } from './Policies'
import { What } from './What'
import { When } from './When'
import classes from './Editor.module.css'

interface Props {
  draft: Draft
  onChange: (draft: Draft) => void
  /** The id of the schedule that is edited; a new one is still to be named. */
  id: string
  onName?: (id: string) => void
  token?: number
  error: unknown
  busy: boolean
  onSave: () => void
  onCancel: () => void
}

/** A definition as a form and as JSON, with what it will do beside it. */
export function Editor({ draft, onChange, id, onName, token, error, busy, onSave, onCancel }: Props) {
  const [view, setView] = useState('form')
  const preview = usePreview(draft, id)
  const effect = useEffectOf(draft, onName ? undefined : id, token)
  const problems = [error, preview.error].filter((each): each is Problem => each instanceof Problem)
  const wrong = (field: string) => problems.find((each) => each.field === field || each.field?.startsWith(`${field}[`) || each.field?.startsWith(`${field}.`))?.message
  return (
    <form
      className={classes.columns}
      onSubmit={(event) => {
        event.preventDefault()
        onSave()
      }}
    >
      <div>
        <div className={classes.bar}>
          <SegmentedControl
            size="xs"
            aria-label="Edit as"
            value={view}
            onChange={setView}
            data={[
              { value: 'form', label: 'Form' },
              { value: 'json', label: 'JSON' },
            ]}
          />
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <Button type="submit" loading={busy}>
            {onName ? 'Create' : 'Save'}
          </Button>
        </div>
        {Boolean(error) && <Wrong error={error} />}
        {onName && (
          <section className={`panel ${classes.part}`}>
            <TextInput label="Id" description="What it is called, for ever" placeholder="report" required value={id} error={wrong('schedule_id')} onChange={(event) => onName(event.currentTarget.value)} />
          </section>
        )}
        {view === 'json' ? (
          <Json draft={draft} onChange={onChange} />
        ) : (
          <>
            <section className={`panel ${classes.part}`} aria-label="When">
              <h2>When</h2>
              <When draft={draft} onChange={onChange} wrong={wrong} />
            </section>
            <section className={`panel ${classes.part}`} aria-label="What">
              <h2>What</h2>
              <What draft={draft} onChange={onChange} wrong={wrong} />
            </section>
            <Accordion variant="contained" classNames={{ item: classes.policies }}>
              <Accordion.Item value="policies">
                <Accordion.Control>How: overlap, catch-up, retries, limits</Accordion.Control>
                <Accordion.Panel>
                  <div className={classes.inner}>
                    <Policies draft={draft} onChange={onChange} wrong={wrong} />
                  </div>
                </Accordion.Panel>
              </Accordion.Item>
            </Accordion>
          </>
        )}
      </div>
      <Outlook preview={preview} effect={onName ? undefined : effect} />
    </form>
  )
}

function Json({ draft, onChange }: { draft: Draft; onChange: (draft: Draft) => void }) {
  const [typed, setTyped] = useState(() => JSON.stringify(draft, null, 2))
  const [broken, setBroken] = useState<string | undefined>()
  return (
    <Textarea
      aria-label="The definition as JSON"
      autosize
      minRows={18}
      classNames={{ input: 'mono' }}
      value={typed}
      error={broken}
      spellCheck={false}
      onChange={(event) => {
        setTyped(event.currentTarget.value)
        try {
          const read = JSON.parse(event.currentTarget.value) as Draft
          if (read === null || typeof read !== 'object' || Array.isArray(read)) throw new SyntaxError()
          onChange({ ...read, spec: read.spec ?? {} })
          setBroken(undefined)
        } catch {
          setBroken('This is not a JSON object yet')
        }
      }}
    />
  )
}
