import { useSyncExternalStore } from 'react'
import { t } from '../messages'

/** The time zone in which instants are shown: the browser's, that of their schedule, or UTC. */
export type ZoneChoice = 'local' | 'schedule' | 'utc'

const KEY = 'tompion.zone'
const listeners = new Set<() => void>()

export const LOCAL_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone

function readChoice(): ZoneChoice {
  const stored = localStorage.getItem(KEY)
  return stored === 'schedule' || stored === 'utc' ? stored : 'local'
}

let currentChoice = readChoice()

export function chooseZone(choice: ZoneChoice): void {
  currentChoice = choice
  localStorage.setItem(KEY, choice)
  for (const listener of listeners) listener()
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

/** Return the zone to show an instant in. A zone that this browser does not know becomes UTC. */
export function displayZone(choice: ZoneChoice, scheduleZone?: string | null): string {
  if (choice === 'local') return LOCAL_ZONE
  if (choice === 'utc' || !scheduleZone) return 'UTC'
  return isSupportedZone(scheduleZone) ? scheduleZone : 'UTC'
}

export function useDisplayZone(scheduleZone?: string | null): string {
  return displayZone(useZoneChoice(), scheduleZone)
}

/** Return the name of a zone beside an input for a time. */
export function zoneLabel(zone: string): string {
  return zone === LOCAL_ZONE ? t('time.yourZone', { zone }) : zone
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
