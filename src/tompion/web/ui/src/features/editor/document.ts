import type { ScheduleDocument } from '../../api/types'

/** A definition as it is edited: what is as by default is left out. */
export interface Draft {
  spec: Record<string, unknown>
  [name: string]: unknown
}

/** What the service says is wrong with a field, or with one of the things in it. */
export type WrongAt = (field: string, at?: number) => string | undefined

export const FIRST: Draft = { spec: { cron: ['0 9 * * MON-FRI'] } }

/** What stands where nothing was said, and the service has a default of its own. */
export const UNSAID = 'as the service is set'

export function draftOf(definition: ScheduleDocument): Draft {
  return structuredClone(definition) as unknown as Draft
}

/** A draft with one field set, or without it. */
export function withField(draft: Draft, name: string, value: unknown): Draft {
  const next = { ...draft }
  if (isNothing(value)) delete next[name]
  else next[name] = value
  return next
}

export function withSpec(draft: Draft, name: string, value: unknown): Draft {
  const spec = { ...draft.spec }
  if (isNothing(value)) delete spec[name]
  else spec[name] = value
  return { ...draft, spec }
}

export function withExclude(draft: Draft, name: string, value: unknown[]): Draft {
  const exclude = { ...((draft.spec.exclude ?? {}) as Record<string, unknown>) }
  if (value.length === 0) delete exclude[name]
  else exclude[name] = value
  return withSpec(draft, 'exclude', Object.keys(exclude).length > 0 ? exclude : undefined)
}

const OF_SPEC = [
  'cron', 'calendars', 'intervals', 'rrules', 'times', 'exclude', 'timezone', 'start_at', 'end_at', 'jitter_ms', 'jitter_mode',
  'jitter_seed', 'dst_gap', 'dst_overlap', 'dst_profile', 'dialect',
]

/** A document as it may be sent, with its spec at the top or by itself, as a draft. */
export function gathered(read: Record<string, unknown>): Draft {
  const entries = Object.entries(read)
  if ('spec' in read) return { ...read, spec: (read.spec ?? {}) as Draft['spec'] }
  const spec = Object.fromEntries(entries.filter(([name]) => OF_SPEC.includes(name)))
  return { ...Object.fromEntries(entries.filter(([name]) => !OF_SPEC.includes(name))), spec }
}

function isNothing(value: unknown): boolean {
  return value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)
}

export function listOf(value: unknown): unknown[] {
  return value === undefined || value === null ? [] : Array.isArray(value) ? value : [value]
}

/** What is written with commas between. */
export function textList(text: string): string[] {
  return text
    .split(',')
    .map((each) => each.trim())
    .filter(Boolean)
}

/** Rules, one a line; a line with a DTSTART belongs to the rule below it. */
export function readRules(text: string): string[] {
  const lines = text
    .split('\n')
    .map((each) => each.trim())
    .filter(Boolean)
  return lines.join('\n').split(/(?<!^DTSTART.*)\n/im)
}

const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)

/** What I have changed since `base`, on top of what somebody else has made of it meanwhile. */
export function merged(base: Draft, mine: Draft, theirs: Draft): Draft {
  const mix = (before: Record<string, unknown>, ours: Record<string, unknown>, other: Record<string, unknown>) => {
    const found: Record<string, unknown> = { ...other }
    for (const name of new Set([...Object.keys(before), ...Object.keys(ours)])) {
      if (same(before[name], ours[name])) continue
      if (ours[name] === undefined) delete found[name]
      else found[name] = ours[name]
    }
    return found
  }
  return { ...mix({ ...base, spec: {} }, { ...mine, spec: {} }, theirs), spec: mix(base.spec, mine.spec, theirs.spec) }
}

export function labelsText(labels: unknown): string {
  return Object.entries((labels ?? {}) as Record<string, string>)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ')
}

export function readLabels(text: string): Record<string, string> | undefined {
  const pairs = textList(text).map((each) => {
    const [name = '', ...rest] = each.split('=')
    return [name.trim(), rest.join('=').trim()] as const
  })
  return pairs.length > 0 ? Object.fromEntries(pairs) : undefined
}
