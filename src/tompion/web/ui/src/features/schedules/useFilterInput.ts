import { useEffect, useRef, useState } from 'react'

/** What was told and has not come back as the value yet, what is to be told next, and whether an answer is under way. */
interface Course {
  told: (string | undefined)[]
  next: { text: string } | null
  busy: boolean
}

/**
 * What somebody types, and the value that follows it: told at once, and while an answer is under way as soon as it is
 * there, so that there is never more than one question on its way, and the last one is always asked. A value that
 * changes otherwise (by a button, or by going back) is taken over.
 */
export function useTyped(value: string | undefined, onChange: (value: string | undefined) => Promise<void>) {
  const [typed, type] = useState(value ?? '')
  const course = useRef<Course>({ told: [], next: null, busy: false }).current
  const latest = useRef({ value, onChange })
  latest.current = { value, onChange }
  useEffect(() => {
    const at = course.told.indexOf(value)
    course.told.splice(0, at < 0 ? course.told.length : at + 1)
    if (at >= 0) return
    course.next = null
    type(value ?? '')
  }, [value, course])
  useEffect(() => () => void (course.next = null), [course])

  const tell = (text: string): void => {
    if (course.busy) {
      course.next = { text }
      return
    }
    const wanted = text.trim() || undefined
    if (course.told.length === 0 && wanted === latest.current.value) return
    course.busy = true
    course.told.push(wanted)
    void latest.current.onChange(wanted).finally(() => {
      course.busy = false
      const { next } = course
      course.next = null
      if (next) tell(next.text)
    })
  }
  const withhold = () => {
    course.next = null
  }
  return { typed, type, tell, withhold }
}
