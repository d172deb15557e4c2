import { Accordion, Button, Textarea, TextInput } from '@mantine/core'
import { useBlocker } from '@tanstack/react-router'
import { useRef, useState } from 'react'

import { Problem } from '../../api/problem'
import { Ask } from '../../components/ConfirmDialog'
import { Wrong } from '../../components/states'
import { Segments } from '../../components/SegmentedRadio'
import { gathered, type Draft, type WrongAt } from './document'
import { Outlook, useEffectOf, usePreview } from './PreviewPanel'
import { Policies } from './PolicyFields'
import { What } from './ActionFields'
import { When } from './TimingFields'
import classes from './Editor.module.css'

interface Props {
  draft: Draft
  onChange: (draft: Draft) => void
  /** The id of the schedule that is edited; a new one is still to be named. */
  id: string
  onName?: (id: string) => void
  token?: number
  /** Something would be lost by leaving. */
  changed: boolean
  error: unknown
  busy: boolean
  onSave: () => void
  onCancel: () => void
}

/** A definition as a form and as JSON, with what it will do beside it. */
export function Editor({ draft, onChange, id, onName, token, changed, error, busy, onSave, onCancel }: Props) {
  const form = useRef<HTMLFormElement>(null)
  const [view, setView] = useState('form')
  const [broken, setBroken] = useState<string | undefined>()
  const preview = usePreview(draft, id)
  const effect = useEffectOf(draft, onName ? undefined : id, token)
  const wrong = whatIsWrong([error, preview.error])
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.key !== 'Enter') return
    if (event.ctrlKey || event.metaKey) form.current?.requestSubmit()
    else if (event.target instanceof HTMLInputElement) event.preventDefault()
  }
  return (
    <form
      ref={form}
      className={classes.columns}
      onKeyDown={onKeyDown}
      onSubmit={(event) => {
        event.preventDefault()
        if (!broken && !busy) onSave()
      }}
    >
      <Leaving asks={changed || broken !== undefined} />
      <div>
        <div className={classes.bar}>
          <Segments
            aria-label="Edit as"
            value={view}
            onChange={setView}
            disabled={broken !== undefined}
            data={[
              { value: 'form', label: 'Form' },
              { value: 'json', label: 'JSON' },
            ]}
          />
          <span className={classes.broken} role="status">
            {broken}
          </span>
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <Button type="submit" loading={busy} disabled={broken !== undefined} title={broken ?? 'Ctrl-Enter'}>
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
          <Json draft={draft} onChange={onChange} broken={broken} onBroken={setBroken} />
        ) : (
          <>
            <section className={`panel ${classes.part}`} aria-label="When">
              <h2>When</h2>
              <When draft={draft} onChange={onChange} wrong={wrong} />
            </section>
            <section className={`panel ${classes.part}`} aria-label="What">
              <h2>What</h2>
              <What draft={draft} onChange={onChange} onBroken={setBroken} wrong={wrong} />
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

/** Say at each field what the service says of it: without its name, which stands there already. */
function whatIsWrong(errors: unknown[]): WrongAt {
  const problems = errors.filter((each): each is Problem => each instanceof Problem)
  return (field, at) => {
    const within = at === undefined ? [`${field}[`, `${field}.`] : [`${field}[${at}]`, ...(at === 0 ? [`${field}.`] : [])]
    const found = problems.find((each) => (each.field === field && !at) || within.some((start) => each.field?.startsWith(start)))
    return found?.message.replace(`${found.field}: `, '')
  }
}

/** Whoever leaves what they have not saved is asked first. */
function Leaving({ asks }: { asks: boolean }) {
  const blocked = useBlocker({
    shouldBlockFn: ({ current, next }) => asks && current.pathname !== next.pathname,
    enableBeforeUnload: asks,
    withResolver: true,
  })
  if (blocked.status !== 'blocked') return null
  return (
    <Ask title="Leave without saving?" yes="Leave" no="Go on editing" danger onYes={blocked.proceed} onClose={blocked.reset}>
      What you have changed here is not saved.
    </Ask>
  )
}

interface JsonProps {
  draft: Draft
  onChange: (draft: Draft) => void
  broken: string | undefined
  onBroken: (reason?: string) => void
}

function Json({ draft, onChange, broken, onBroken }: JsonProps) {
  const [typed, setTyped] = useState(() => JSON.stringify(draft, null, 2))
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
          onChange(gathered(read))
          onBroken()
        } catch {
          onBroken('This is not a JSON object yet')
        }
      }}
    />
  )
}
