import { expect, it } from 'vitest'

import { diffDocuments } from './Diff'

it('lists the fields that differ', () => {
  const before = { spec: { cron: ['0 9 * * *'] }, queue: 'a', note: 'x' }
  const after = { spec: { cron: ['0 10 * * *'] }, queue: 'a', labels: [['team', 'billing']] }
  expect(diffDocuments(before, after)).toEqual([
    { path: 'labels.team', before: undefined, after: '"billing"' },
    { path: 'note', before: '"x"', after: undefined },
    { path: 'spec.cron.0', before: '"0 9 * * *"', after: '"0 10 * * *"' },
  ])
})

it('treats empty values as missing', () =>
  expect(diffDocuments({ note: '', labels: {}, list: [] }, { note: null })).toEqual([]))

it('leaves the defaults out of a new document', () =>
  expect(diffDocuments(null, { policy: { overlap_policy: 'skip', max_attempts: 3 } })).toEqual([
    { path: 'policy.max_attempts', before: undefined, after: '3' },
  ]))
