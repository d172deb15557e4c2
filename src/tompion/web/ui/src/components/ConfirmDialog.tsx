import { Button, Group } from '@mantine/core'
import type { ReactNode } from 'react'
import { t } from '../messages'

import { Dialog } from './Dialog'

interface Props {
  title: string
  confirmLabel: string
  cancelLabel?: string
  isDangerous?: boolean
  busy?: boolean
  disabled?: boolean
  onConfirm: () => void
  onClose: () => void
  children?: ReactNode
}

/** Confirmation of an action that is hard to undo. */
export function ConfirmDialog({
  title,
  confirmLabel,
  cancelLabel = t('common.cancel'),
  isDangerous,
  busy,
  disabled,
  onConfirm,
  onClose,
  children,
}: Props) {
  return (
    <Dialog onClose={onClose} title={title}>
      {children}
      <Group justify="flex-end" mt="md">
        <Button variant="default" onClick={onClose}>
          {cancelLabel}
        </Button>
        <Button
          color={isDangerous ? 'red' : undefined}
          loading={busy}
          disabled={disabled}
          onClick={onConfirm}
          data-autofocus
        >
          {confirmLabel}
        </Button>
      </Group>
    </Dialog>
  )
}
