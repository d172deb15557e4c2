import { ActionIcon, Burger, Drawer, Kbd, Loader, Menu, Text, Tooltip, UnstyledButton, useMantineColorScheme } from '@mantine/core'
import { useDisclosure, useHotkeys } from '@mantine/hooks'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, Outlet, useSearch } from '@tanstack/react-router'
import { useRef } from 'react'

import { unwrap, api } from '../api/client'
import { useLive, useLiveState } from '../api/live'
import { errorMessage } from '../api/errors'
import type { Session } from '../api/types'
import { hasRole, sessionQuery, replaceSession } from '../api/session'
import { Icon, type IconName } from '../components/Icon'
import { SegmentedRadio } from '../components/SegmentedRadio'
import { showError, Toasts } from '../components/toasts'
import { chooseZone, LOCAL_ZONE, useZoneChoice, type ZoneChoice } from '../lib/timezones'
import { Login } from './Login'
import { Logo } from './Logo'
import { NamespaceSwitch } from './NamespaceSwitch'
import { CommandPalette } from './CommandPalette'
import { NAVIGATION } from './navigation'
import classes from './AppShell.module.css'

/** Everything around a view: where one is, where one can go, whose time it is, who one is. */
export function AppShell() {
  const session = useQuery(sessionQuery)
  const { namespace = '' } = useSearch({ strict: false })
  const isSignedIn = Boolean(session.data?.actor)
  useLive(namespace, isSignedIn)
  if (session.isPending) return <Loader className={classes.loading} aria-label="Loading" />
  if (!session.data) return <p className={classes.loading}>{errorMessage(session.error)}</p>
  if (!isSignedIn) return <Login />
  return <SignedInShell session={session.data} namespace={namespace} />
}

function SignedInShell({ session, namespace }: { session: Session; namespace: string }) {
  const [menuOpen, menu] = useDisclosure(false)
  const [paletteOpen, palette] = useDisclosure(false)
  const view = useRef<HTMLElement>(null)
  useHotkeys([['mod+K', palette.open]], [])
  useHotkeys([['/', () => document.querySelector<HTMLInputElement>('[data-search]')?.focus()]])
  const skipToContent = (event: React.MouseEvent) => {
    event.preventDefault()
    view.current?.focus()
  }
  return (
    <div className={classes.frame}>
      <a href="#view" className={classes.skip} onClick={skipToContent}>
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
          <Logo /> <span>Tompion</span>
        </Link>
        <NamespaceSwitch session={session} namespace={namespace} />
        <UnstyledButton className={classes.search} onClick={palette.open}>
          <Icon name="search" size={14} />
          <span className={classes.searchText}>Search or do something</span>
          <Kbd size="xs" aria-hidden="true">Ctrl K</Kbd>
        </UnstyledButton>
        <div className={classes.right}>
          <LiveIndicator />
          <ZoneSwitch />
          <ThemeSwitch />
          <UserMenu session={session} />
        </div>
      </header>
      <nav className={classes.rail} aria-label="Main">
        <NavigationLinks session={session} namespace={namespace} />
        <p className={classes.version}>Tompion {session.version}{session.read_only && ' · read-only'}</p>
      </nav>
      <Drawer opened={menuOpen} onClose={menu.close} size={240} title="Tompion" hiddenFrom="md">
        <NavigationLinks session={session} namespace={namespace} onNavigate={menu.close} />
        <ZoneSwitch isWide />
      </Drawer>
      <main id="view" ref={view} className={classes.view} tabIndex={-1}>
        <Outlet />
      </main>
      {paletteOpen && <CommandPalette onClose={palette.close} session={session} namespace={namespace} />}
      <Toasts />
    </div>
  )
}

function NavigationLinks({ session, namespace, onNavigate }: { session: Session; namespace: string; onNavigate?: () => void }) {
  return NAVIGATION.filter((item) => hasRole(session, item.role, namespace)).map((item) => (
    <Link key={item.to} to={item.to} className={classes.place} activeOptions={{ exact: item.to === '/' }} activeProps={{ className: classes.here }} onClick={onNavigate}>
      <Icon name={item.icon} /> {item.label}
    </Link>
  ))
}

const LIVE_LABELS = {
  live: 'Live: what changes is shown as it happens',
  connecting: 'Connecting…',
  away: 'Not live: the service cannot be reached; trying again',
}

function LiveIndicator() {
  const state = useLiveState()
  return (
    <>
      {state === 'away' && (
        <Text size="xs" fw={600} visibleFrom="xs">
          Not live
        </Text>
      )}
      <Tooltip label={LIVE_LABELS[state]}>
        <span className={classes.live} data-state={state} role="img" aria-label={LIVE_LABELS[state]} />
      </Tooltip>
    </>
  )
}

function ZoneSwitch({ isWide = false }: { isWide?: boolean }) {
  const choice = useZoneChoice()
  return (
    <Tooltip label={`Times are shown in ${choice === 'mine' ? `your zone, ${LOCAL_ZONE}` : choice === 'utc' ? 'UTC' : "each schedule's own zone"}`}>
      <SegmentedRadio
        className={isWide ? classes.zoneWide : classes.zone}
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

const THEMES: { name: 'light' | 'dark' | 'auto'; icon: IconName; text: string }[] = [
  { name: 'light', icon: 'sun', text: 'Light' },
  { name: 'dark', icon: 'moon', text: 'Dark' },
  { name: 'auto', icon: 'auto', text: 'As the system' },
]

function ThemeSwitch() {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const current = THEMES.find((theme) => theme.name === colorScheme) ?? THEMES[2]!
  return (
    <Menu>
      <Menu.Target>
        <ActionIcon aria-label={`Colours: ${current.text}`}>
          <Icon name={current.icon} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {THEMES.map((theme) => (
          <Menu.Item key={theme.name} leftSection={<Icon name={theme.icon} />} onClick={() => setColorScheme(theme.name)}>
            {theme.text}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}

function UserMenu({ session }: { session: Session }) {
  const queries = useQueryClient()
  if (session.auth === 'open') return null
  const signOut = async () => {
    try {
      replaceSession(queries, await unwrap(api.DELETE('/api/v1/session')))
    } catch (error) {
      showError(error)
    }
  }
  return (
    <Menu>
      <Menu.Target>
        <UnstyledButton className={classes.person} aria-label={`Signed in as ${session.actor}`}>
          {session.actor?.replace(/^.*\(([^)]+)\)$/, '$1')}
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{session.actor}</Menu.Label>
        <Menu.Label>
          {Object.entries(session.roles as Record<string, string>).map(([name, role]) => `${role} in ${name === '*' ? 'all namespaces' : name}`).join(', ')}
        </Menu.Label>
        {session.signed_in && (
          <Menu.Item leftSection={<Icon name="out" />} onClick={signOut}>
            Sign out
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  )
}
