import { Modal, type ModalProps } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'

/** When this goes, the focus goes back to where it was, or to the content if that is gone as well. */
export function useReturnFocus(): void {
  const [previous] = useState(() => document.activeElement)
  const unmounted = useRef(false)
  useEffect(() => {
    unmounted.current = false
    return () => {
      unmounted.current = true
      requestAnimationFrame(() => {
        if (!unmounted.current || document.activeElement?.closest('[role=dialog]')) return
        const target = previous instanceof HTMLElement && previous !== document.body && previous.isConnected ? previous : document.getElementById('view')
        target?.focus({ preventScroll: true })
      })
    }
  }, [previous])
}

/** A dialog that is open for as long as it is there. */
export function Dialog(props: Omit<ModalProps, 'opened'>) {
  useReturnFocus()
  return <Modal opened returnFocus={false} {...props} />
}
