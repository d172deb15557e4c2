import { Modal, type ModalProps } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'

/** Return the focus on unmount to the element that had it, or to the content if that element is gone. */
export function useReturnFocus(): void {
  const [previous] = useState(() => document.activeElement)
  const unmounted = useRef(false)
  useEffect(() => {
    unmounted.current = false
    return () => {
      unmounted.current = true
      requestAnimationFrame(() => {
        if (!unmounted.current || document.activeElement?.closest('[role=dialog]')) return
        const target =
          previous instanceof HTMLElement && previous !== document.body && previous.isConnected
            ? previous
            : document.getElementById('view')
        target?.focus({ preventScroll: true })
      })
    }
  }, [previous])
}

/** A dialog that is open while it is mounted. */
export function Dialog(props: Omit<ModalProps, 'opened'>) {
  useReturnFocus()
  return <Modal opened returnFocus={false} {...props} />
}
