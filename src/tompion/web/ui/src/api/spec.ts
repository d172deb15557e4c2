import type { ScheduleDocument } from './types'

type Fields = Record<string, unknown>

/** The fields of a schedule that say when it runs. */
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
] as const satisfies (keyof ScheduleDocument)[]

/** Return the fields of a schedule that say when it runs. A preview accepts no others. */
export function specFields(document: object): Fields {
  const fields = document as Fields
  return Object.fromEntries(SPEC_FIELDS.filter((name) => name in fields).map((name) => [name, fields[name]]))
}
