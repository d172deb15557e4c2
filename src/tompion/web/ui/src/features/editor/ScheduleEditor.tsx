import { Accordion, Button, Textarea, TextInput } from '@mantine/core'
import { useBlocker } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import { ApiError } from '../../api/errors'
import { ConfirmDialog } from '../../components/ConfirmDialog'
import { SegmentedRadio } from '../../components/SegmentedRadio'
import { ErrorState } from '../../components/states'
import { sentenceText } from '../../lib/format'
import { t } from '../../messages'
import { ActionFields } from './ActionFields'
import { type Draft, type FieldError, toDraft } from './document'
import classes from './Editor.module.css'
import { PolicyFields } from './PolicyFields'
import { PreviewPanel, usePreview, useScheduleDiff } from './PreviewPanel'
import { TimingFields } from './TimingFields'

interface Props {
  draft: Draft
  onChange: (draft: Draft) => void
  /** The id of the schedule. The id of a new schedule is an input. */
  id: string
  onRename?: (id: string) => void
  conflictToken?: number
  /** Whether there are unsaved changes. */
  isDirty: boolean
  error: unknown
  busy: boolean
  onSave: () => void
  onCancel: () => void
}

/** Edits a definition as a form or as JSON, with a preview beside it. */
export function ScheduleEditor({
  draft,
  onChange,
  id,
  onRename,
  conflictToken,
  isDirty,
  error,
  busy,
  onSave,
  onCancel,
}: Props) {
  const form = useRef<HTMLFormElement>(null)
  const [view, setView] = useState('form')
  const [invalid, setInvalid] = useState<string | undefined>()
  const preview = usePreview(draft, id)
  const diff = useScheduleDiff(draft, onRename ? undefined : id, conflictToken)
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
            aria-label={t('editor.view')}
            value={view}
            onChange={setView}
            disabled={invalid !== undefined}
            data={[
              { value: 'form', label: t('editor.form') },
              { value: 'json', label: t('editor.json') },
            ]}
          />
          <span className={classes.invalid} role="status">
            {invalid}
          </span>
          <Button variant="default" onClick={onCancel}>
            {t('common.cancel')}
          </Button>
          <Button
            type="submit"
            loading={busy}
            disabled={invalid !== undefined}
            title={invalid ?? t('editor.saveShortcut')}
          >
            {t(onRename ? 'common.create' : 'common.save')}
          </Button>
        </div>
        {Boolean(error) && <ErrorState error={error} />}
        {onRename && (
          <section className={`panel ${classes.part}`}>
            <TextInput
              label={t('editor.id')}
              description={t('editor.idHelp')}
              placeholder="report"
              required
              value={id}
              error={fieldError('schedule_id')}
              onChange={(event) => onRename(event.currentTarget.value)}
            />
          </section>
        )}
        {view === 'json' ? (
          <JsonInput draft={draft} onChange={onChange} invalid={invalid} onInvalid={setInvalid} />
        ) : (
          <>
            <section className={`panel ${classes.part}`} aria-label={t('editor.timing')}>
              <h2>{t('editor.timing')}</h2>
              <TimingFields draft={draft} onChange={onChange} fieldError={fieldError} />
            </section>
            <section className={`panel ${classes.part}`} aria-label={t('editor.action')}>
              <h2>{t('editor.action')}</h2>
              <ActionFields draft={draft} onChange={onChange} onInvalid={setInvalid} fieldError={fieldError} />
            </section>
            <Accordion variant="contained" classNames={{ item: classes.policies }}>
              <Accordion.Item value="policies">
                <Accordion.Control>{t('editor.policies')}</Accordion.Control>
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

/** Return the errors of the API by field, without the name of the field, which the label shows already. */
function fieldErrors(errors: unknown[]): FieldError {
  const apiErrors = errors.filter((item): item is ApiError => item instanceof ApiError)
  return (field, at) => {
    const prefixes =
      at === undefined ? [`${field}[`, `${field}.`] : [`${field}[${at}]`, ...(at === 0 ? [`${field}.`] : [])]
    const error = apiErrors.find(
      (error) => (error.field === field && !at) || prefixes.some((start) => error.field?.startsWith(start)),
    )
    return error && sentenceText(error.message.replace(`${error.field}: `, ''))
  }
}

/** Confirms a navigation that would discard unsaved changes. */
function UnsavedChangesGuard({ isDirty }: { isDirty: boolean }) {
  const blocker = useBlocker({
    shouldBlockFn: ({ current, next }) => isDirty && current.pathname !== next.pathname,
    enableBeforeUnload: isDirty,
    withResolver: true,
  })
  if (blocker.status !== 'blocked') return null
  return (
    <ConfirmDialog
      title={t('editor.discardTitle')}
      confirmLabel={t('editor.discard')}
      cancelLabel={t('editor.keepEditing')}
      isDangerous
      onConfirm={blocker.proceed}
      onClose={blocker.reset}
    >
      {t('editor.discardHelp')}
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
      aria-label={t('editor.jsonDefinition')}
      autosize
      minRows={18}
      classNames={{ input: 'mono' }}
      value={input}
      error={invalid}
      spellCheck={false}
      onChange={(event) => {
        setInput(event.currentTarget.value)
        try {
          const document = JSON.parse(event.currentTarget.value) as unknown
          if (document === null || typeof document !== 'object' || Array.isArray(document)) throw new SyntaxError()
          onChange(toDraft(document))
          onInvalid()
        } catch {
          onInvalid(t('common.invalidJson'))
        }
      }}
    />
  )
}
