import type { IconName } from '../components/Icon'
import type { Role } from '../api/types'

export interface NavigationItem {
  to: string
  label: string
  icon: IconName
  role: Role
}

/** The places of the page, as the navigation and the palette show them. */
export const NAVIGATION: NavigationItem[] = [
  { to: '/', label: 'Overview', icon: 'overview', role: 'reader' },
  { to: '/schedules', label: 'Schedules', icon: 'schedules', role: 'reader' },
  { to: '/runs', label: 'Runs', icon: 'runs', role: 'reader' },
  { to: '/workflows', label: 'Workflows', icon: 'workflows', role: 'reader' },
  { to: '/calendars', label: 'Calendars', icon: 'calendars', role: 'reader' },
  { to: '/queues', label: 'Queues', icon: 'targets', role: 'reader' },
  { to: '/instances', label: 'Instances', icon: 'instances', role: 'reader' },
  { to: '/audit', label: 'Audit', icon: 'audit', role: 'reader' },
  { to: '/keys', label: 'Keys', icon: 'keys', role: 'admin' },
  { to: '/settings', label: 'Settings', icon: 'settings', role: 'admin' },
]
