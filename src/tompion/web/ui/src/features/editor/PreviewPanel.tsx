import { Badge } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { ApiError } from '../../api/errors'
import { previewQuery, scheduleDiffQuery } from '../../api/queries'
import { specFields } from '../../api/spec'
import type { Preview, ScheduleDiff } from '../../api/types'
import { ErrorState } from '../../components/states'
import { RelativeTime } from '../../components/Timestamp'
import { instantText } from '../../lib/format'
import { displayZone, useZoneChoice } from '../../lib/timezones'
import { codeText, rich, t } from '../../messages'
import type { Draft } from './document'
import classes from './Editor.module.css'

const PREVIEW_COUNT = 20
const DEBOUNCE_MS = 250

/** Load the preview of a spec after a pause in typing. */
export function usePreview(draft: Draft, id: string) {
  const [debouncedDraft] = useDebouncedValue(draft, DEBOUNCE_MS)
  return useQuery(previewQuery(specFields(debouncedDraft), PREVIEW_COUNT, id))
}

/** Load the difference that a draft makes to the upcoming runs of a schedule. */
export function useScheduleDiff(draft: Draft, id: string | undefined, conflictToken: number | undefined) {
  const [debouncedDraft] = useDebouncedValue(draft, DEBOUNCE_MS)
  return useQuery(scheduleDiffQuery(id, debouncedDraft, conflictToken, PREVIEW_COUNT))
}

type QueryResult<T> = { data: T | undefined; error: unknown; isError: boolean }

/** The meaning of a draft, its next runs and its effect, beside the form. */
export function PreviewPanel({ preview, diff }: { preview: QueryResult<Preview>; diff?: QueryResult<ScheduleDiff> }) {
  const choice = useZoneChoice()
  if (preview.isError) return <ErrorState error={preview.error} />
  if (!preview.data) return null
  const { explanation, findings, ticks, clock_changes: changes, timezone } = preview.data
  const zone = displayZone(choice, timezone)
  return (
    <div aria-live="polite">
      <section className={`panel ${classes.preview}`} aria-label={t('preview.summary')}>
        <p className={classes.explanation}>{explanation}</p>
        {findings.map((finding) => (
          <div key={`${finding.code} ${finding.field}`} className={classes.finding} data-severity={finding.severity}>
            <Badge color={finding.severity === 'error' ? 'red' : finding.severity === 'warning' ? 'yellow' : 'gray'}>
              {codeText('severity', finding.severity)}
            </Badge>{' '}
            {finding.message}
            {finding.hint && <div className="dim">{finding.hint}</div>}
          </div>
        ))}
      </section>
      {diff && <DiffSection diff={diff} zone={zone} />}
      <section className={`panel ${classes.preview}`} aria-label={t('preview.nextRuns')}>
        <h2>{t('preview.nextRunsTitle', { count: ticks.length })}</h2>
        {ticks.length === 0 && <p className="dim">{t('preview.never')}</p>}
        <ol className={classes.ticks}>
          {ticks.map((tick) => (
            <li key={tick.at}>
              <span className="nowrap">{instantText(tick.at, zone)}</span>
              <span className="dim">
                <RelativeTime at={tick.at} />
              </span>
              {tick.reason && <span className={classes.reason}>{tick.reason}</span>}
            </li>
          ))}
        </ol>
        <p className="dim">
          {zone === timezone ? t('preview.shownIn', { zone }) : t('preview.shownInOther', { zone, other: timezone })}
        </p>
      </section>
      <section className={`panel ${classes.preview}`} aria-label={t('preview.dstChanges')}>
        <h2>{t('preview.dstChanges')}</h2>
        {changes.length === 0 ? (
          <p className="dim">{t('preview.noDstChanges', { zone: timezone })}</p>
        ) : (
          changes.map((change) => (
            <div key={change.at} className={classes.change}>
              {rich('preview.dstChange', { day: <strong>{change.before.slice(0, 10)}</strong>, text: change.text })}
            </div>
          ))
        )}
      </section>
    </div>
  )
}

const SIGNS: Record<string, string> = { removed: '−', added: '+' }
const CHANGE_LABELS: Record<string, string> = { removed: t('preview.removed'), added: t('preview.added') }

function DiffSection({ diff, zone }: { diff: QueryResult<ScheduleDiff>; zone: string }) {
  if (diff.isError) {
    const { error } = diff
    return error instanceof ApiError ? <ErrorState error={error} /> : null
  }
  if (!diff.data) return null
  const { ticks, unchanged, removed, added } = diff.data
  const changed = ticks.filter((tick) => tick.change !== 'unchanged')
  return (
    <section className={`panel ${classes.preview}`} aria-label={t('preview.effect')}>
      <h2>{t('preview.effect')}</h2>
      {changed.length === 0 ? (
        <p className="dim">{t('preview.noEffect', { count: unchanged })}</p>
      ) : (
        <>
          <p>{t('preview.effectSummary', { count: ticks.length, removed, added, unchanged })}</p>
          <ol className={classes.changes}>
            {changed.map((tick) => (
              <li key={tick.at} data-change={tick.change}>
                <span aria-hidden="true">{SIGNS[tick.change]}</span> {instantText(tick.at, zone)}{' '}
                <span className="dim">{CHANGE_LABELS[tick.change]}</span>
              </li>
            ))}
          </ol>
        </>
      )}
    </section>
  )
}
