import { Modal, type ModalProps } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'

/** When this goes, the focus goes back to where it was, or to the content if that is gone as well. */
export function useFocusBack(): void {
  const [before] = useState(() => document.activeElement)
  const gone = useRef(false)
  useEffect(() => {
    gone.current = false
    return () => {
      gone.current = true
      requestAnimationFrame(() => {
        if (!gone.current || document.activeElement?.closest('[role=dialog]')) return
        const back = before instanceof HTMLElement && before !== document.body && before.isConnected ? before : document.getElementById('view')
        back?.focus({ preventScroll: true })
      })
    }
  }, [before])
}

/** A dialog that is open for as long as it is there. */
export function Dialog(props: Omit<ModalProps, 'opened'>) {
  useFocusBack()
  return <Modal opened returnFocus={false} {...props} />
}
