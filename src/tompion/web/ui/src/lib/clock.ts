import { useSyncExternalStore } from 'react'

let serverOffset = 0
let current = Date.now()
const listeners = new Set<() => void>()
let timer: number | undefined

/** Learn from an answer what time it is where the schedules are decided. */
export function syncServerTime(date: string | null): void {
  const serverTime = date ? Date.parse(date) : Number.NaN
  if (Number.isNaN(serverTime)) return
  const offset = serverTime + 500 - Date.now()
  if (Math.abs(offset - serverOffset) > 2_000) serverOffset = offset
  else if (Math.abs(offset) < 2_000) serverOffset = 0
}

/** What time it is for the service, in milliseconds. */
export function now(): number {
  return Date.now() + serverOffset
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= window.setInterval(() => {
    current = now()
    listeners.forEach((listener) => listener())
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
  return useSyncExternalStore(subscribe, () => {
    if (listeners.size === 0) current = now()
    return current
  })
}
