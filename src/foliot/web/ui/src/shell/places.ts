import type { IconName } from '../parts/Icon'
import type { Role } from '../api/types'

export interface Place {
  to: string
  name: string
  icon: IconName
  role: Role
}

/** The places of the page, as the navigation and the palette show them. */
export const PLACES: Place[] = [
  { to: '/schedules', name: 'Schedules', icon: 'schedules', role: 'reader' },
  { to: '/runs', name: 'Runs', icon: 'runs', role: 'reader' },
]
