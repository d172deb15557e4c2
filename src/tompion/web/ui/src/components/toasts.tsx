import { Button, Notification } from '@mantine/core'
import { useSyncExternalStore } from 'react'
import { errorHint, errorMessage } from '../api/errors'
import { t } from '../messages'
import classes from './toasts.module.css'

interface Toast {
  id: number
  text: string
  hint?: string
  kind: 'success' | 'error'
  undo?: () => void
}

const DURATION_MS = { success: 4_000, error: 10_000 }
const UNDO_DURATION_MS = 12_000
let toasts: readonly Toast[] = []
let lastId = 0
const listeners = new Set<() => void>()

function setToasts(next: readonly Toast[]): void {
  toasts = next
  for (const listener of listeners) listener()
}

function show(toast: Omit<Toast, 'id'>): void {
  const id = ++lastId
  setToasts([...toasts.slice(-3), { ...toast, id }])
  window.setTimeout(() => dismiss(id), toast.undo ? UNDO_DURATION_MS : DURATION_MS[toast.kind])
}

function dismiss(id: number): void {
  setToasts(toasts.filter((toast) => toast.id !== id))
}

/** Show a message for a while, with a button to undo the action if `undo` is given. */
export const showToast = (text: string, undo?: () => void) => show({ kind: 'success', text, undo })
export const showError = (error: unknown) => show({ kind: 'error', text: errorMessage(error), hint: errorHint(error) })

/** The messages about finished and failed actions, in a corner of the window. */
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
          color={toast.kind === 'success' ? 'verdigris' : 'red'}
          withBorder
          onClose={() => dismiss(toast.id)}
          closeButtonProps={{ 'aria-label': t('common.dismiss') }}
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
              {t('common.undo')}
            </Button>
          )}
        </Notification>
      ))}
    </div>
  )
}
