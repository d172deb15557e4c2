import { describe, expect, it } from 'vitest'

import { specFields } from '../../api/spec'
import type { Schedule } from '../../api/types'
import {
  draftOf,
  labelsText,
  mergeDrafts,
  readLabels,
  readRules,
  splitCommas,
  toDraft,
  toList,
  withExclude,
  withField,
  withSource,
} from './document'

describe('mergeDrafts', () => {
  const base = { cron: ['0 9 * * *'], timezone: 'UTC', description: 'old', queue: 'a' }

  it('keeps the changes of both users', () => {
    const mine = { ...base, description: 'mine' }
    const theirs = { ...base, timezone: 'Europe/Berlin', queue: 'b' }
    expect(mergeDrafts(base, mine, theirs)).toEqual({
      cron: ['0 9 * * *'],
      timezone: 'Europe/Berlin',
      description: 'mine',
      queue: 'b',
    })
  })

  it('prefers mine where both changed the same field', () => {
    const merged = mergeDrafts(base, { ...base, queue: 'mine' }, { ...base, queue: 'theirs' })
    expect(merged.queue).toBe('mine')
  })

  it('keeps a removal', () => {
    const { description: _, ...mine } = base
    expect(mergeDrafts(base, mine, { ...base, queue: 'b' })).toEqual({ ...mine, queue: 'b' })
  })
})

describe('drafts', () => {
  it('leaves out empty values', () => {
    const draft = { timezone: 'UTC', queue: 'a' }
    expect(withField(draft, 'queue', '')).toEqual({ timezone: 'UTC' })
    expect(withField(draft, 'timezone', undefined)).toEqual({ queue: 'a' })
    expect(withExclude(withExclude(draft, 'dates', ['2026-12-25']), 'dates', [])).toEqual(draft)
  })

  it('has an empty cron only without any source of ticks', () => {
    const draft = { cron: ['0 9 * * *'], timezone: 'UTC' }
    const triggerOnly = withSource(draft, 'cron', [])
    expect(triggerOnly).toEqual({ cron: [], timezone: 'UTC' })
    expect(withSource(triggerOnly, 'intervals', ['90m'])).toEqual({ intervals: ['90m'], timezone: 'UTC' })
    expect(withSource(draft, 'times', [])).toEqual(draft)
  })

  it('accepts a document with a nested spec', () => {
    const draft = { cron: '0 9 * * *', timezone: 'UTC', function: 'tasks:report' }
    expect(toDraft(draft)).toEqual(draft)
    expect(toDraft({ spec: { cron: '0 9 * * *', timezone: 'UTC' }, function: 'tasks:report' })).toEqual(draft)
    expect(toDraft({ spec: {}, function: 'tasks:report' })).toEqual({ cron: [], function: 'tasks:report' })
  })

  it('lacks the state of the schedule', () => {
    const definition = { cron: [], timezone: 'UTC', function: 'tasks:report' }
    const state = { schedule_id: 'report', status: 'paused', conflict_token: 3, counters: { starts: 1 } }
    const document = { ...definition, ...state, paused: true, note: 'later', remaining_actions: 2 }
    expect(draftOf(document as unknown as Schedule)).toEqual(definition)
    expect(toDraft(document)).toEqual({ ...definition, paused: true, note: 'later', remaining_actions: 2 })
    expect(specFields(document)).toEqual({ cron: [], timezone: 'UTC' })
  })
})

describe('texts', () => {
  it('reads and writes labels', () => {
    expect(readLabels('team=billing, query=a=b,')).toEqual({ team: 'billing', query: 'a=b' })
    expect(readLabels(' ')).toBeUndefined()
    expect(labelsText({ team: 'billing', tier: 'gold' })).toBe('team=billing, tier=gold')
  })

  it('keeps a DTSTART with its rule', () =>
    expect(readRules('DTSTART:20260101T000000\nFREQ=DAILY\n\nFREQ=WEEKLY')).toEqual([
      'DTSTART:20260101T000000\nFREQ=DAILY',
      'FREQ=WEEKLY',
    ]))

  it('splits lists', () => {
    expect(splitCommas(' DE-BY, ,AT ')).toEqual(['DE-BY', 'AT'])
    expect([toList(undefined), toList(null), toList('a'), toList(['a'])]).toEqual([[], [], ['a'], ['a']])
  })
})
