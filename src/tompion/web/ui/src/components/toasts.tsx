import { Button, Notification } from '@mantine/core'
import { useSyncExternalStore } from 'react'

import { hintOf, messageOf } from '../api/problem'
import classes from './toasts.module.css'

interface Toast {
  id: number
  text: string
  hint?: string
  kind: 'done' | 'wrong'
  undo?: () => void
}

const STAYS_MS = { done: 4_000, wrong: 10_000 }
const TO_UNDO_MS = 12_000
let toasts: readonly Toast[] = []
let last = 0
const listeners = new Set<() => void>()

function change(next: readonly Toast[]): void {
  toasts = next
  listeners.forEach((each) => each())
}

function show(toast: Omit<Toast, 'id'>): void {
  const id = ++last
  change([...toasts.slice(-3), { ...toast, id }])
  window.setTimeout(() => dismiss(id), toast.undo ? TO_UNDO_MS : STAYS_MS[toast.kind])
}

function dismiss(id: number): void {
  change(toasts.filter((each) => each.id !== id))
}

/** Say what was done, and offer to take it back where that can be. */
export const say = (text: string, undo?: () => void) => show({ kind: 'done', text, undo })
export const complain = (error: unknown) => show({ kind: 'wrong', text: messageOf(error), hint: hintOf(error) })

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
          {each.undo && (
            <Button
              variant="default"
              size="compact-xs"
              mt={6}
              onClick={() => {
                dismiss(each.id)
                each.undo?.()
              }}
            >
              Undo
            </Button>
          )}
        </Notification>
      ))}
    </div>
  )
}
