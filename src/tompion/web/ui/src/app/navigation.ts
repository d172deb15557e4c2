import type { Role } from '../api/types'
import type { IconName } from '../components/Icon'
import type { en } from '../messages/en'

type NavigationKey = Extract<keyof typeof en, `nav.${string}`>

export interface NavigationItem {
  to: string
  label: NavigationKey
  icon: IconName
  role: Role
}

/** The views of the web UI, in the order of the navigation and the command palette. */
export const NAVIGATION: NavigationItem[] = [
  { to: '/', label: 'nav.overview', icon: 'overview', role: 'reader' },
  { to: '/schedules', label: 'nav.schedules', icon: 'schedules', role: 'reader' },
  { to: '/runs', label: 'nav.runs', icon: 'runs', role: 'reader' },
  { to: '/workflows', label: 'nav.workflows', icon: 'workflows', role: 'reader' },
  { to: '/calendars', label: 'nav.calendars', icon: 'calendars', role: 'reader' },
  { to: '/queues', label: 'nav.queues', icon: 'targets', role: 'reader' },
  { to: '/instances', label: 'nav.instances', icon: 'instances', role: 'reader' },
  { to: '/audit', label: 'nav.audit', icon: 'audit', role: 'reader' },
  { to: '/keys', label: 'nav.keys', icon: 'keys', role: 'admin' },
  { to: '/settings', label: 'nav.settings', icon: 'settings', role: 'admin' },
]
