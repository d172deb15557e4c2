import { useSyncExternalStore } from 'react'

/** Whose time instants are shown in: the browser's, that of the schedule they belong to, or UTC. */
export type ZoneChoice = 'mine' | 'schedule' | 'utc'

const KEY = 'tompion.zone'
const listeners = new Set<() => void>()

export const LOCAL_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone

function readChoice(): ZoneChoice {
  const stored = localStorage.getItem(KEY)
  return stored === 'schedule' || stored === 'utc' ? stored : 'mine'
}

let currentChoice = readChoice()

export function chooseZone(choice: ZoneChoice): void {
  currentChoice = choice
  localStorage.setItem(KEY, choice)
  listeners.forEach((listener) => listener())
}

export function useZoneChoice(): ZoneChoice {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => currentChoice,
  )
}

/** The zone to show an instant in; one that this browser does not know is UTC. */
export function displayZone(choice: ZoneChoice, scheduleZone?: string | null): string {
  if (choice === 'mine') return LOCAL_ZONE
  if (choice === 'utc' || !scheduleZone) return 'UTC'
  return isSupportedZone(scheduleZone) ? scheduleZone : 'UTC'
}

export function useDisplayZone(scheduleZone?: string | null): string {
  return displayZone(useZoneChoice(), scheduleZone)
}

/** How a zone is called where somebody is to write a time in it. */
export function zoneLabel(zone: string): string {
  return zone === LOCAL_ZONE ? `your time zone, ${zone}` : zone
}

const supported = new Map<string, boolean>()

export function isSupportedZone(zone: string): boolean {
  let isSupported = supported.get(zone)
  if (isSupported === undefined) {
    try {
      new Intl.DateTimeFormat('en', { timeZone: zone })
      isSupported = true
    } catch {
      isSupported = false
    }
    supported.set(zone, isSupported)
  }
  return isSupported
}
