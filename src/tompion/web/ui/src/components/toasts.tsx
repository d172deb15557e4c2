import { Button, Notification } from '@mantine/core'
import { useSyncExternalStore } from 'react'

import { errorHint, errorMessage } from '../api/errors'
import classes from './toasts.module.css'

interface Toast {
  id: number
  text: string
  hint?: string
  kind: 'done' | 'wrong'
  undo?: () => void
}

const DURATION_MS = { done: 4_000, wrong: 10_000 }
const UNDO_DURATION_MS = 12_000
let toasts: readonly Toast[] = []
let lastId = 0
const listeners = new Set<() => void>()

function setToasts(next: readonly Toast[]): void {
  toasts = next
  listeners.forEach((listener) => listener())
}

function show(toast: Omit<Toast, 'id'>): void {
  const id = ++lastId
  setToasts([...toasts.slice(-3), { ...toast, id }])
  window.setTimeout(() => dismiss(id), toast.undo ? UNDO_DURATION_MS : DURATION_MS[toast.kind])
}

function dismiss(id: number): void {
  setToasts(toasts.filter((toast) => toast.id !== id))
}

/** Say what was done, and offer to take it back where that can be. */
export const showToast = (text: string, undo?: () => void) => show({ kind: 'done', text, undo })
export const showError = (error: unknown) => show({ kind: 'wrong', text: errorMessage(error), hint: errorHint(error) })

/** What was just done, or could not be, in a corner for a while. */
export function Toasts() {
  const visible = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => toasts,
  )
  return (
    <div className={classes.corner} role="status" aria-live="polite">
      {visible.map((toast) => (
        <Notification
          key={toast.id}
          color={toast.kind === 'done' ? 'verdigris' : 'red'}
          withBorder
          onClose={() => dismiss(toast.id)}
          closeButtonProps={{ 'aria-label': 'Dismiss' }}
        >
          {toast.text}
          {toast.hint && <div>{toast.hint}</div>}
          {toast.undo && (
            <Button
              variant="default"
              size="compact-xs"
              mt={6}
              onClick={() => {
                dismiss(toast.id)
                toast.undo?.()
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
