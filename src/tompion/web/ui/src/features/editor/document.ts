import type { ScheduleDocument } from '../../api/types'
import { t } from '../../messages'

/** A definition while it is edited, without default values. */
export interface Draft {
  spec: Record<string, unknown>
  [name: string]: unknown
}

/** Return the error of a field, or of one of its items. */
export type FieldError = (field: string, at?: number) => string | undefined

export const NEW_DRAFT: Draft = { spec: { cron: ['0 9 * * MON-FRI'] } }

/** The placeholder of a field whose default depends on the server. */
export const SERVER_DEFAULT = t('editor.serverDefault')

export function draftOf(definition: ScheduleDocument): Draft {
  return structuredClone(definition) as unknown as Draft
}

/** Return a draft with one field set, or removed if the value is empty. */
export function withField(draft: Draft, name: string, value: unknown): Draft {
  const next = { ...draft }
  if (isEmpty(value)) delete next[name]
  else next[name] = value
  return next
}

export function withSpec(draft: Draft, name: string, value: unknown): Draft {
  const spec = { ...draft.spec }
  if (isEmpty(value)) delete spec[name]
  else spec[name] = value
  return { ...draft, spec }
}

export function withExclude(draft: Draft, name: string, value: unknown[]): Draft {
  const exclude = { ...((draft.spec.exclude ?? {}) as Record<string, unknown>) }
  if (value.length === 0) delete exclude[name]
  else exclude[name] = value
  return withSpec(draft, 'exclude', Object.keys(exclude).length > 0 ? exclude : undefined)
}

const SPEC_FIELDS = [
  'cron',
  'calendars',
  'intervals',
  'rrules',
  'times',
  'exclude',
  'timezone',
  'start_at',
  'end_at',
  'jitter_ms',
  'jitter_mode',
  'jitter_seed',
  'dst_gap',
  'dst_overlap',
  'dst_profile',
  'dialect',
]

/** Convert a document to a draft. Its spec can be nested, or its fields can stand at the top level. */
export function toDraft(document: Record<string, unknown>): Draft {
  const entries = Object.entries(document)
  if ('spec' in document) return { ...document, spec: (document.spec ?? {}) as Draft['spec'] }
  const spec = Object.fromEntries(entries.filter(([name]) => SPEC_FIELDS.includes(name)))
  return { ...Object.fromEntries(entries.filter(([name]) => !SPEC_FIELDS.includes(name))), spec }
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
  const mergeFields = (
    before: Record<string, unknown>,
    edited: Record<string, unknown>,
    theirs: Record<string, unknown>,
  ) => {
    const fields: Record<string, unknown> = { ...theirs }
    for (const name of new Set([...Object.keys(before), ...Object.keys(edited)])) {
      if (isSame(before[name], edited[name])) continue
      if (edited[name] === undefined) delete fields[name]
      else fields[name] = edited[name]
    }
    return fields
  }
  return {
    ...mergeFields({ ...base, spec: {} }, { ...mine, spec: {} }, theirs),
    spec: mergeFields(base.spec, mine.spec, theirs.spec),
  }
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
