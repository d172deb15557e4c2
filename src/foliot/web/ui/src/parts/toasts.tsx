import { Notification } from '@mantine/core'
import { useSyncExternalStore } from 'react'

import { hintOf, messageOf } from '../api/problem'
import classes from './toasts.module.css'

interface Toast {
  id: number
  text: string
  hint?: string
  kind: 'done' | 'wrong'
}

const STAYS_MS = { done: 4_000, wrong: 10_000 }
let toasts: readonly Toast[] = []
let last = 0
const listeners = new Set<() => void>()

function change(next: readonly Toast[]): void {
  toasts = next
  listeners.forEach((each) => each())
}

function show(kind: Toast['kind'], text: string, hint?: string): void {
  const id = ++last
  change([...toasts.slice(-3), { id, text, hint, kind }])
  window.setTimeout(() => dismiss(id), STAYS_MS[kind])
}

function dismiss(id: number): void {
  change(toasts.filter((each) => each.id !== id))
}

export const say = (text: string) => show('done', text)
export const complain = (error: unknown) => show('wrong', messageOf(error), hintOf(error))

/** What was just done, or could not be, in a corner for a while. */
export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => toasts,
  )
  return (
    <div className={classes.corner} role="status" aria-live="polite">
      {shown.map((each) => (
        <Notification
          key={each.id}
          color={each.kind === 'done' ? 'verdigris' : 'red'}
          withBorder
          onClose={() => dismiss(each.id)}
          closeButtonProps={{ 'aria-label': 'Dismiss' }}
        >
          {each.text}
          {each.hint && <div>{each.hint}</div>}
        </Notification>
      ))}
    </div>
  )
}
