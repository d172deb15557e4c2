import type { IconName } from '../components/Icon'
import type { Role } from '../api/types'

export interface Place {
  to: string
  name: string
  icon: IconName
  role: Role
}

/** The places of the page, as the navigation and the palette show them. */
export const PLACES: Place[] = [
  { to: '/', name: 'Overview', icon: 'overview', role: 'reader' },
  { to: '/schedules', name: 'Schedules', icon: 'schedules', role: 'reader' },
  { to: '/runs', name: 'Runs', icon: 'runs', role: 'reader' },
  { to: '/workflows', name: 'Workflows', icon: 'workflows', role: 'reader' },
  { to: '/calendars', name: 'Calendars', icon: 'calendars', role: 'reader' },
  { to: '/queues', name: 'Queues', icon: 'targets', role: 'reader' },
  { to: '/instances', name: 'Instances', icon: 'instances', role: 'reader' },
  { to: '/audit', name: 'Audit', icon: 'audit', role: 'reader' },
  { to: '/keys', name: 'Keys', icon: 'keys', role: 'admin' },
  { to: '/settings', name: 'Settings', icon: 'settings', role: 'admin' },
]
