import { useEffect, useRef, useState } from 'react'

/** Values that were sent and are not the current value yet, the next value to send, and whether a request is pending. */
interface InputState {
  sent: (string | undefined)[]
  next: { text: string } | null
  busy: boolean
}

/**
 * An input whose text becomes the value of a filter. Only one request is pending at a time. Text that is typed meanwhile
 * is sent after it, and the last text is always sent. A value that changes otherwise (by a button, or by going back)
 * replaces the text.
 */
export function useFilterInput(value: string | undefined, onChange: (value: string | undefined) => Promise<void>) {
  const [input, setInput] = useState(value ?? '')
  const state = useRef<InputState>({ sent: [], next: null, busy: false }).current
  const latest = useRef({ value, onChange })
  latest.current = { value, onChange }
  useEffect(() => {
    const at = state.sent.indexOf(value)
    state.sent.splice(0, at < 0 ? state.sent.length : at + 1)
    if (at >= 0) return
    state.next = null
    setInput(value ?? '')
  }, [value, state])
  useEffect(
    () => () => {
      state.next = null
    },
    [state],
  )

  const send = (text: string): void => {
    if (state.busy) {
      state.next = { text }
      return
    }
    const filter = text.trim() || undefined
    if (state.sent.length === 0 && filter === latest.current.value) return
    state.busy = true
    state.sent.push(filter)
    void latest.current.onChange(filter).finally(() => {
      state.busy = false
      const { next } = state
      state.next = null
      if (next) send(next.text)
    })
  }
  const cancelPending = () => {
    state.next = null
  }
  return { input, setInput, send, cancelPending }
}
