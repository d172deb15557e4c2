import { useEffect, useRef, useState } from 'react'

/** What was told and has not come back as the value yet, what is to be told next, and whether an answer is under way. */
interface InputState {
  sent: (string | undefined)[]
  next: { text: string } | null
  busy: boolean
}

/**
 * What somebody types, and the value that follows it: told at once, and while an answer is under way as soon as it is
 * there, so that there is never more than one question on its way, and the last one is always asked. A value that
 * changes otherwise (by a button, or by going back) is taken over.
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
  useEffect(() => () => void (state.next = null), [state])

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
