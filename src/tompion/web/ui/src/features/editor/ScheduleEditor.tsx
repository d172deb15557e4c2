import { Accordion, Button, Textarea, TextInput } from '@mantine/core'
import { useBlocker } from '@tanstack/react-router'
import { useRef, useState } from 'react'

import { ApiError } from '../../api/errors'
import { ConfirmDialog } from '../../components/ConfirmDialog'
import { ErrorState } from '../../components/states'
import { SegmentedRadio } from '../../components/SegmentedRadio'
import { toDraft, type Draft, type FieldError } from './document'
import { PreviewPanel, useScheduleDiff, usePreview } from './PreviewPanel'
import { PolicyFields } from './PolicyFields'
import { ActionFields } from './ActionFields'
import { TimingFields } from './TimingFields'
import classes from './Editor.module.css'

interface Props {
  draft: Draft
  onChange: (draft: Draft) => void
  /** The id of the schedule that is edited; a new one is still to be named. */
  id: string
  onRename?: (id: string) => void
  token?: number
  /** Something would be lost by leaving. */
  isDirty: boolean
  error: unknown
  busy: boolean
  onSave: () => void
  onCancel: () => void
}

/** A definition as a form and as JSON, with what it will do beside it. */
export function ScheduleEditor({ draft, onChange, id, onRename, token, isDirty, error, busy, onSave, onCancel }: Props) {
  const form = useRef<HTMLFormElement>(null)
  const [view, setView] = useState('form')
  const [invalid, setInvalid] = useState<string | undefined>()
  const preview = usePreview(draft, id)
  const diff = useScheduleDiff(draft, onRename ? undefined : id, token)
  const fieldError = fieldErrors([error, preview.error])
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
        if (!invalid && !busy) onSave()
      }}
    >
      <UnsavedChangesGuard isDirty={isDirty || invalid !== undefined} />
      <div>
        <div className={classes.bar}>
          <SegmentedRadio
            aria-label="Edit as"
            value={view}
            onChange={setView}
            disabled={invalid !== undefined}
            data={[
              { value: 'form', label: 'Form' },
              { value: 'json', label: 'JSON' },
            ]}
          />
          <span className={classes.broken} role="status">
            {invalid}
          </span>
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <Button type="submit" loading={busy} disabled={invalid !== undefined} title={invalid ?? 'Ctrl-Enter'}>
            {onRename ? 'Create' : 'Save'}
          </Button>
        </div>
        {Boolean(error) && <ErrorState error={error} />}
        {onRename && (
          <section className={`panel ${classes.part}`}>
            <TextInput label="Id" description="What it is called, for ever" placeholder="report" required value={id} error={fieldError('schedule_id')} onChange={(event) => onRename(event.currentTarget.value)} />
          </section>
        )}
        {view === 'json' ? (
          <JsonInput draft={draft} onChange={onChange} invalid={invalid} onInvalid={setInvalid} />
        ) : (
          <>
            <section className={`panel ${classes.part}`} aria-label="When">
              <h2>When</h2>
              <TimingFields draft={draft} onChange={onChange} fieldError={fieldError} />
            </section>
            <section className={`panel ${classes.part}`} aria-label="What">
              <h2>What</h2>
              <ActionFields draft={draft} onChange={onChange} onInvalid={setInvalid} fieldError={fieldError} />
            </section>
            <Accordion variant="contained" classNames={{ item: classes.policies }}>
              <Accordion.Item value="policies">
                <Accordion.Control>How: overlap, catch-up, retries, limits</Accordion.Control>
                <Accordion.Panel>
                  <div className={classes.inner}>
                    <PolicyFields draft={draft} onChange={onChange} fieldError={fieldError} />
                  </div>
                </Accordion.Panel>
              </Accordion.Item>
            </Accordion>
          </>
        )}
      </div>
      <PreviewPanel preview={preview} diff={onRename ? undefined : diff} />
    </form>
  )
}

/** Say at each field what the service says of it: without its name, which stands there already. */
function fieldErrors(errors: unknown[]): FieldError {
  const apiErrors = errors.filter((item): item is ApiError => item instanceof ApiError)
  return (field, at) => {
    const prefixes = at === undefined ? [`${field}[`, `${field}.`] : [`${field}[${at}]`, ...(at === 0 ? [`${field}.`] : [])]
    const error = apiErrors.find((error) => (error.field === field && !at) || prefixes.some((start) => error.field?.startsWith(start)))
    return error?.message.replace(`${error.field}: `, '')
  }
}

/** Whoever leaves what they have not saved is asked first. */
function UnsavedChangesGuard({ isDirty }: { isDirty: boolean }) {
  const blocker = useBlocker({
    shouldBlockFn: ({ current, next }) => isDirty && current.pathname !== next.pathname,
    enableBeforeUnload: isDirty,
    withResolver: true,
  })
  if (blocker.status !== 'blocked') return null
  return (
    <ConfirmDialog title="Leave without saving?" confirmLabel="Leave" cancelLabel="Go on editing" isDangerous onConfirm={blocker.proceed} onClose={blocker.reset}>
      What you have changed here is not saved.
    </ConfirmDialog>
  )
}

interface JsonInputProps {
  draft: Draft
  onChange: (draft: Draft) => void
  invalid: string | undefined
  onInvalid: (reason?: string) => void
}

function JsonInput({ draft, onChange, invalid, onInvalid }: JsonInputProps) {
  const [input, setInput] = useState(() => JSON.stringify(draft, null, 2))
  return (
    <Textarea
      aria-label="The definition as JSON"
      autosize
      minRows={18}
      classNames={{ input: 'mono' }}
      value={input}
      error={invalid}
      spellCheck={false}
      onChange={(event) => {
        setInput(event.currentTarget.value)
        try {
          const document = JSON.parse(event.currentTarget.value) as Draft
          if (document === null || typeof document !== 'object' || Array.isArray(document)) throw new SyntaxError()
          onChange(toDraft(document))
          onInvalid()
        } catch {
          onInvalid('This is not a JSON object yet')
        }
      }}
    />
  )
}
