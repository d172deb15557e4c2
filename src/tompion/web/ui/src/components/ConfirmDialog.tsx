import { Button, Group } from '@mantine/core'
import type { ReactNode } from 'react'

import { Dialog } from './Dialog'

interface Props {
  title: string
  yes: string
  no?: string
  danger?: boolean
  busy?: boolean
  disabled?: boolean
  onYes: () => void
  onClose: () => void
  children?: ReactNode
}

/** A question before something that cannot simply be taken back. */
export function Ask({ title, yes, no = 'Leave it as it is', danger, busy, disabled, onYes, onClose, children }: Props) {
  return (
    <Dialog onClose={onClose} title={title}>
      {children}
      <Group justify="flex-end" mt="md">
        <Button variant="default" onClick={onClose}>
          {no}
        </Button>
        <Button color={danger ? 'red' : undefined} loading={busy} disabled={disabled} onClick={onYes} data-autofocus>
          {yes}
        </Button>
      </Group>
    </Dialog>
  )
}
