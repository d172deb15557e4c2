import { editor } from './editor'
import { overview } from './overview'
import { resources } from './resources'
import { runs } from './runs'
import { schedules } from './schedules'
import { shared } from './shared'

/**
 * Every text of the web UI, in English. A message with `one` and `other` has a `{count}`.
 * A translation is a folder with the same keys.
 */
export const en = { ...shared, ...runs, ...overview, ...schedules, ...editor, ...resources } as const
