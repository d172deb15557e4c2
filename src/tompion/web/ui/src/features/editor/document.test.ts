import { describe, expect, it } from 'vitest'

import {
  labelsText,
  mergeDrafts,
  readLabels,
  readRules,
  splitCommas,
  toDraft,
  toList,
  withExclude,
  withField,
  withSpec,
} from './document'

describe('mergeDrafts', () => {
  const base = { spec: { cron: ['0 9 * * *'], timezone: 'UTC' }, description: 'old', queue: 'a' }

  it('keeps the changes of both users', () => {
    const mine = { ...base, description: 'mine' }
    const theirs = { ...base, spec: { ...base.spec, timezone: 'Europe/Berlin' }, queue: 'b' }
    expect(mergeDrafts(base, mine, theirs)).toEqual({
      spec: { cron: ['0 9 * * *'], timezone: 'Europe/Berlin' },
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
    expect(mergeDrafts(base, mine, { ...base, queue: 'b' })).toEqual({ spec: base.spec, queue: 'b' })
  })
})

describe('drafts', () => {
  it('leaves out empty values', () => {
    const draft = { spec: { timezone: 'UTC' }, queue: 'a' }
    expect(withField(draft, 'queue', '')).toEqual({ spec: { timezone: 'UTC' } })
    expect(withSpec(draft, 'timezone', undefined)).toEqual({ spec: {}, queue: 'a' })
    expect(withExclude(withExclude(draft, 'dates', ['2026-12-25']), 'dates', [])).toEqual(draft)
  })

  it('accepts a document with the fields of the spec at the top', () => {
    const draft = { spec: { cron: '0 9 * * *', timezone: 'UTC' }, function: 'tasks:report' }
    expect(toDraft({ cron: '0 9 * * *', timezone: 'UTC', function: 'tasks:report' })).toEqual(draft)
    expect(toDraft(draft)).toEqual(draft)
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
