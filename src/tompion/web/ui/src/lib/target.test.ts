import { describe, expect, it } from 'vitest'

import { executorTarget, readExecutorTarget, targetText, withExecutorTarget } from './target'

const HTTP = { spec: {}, queue: 'a', http: { url: 'https://a.example' } }

describe('executor targets', () => {
  it('finds the field that names an executor', () => {
    expect(executorTarget(HTTP)).toEqual({ http: { url: 'https://a.example' } })
    expect(executorTarget({ function: 'tasks:a', http: null })).toBeUndefined()
  })

  it('replaces and removes it', () => {
    expect(withExecutorTarget(HTTP, { command: 'backup' })).toEqual({ spec: {}, queue: 'a', command: 'backup' })
    expect(withExecutorTarget(HTTP)).toEqual({ spec: {}, queue: 'a' })
  })

  it('reads it from JSON', () => {
    expect(readExecutorTarget('{"command": "backup"}')).toEqual({ command: 'backup' })
    expect(readExecutorTarget('{"command": "backup", "http": {}}')).toBeUndefined()
    expect(readExecutorTarget('{"function": "tasks:a"}')).toBeUndefined()
    expect(readExecutorTarget('{')).toBeUndefined()
    expect(readExecutorTarget('null')).toBeUndefined()
  })

  it('describes every kind of target', () => {
    expect(targetText({ function: 'tasks:a' })).toBe('tasks:a')
    expect(targetText({ workflow_id: 'flow' })).toBe('flow')
    expect(targetText({ command: 'backup' })).toBe('command backup')
    expect(targetText(HTTP)).toBe('http https://a.example')
    expect(targetText({ celery: { task: 'shop.close', queue: 'fast' } })).toBe('celery shop.close')
    expect(targetText({ spec: {} })).toBeUndefined()
  })
})
