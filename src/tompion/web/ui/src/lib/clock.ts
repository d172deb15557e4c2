import { useSyncExternalStore } from 'react'

let serverOffset = 0
let current = Date.now()
const listeners = new Set<() => void>()
let timer: number | undefined

/** Set the offset to the server's clock from the Date header of a response. */
export function syncServerTime(date: string | null): void {
  const serverTime = date ? Date.parse(date) : Number.NaN
  if (Number.isNaN(serverTime)) return
  const offset = serverTime + 500 - Date.now()
  if (Math.abs(offset - serverOffset) > 2_000) serverOffset = offset
  else if (Math.abs(offset) < 2_000) serverOffset = 0
}

/** Return the server's time in milliseconds. */
export function now(): number {
  return Date.now() + serverOffset
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= window.setInterval(() => {
    current = now()
    for (const notify of listeners) notify()
  }, 1_000)
  return () => {
    listeners.delete(listener)
    if (listeners.size === 0) {
      window.clearInterval(timer)
      timer = undefined
    }
  }
}

/** Return the server's time, updated once a second. All components share one timer. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => {
    if (listeners.size === 0) current = now()
    return current
  })
}
