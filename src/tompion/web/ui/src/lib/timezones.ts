import { useSyncExternalStore } from 'react'

/** Whose time instants are shown in: the browser's, that of the schedule they belong to, or UTC. */
export type ZoneChoice = 'mine' | 'schedule' | 'utc'

const KEY = 'tompion.zone'
const listeners = new Set<() => void>()

export const MY_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone

function read(): ZoneChoice {
  const kept = localStorage.getItem(KEY)
  return kept === 'schedule' || kept === 'utc' ? kept : 'mine'
}

let chosen = read()

export function chooseZone(choice: ZoneChoice): void {
  chosen = choice
  localStorage.setItem(KEY, choice)
  listeners.forEach((each) => each())
}

export function useZoneChoice(): ZoneChoice {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => chosen,
  )
}

/** The zone to show an instant in; one that this browser does not know is UTC. */
export function zoneFor(choice: ZoneChoice, scheduleZone?: string | null): string {
  if (choice === 'mine') return MY_ZONE
  if (choice === 'utc' || !scheduleZone) return 'UTC'
  return isKnown(scheduleZone) ? scheduleZone : 'UTC'
}

export function useShownZone(scheduleZone?: string | null): string {
  return zoneFor(useZoneChoice(), scheduleZone)
}

/** How a zone is called where somebody is to write a time in it. */
export function zoneText(zone: string): string {
  return zone === MY_ZONE ? `your time zone, ${zone}` : zone
}

const known = new Map<string, boolean>()

export function isKnown(zone: string): boolean {
  let found = known.get(zone)
  if (found === undefined) {
    try {
      new Intl.DateTimeFormat('en', { timeZone: zone })
      found = true
    } catch {
      found = false
    }
    known.set(zone, found)
  }
  return found
}
