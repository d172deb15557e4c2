import { isValidElement, type ReactElement } from 'react'
import { describe, expect, it } from 'vitest'
import { sources } from '../testing/sources'
import { codesOf, codeText, numberText, rich, t } from '.'
import { en } from './en'

const PLACEHOLDERS = /\{(\w+)\}/g
/** Prefixes of keys that the sources build from a code. */
const CODE_PREFIXES = ['field.', 'outcome.', 'overview.hour', 'overview.day']

const placeholders = (text: string) => [...text.matchAll(PLACEHOLDERS)].map(([, name]) => name).sort()

describe('t', () => {
  it('fills in values', () => expect(t('palette.pause', { id: 'report' })).toBe('Pause report'))

  it('formats numbers', () => {
    expect(t('schedules.capped', { count: 100_000 })).toBe('100,000+')
    expect(numberText(1_234_567)).toBe('1,234,567')
  })

  it('chooses the plural form', () => {
    expect(t('heat.runs', { count: 1 })).toBe('1 run')
    expect(t('heat.runs', { count: 0 })).toBe('0 runs')
    expect(t('heat.runs', { count: 12_000 })).toBe('12,000 runs')
  })

  it('does not interpret braces in a value', () => expect(t('palette.pause', { id: '{id}' })).toBe('Pause {id}'))
})

it('rich keeps elements as values', () => {
  const parts = rich('error.seeSection', { section: <b /> }) as ReactElement<{ children: unknown }>[]
  expect(parts.map(({ props }) => (isValidElement(props.children) ? 'element' : props.children))).toEqual([
    'See ',
    'element',
    '.',
  ])
})

describe('codes of the API', () => {
  it('have a message, or are shown as they are', () => {
    expect(codeText('runState', 'TIMED_OUT')).toBe('Timed out')
    expect(codeText('runReason', 'from_the_future')).toBe('from_the_future')
  })

  it('are listed in the order of the catalogue', () => {
    expect(codesOf('runState')[0]).toBe('SUCCESS')
    expect(codesOf('runState')).toHaveLength(10)
  })
})

describe('the catalogue', () => {
  const messages = Object.entries<string | { one: string; other: string }>(en)

  it('uses the same placeholders in both plural forms', () => {
    for (const [key, message] of messages)
      if (typeof message !== 'string') {
        expect(placeholders(message.other), key).toContain('count')
        for (const name of placeholders(message.one)) expect(placeholders(message.other), key).toContain(name)
      }
  })

  it('has no empty message', () => {
    for (const [key, message] of messages)
      for (const text of typeof message === 'string' ? [message] : [message.one, message.other])
        expect(text.trim(), key).not.toBe('')
  })

  it('has "Cancel" as the only word for leaving a dialog', () => {
    const cancelling = messages.filter(([, message]) => message === 'Cancel').map(([key]) => key)
    expect(cancelling).toEqual(['common.cancel'])
  })

  it('has no key that the sources do not use', () => {
    const text = Object.values(sources()).join('\n')
    const groups = [...text.matchAll(/code(?:Text|sOf)\('(\w+)'/g)].map(([, group]) => `${group}.`)
    const isUsed = (key: string) =>
      text.includes(`'${key}'`) || [...groups, ...CODE_PREFIXES].some((prefix) => key.startsWith(prefix))
    expect(messages.map(([key]) => key).filter((key) => !isUsed(key))).toEqual([])
  })
})
