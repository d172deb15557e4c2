import { ActionIcon, Burger, Drawer, Kbd, Loader, Menu, Text, Tooltip, UnstyledButton, useMantineColorScheme } from '@mantine/core'
import { useDisclosure, useHotkeys } from '@mantine/hooks'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, Outlet, useSearch } from '@tanstack/react-router'
import { useRef } from 'react'

import { answer, api } from '../api/client'
import { useLive, useLiveState } from '../api/live'
import { messageOf } from '../api/problem'
import type { Visit } from '../api/types'
import { holds, visitQuery, welcome } from '../api/session'
import { Icon, type IconName } from '../components/Icon'
import { Segments } from '../components/SegmentedRadio'
import { complain, Toasts } from '../components/toasts'
import { chooseZone, MY_ZONE, useZoneChoice, type ZoneChoice } from '../lib/timezones'
import { Login } from './Login'
import { Mark } from './Logo'
import { NamespaceSwitch } from './NamespaceSwitch'
import { Palette } from './CommandPalette'
import { PLACES } from './navigation'
import classes from './AppShell.module.css'

/** Everything around a view: where one is, where one can go, whose time it is, who one is. */
export function Shell() {
  const visit = useQuery(visitQuery)
  const { namespace = '' } = useSearch({ strict: false })
  const known = Boolean(visit.data?.actor)
  useLive(namespace, known)
  if (visit.isPending) return <Loader className={classes.loading} aria-label="Loading" />
  if (!visit.data) return <p className={classes.loading}>{messageOf(visit.error)}</p>
  if (!known) return <Login />
  return <Inside visit={visit.data} namespace={namespace} />
}

function Inside({ visit, namespace }: { visit: Visit; namespace: string }) {
  const [menuOpen, menu] = useDisclosure(false)
  const [paletteOpen, palette] = useDisclosure(false)
  const view = useRef<HTMLElement>(null)
  useHotkeys([['mod+K', palette.open]], [])
  useHotkeys([['/', () => document.querySelector<HTMLInputElement>('[data-search]')?.focus()]])
  const skip = (event: React.MouseEvent) => {
    event.preventDefault()
    view.current?.focus()
  }
  return (
    <div className={classes.frame}>
      <a href="#view" className={classes.skip} onClick={skip}>
        Skip to the content
      </a>
      <header className={classes.bar}>
        <Burger
          className={classes.burger}
          opened={menuOpen}
          onClick={menu.toggle}
          size="sm"
          aria-label="Navigation"
        />
        <Link to="/" className={classes.brand}>
          <Mark /> <span>Tompion</span>
        </Link>
        <NamespaceSwitch visit={visit} namespace={namespace} />
        <UnstyledButton className={classes.search} onClick={palette.open}>
          <Icon name="search" size={14} />
          <span className={classes.searchText}>Search or do something</span>
          <Kbd size="xs" aria-hidden="true">Ctrl K</Kbd>
        </UnstyledButton>
        <div className={classes.right}>
          <LiveMark />
          <ZoneSwitch />
          <SchemeSwitch />
          <Person visit={visit} />
        </div>
      </header>
      <nav className={classes.rail} aria-label="Main">
        <Places visit={visit} namespace={namespace} />
        <p className={classes.version}>Tompion {visit.version}{visit.read_only && ' · read-only'}</p>
      </nav>
      <Drawer opened={menuOpen} onClose={menu.close} size={240} title="Tompion" hiddenFrom="md">
        <Places visit={visit} namespace={namespace} onGo={menu.close} />
        <ZoneSwitch wide />
      </Drawer>
      <main id="view" ref={view} className={classes.view} tabIndex={-1}>
        <Outlet />
      </main>
      {paletteOpen && <Palette onClose={palette.close} visit={visit} namespace={namespace} />}
      <Toasts />
    </div>
  )
}

function Places({ visit, namespace, onGo }: { visit: Visit; namespace: string; onGo?: () => void }) {
  return PLACES.filter((place) => holds(visit, place.role, namespace)).map((place) => (
    <Link key={place.to} to={place.to} className={classes.place} activeOptions={{ exact: place.to === '/' }} activeProps={{ className: classes.here }} onClick={onGo}>
      <Icon name={place.icon} /> {place.name}
    </Link>
  ))
}

const LIVE = {
  live: 'Live: what changes is shown as it happens',
  connecting: 'Connecting…',
  away: 'Not live: the service cannot be reached; trying again',
}

function LiveMark() {
  const state = useLiveState()
  return (
    <>
      {state === 'away' && (
        <Text size="xs" fw={600} visibleFrom="xs">
          Not live
        </Text>
      )}
      <Tooltip label={LIVE[state]}>
        <span className={classes.live} data-state={state} role="img" aria-label={LIVE[state]} />
      </Tooltip>
    </>
  )
}

function ZoneSwitch({ wide = false }: { wide?: boolean }) {
  const choice = useZoneChoice()
  return (
    <Tooltip label={`Times are shown in ${choice === 'mine' ? `your zone, ${MY_ZONE}` : choice === 'utc' ? 'UTC' : "each schedule's own zone"}`}>
      <Segments
        className={wide ? classes.zoneWide : classes.zone}
        value={choice}
        onChange={(value) => chooseZone(value as ZoneChoice)}
        aria-label="Time zone"
        data={[
          { value: 'mine', label: 'Mine' },
          { value: 'schedule', label: 'Schedule' },
          { value: 'utc', label: 'UTC' },
        ]}
      />
    </Tooltip>
  )
}

const SCHEMES: { name: 'light' | 'dark' | 'auto'; icon: IconName; text: string }[] = [
  { name: 'light', icon: 'sun', text: 'Light' },
  { name: 'dark', icon: 'moon', text: 'Dark' },
  { name: 'auto', icon: 'auto', text: 'As the system' },
]

function SchemeSwitch() {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const current = SCHEMES.find((each) => each.name === colorScheme) ?? SCHEMES[2]!
  return (
    <Menu>
      <Menu.Target>
        <ActionIcon aria-label={`Colours: ${current.text}`}>
          <Icon name={current.icon} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {SCHEMES.map((each) => (
          <Menu.Item key={each.name} leftSection={<Icon name={each.icon} />} onClick={() => setColorScheme(each.name)}>
            {each.text}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}

function Person({ visit }: { visit: Visit }) {
  const queries = useQueryClient()
  if (visit.auth === 'open') return null
  const signOut = async () => {
    try {
      welcome(queries, await answer(api.DELETE('/api/v1/session')))
    } catch (error) {
      complain(error)
    }
  }
  return (
    <Menu>
      <Menu.Target>
        <UnstyledButton className={classes.person} aria-label={`Signed in as ${visit.actor}`}>
          {visit.actor?.replace(/^.*\(([^)]+)\)$/, '$1')}
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{visit.actor}</Menu.Label>
        <Menu.Label>
          {Object.entries(visit.roles as Record<string, string>).map(([name, role]) => `${role} in ${name === '*' ? 'all namespaces' : name}`).join(', ')}
        </Menu.Label>
        {visit.signed_in && (
          <Menu.Item leftSection={<Icon name="out" />} onClick={signOut}>
            Sign out
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  )
}
