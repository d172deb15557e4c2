import { useSyncExternalStore } from 'react'

let ahead = 0
let current = Date.now()
const listeners = new Set<() => void>()
let timer: number | undefined

/** Learn from an answer what time it is where the schedules are decided. */
export function hearServerTime(date: string | null): void {
  const told = date ? Date.parse(date) : Number.NaN
  if (Number.isNaN(told)) return
  const off = told + 500 - Date.now()
  if (Math.abs(off - ahead) > 2_000) ahead = off
  else if (Math.abs(off) < 2_000) ahead = 0
}

/** What time it is for the service, in milliseconds. */
export function now(): number {
  return Date.now() + ahead
}

function listen(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= window.setInterval(() => {
    current = now()
    listeners.forEach((each) => each())
  }, 1_000)
  return () => {
    listeners.delete(listener)
    if (listeners.size === 0) {
      window.clearInterval(timer)
      timer = undefined
    }
  }
}

/** What time it is, once a second: one timer for everybody who shows it. */
export function useNow(): number {
  return useSyncExternalStore(listen, () => {
    if (listeners.size === 0) current = now()
    return current
  })
}
