import type { Schedule, ScheduleDocument } from '../../api/types'
import { t } from '../../messages'

/** The definition of a schedule while it is edited: one flat document without default values. */
export type Draft = Record<string, unknown>

/** Return the error of a field, or of one of its items. */
export type FieldError = (field: string, at?: number) => string | undefined

export const NEW_DRAFT: Draft = { cron: ['0 9 * * MON-FRI'] }

/** The placeholder of a field whose default depends on the server. */
export const SERVER_DEFAULT = t('editor.serverDefault')

/** The id of a schedule and the fields that only the server writes. */
const SERVER_FIELDS: Record<Exclude<keyof Schedule, keyof ScheduleDocument>, true> = {
  schedule_id: true,
  namespace: true,
  status: true,
  definition_version: true,
  conflict_token: true,
  cursor: true,
  next_run_at: true,
  next_fire_at: true,
  in_flight: true,
  waiting: true,
  consecutive_failures: true,
  counters: true,
  paused_by: true,
  paused_at: true,
  paused_until: true,
  created_at: true,
  updated_at: true,
  degraded: true,
  warnings: true,
}

/** Return the draft of a schedule. It lacks the pause and the remaining runs, so that a save does not change them. */
export function draftOf(schedule: Schedule): Draft {
  const { paused: _paused, note: _note, remaining_actions: _remaining, ...draft } = toDraft(structuredClone(schedule))
  return draft
}

/** Convert a document to a draft. It can be a whole schedule. Its spec can be nested too. */
export function toDraft(document: object): Draft {
  const { spec, ...fields } = document as Draft
  const draft = Object.fromEntries(Object.entries(fields).filter(([name]) => !(name in SERVER_FIELDS)))
  return spec === undefined ? draft : withTriggerOnly({ ...draft, ...(spec as object | null) })
}

/** Return a draft with one field set, or removed if the value is empty. */
export function withField(draft: Draft, name: string, value: unknown): Draft {
  const next = { ...draft }
  if (isEmpty(value)) delete next[name]
  else next[name] = value
  return next
}

/** The fields that are sources of ticks. */
export const SOURCE_FIELDS = ['cron', 'intervals', 'calendars', 'rrules', 'times'] as const
export type SourceField = (typeof SOURCE_FIELDS)[number]

/** Return a draft with one source of ticks set, or removed if it has no values. */
export function withSource(draft: Draft, name: SourceField, values: unknown[]): Draft {
  return withTriggerOnly(withField(draft, name, values))
}

/** Return a draft that has an empty `cron` only if it has no source of ticks, so that it runs only when triggered. */
function withTriggerOnly(draft: Draft): Draft {
  const { cron, ...others } = draft
  if (!SOURCE_FIELDS.some((name) => hasValues(draft, name))) return { ...others, cron: [] }
  return isEmpty(cron) ? others : draft
}

export const hasValues = (draft: Draft, name: SourceField) => toList(draft[name]).length > 0

export function withExclude(draft: Draft, name: string, value: unknown[]): Draft {
  const exclude = { ...((draft.exclude ?? {}) as Record<string, unknown>) }
  if (value.length === 0) delete exclude[name]
  else exclude[name] = value
  return withField(draft, 'exclude', Object.keys(exclude).length > 0 ? exclude : undefined)
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)
}

export function toList(value: unknown): unknown[] {
  return value === undefined || value === null ? [] : Array.isArray(value) ? value : [value]
}

/** Split text at commas. */
export function splitCommas(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)
}

/** Split text into recurrence rules, one per line. A DTSTART line belongs to the rule below it. */
export function readRules(text: string): string[] {
  const lines = text
    .split('\n')
    .map((part) => part.trim())
    .filter(Boolean)
  return lines.join('\n').split(/(?<!^DTSTART.*)\n/im)
}

const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)

/** Merge two edits of `base`. A field that both changed keeps the value of `mine`. */
export function mergeDrafts(base: Draft, mine: Draft, theirs: Draft): Draft {
  const merged: Draft = { ...theirs }
  for (const name of new Set([...Object.keys(base), ...Object.keys(mine)])) {
    if (isSame(base[name], mine[name])) continue
    if (mine[name] === undefined) delete merged[name]
    else merged[name] = mine[name]
  }
  return merged
}

export function labelsText(labels: unknown): string {
  return Object.entries((labels ?? {}) as Record<string, string>)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ')
}

export function readLabels(text: string): Record<string, string> | undefined {
  const pairs = splitCommas(text).map((part) => {
    const [name = '', ...rest] = part.split('=')
    return [name.trim(), rest.join('=').trim()] as const
  })
  return pairs.length > 0 ? Object.fromEntries(pairs) : undefined
}
