import {
  ActionIcon,
  Burger,
  Drawer,
  Kbd,
  Loader,
  Menu,
  Text,
  Tooltip,
  UnstyledButton,
  useMantineColorScheme,
} from '@mantine/core'
import { useDisclosure, useHotkeys } from '@mantine/hooks'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, Outlet, useSearch } from '@tanstack/react-router'
import { useRef } from 'react'
import { errorMessage } from '../api/errors'
import { useLive, useLiveState } from '../api/live'
import { signOut } from '../api/requests'
import { hasRole, replaceSession, sessionQuery } from '../api/session'
import type { Session } from '../api/types'
import { Icon, type IconName } from '../components/Icon'
import { SegmentedRadio } from '../components/SegmentedRadio'
import { showError, Toasts } from '../components/toasts'
import { chooseZone, LOCAL_ZONE, useZoneChoice, type ZoneChoice } from '../lib/timezones'
import { codeText, t } from '../messages'
import classes from './AppShell.module.css'
import { CommandPalette } from './CommandPalette'
import { Login } from './Login'
import { Logo } from './Logo'
import { NamespaceSwitch } from './NamespaceSwitch'
import { NAVIGATION } from './navigation'

const IS_MAC = /mac|iphone|ipad/i.test(navigator.platform)

/** The frame around every view: navigation, search, time zone, theme and user menu. */
export function AppShell() {
  const session = useQuery(sessionQuery)
  const { namespace = '' } = useSearch({ strict: false })
  const isSignedIn = Boolean(session.data?.actor)
  useLive(namespace, isSignedIn)
  if (session.isPending) return <Loader className={classes.loading} aria-label={t('common.loading')} />
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
      {/* biome-ignore lint/a11y/useValidAnchor: a skip link, which moves the focus without changing the URL */}
      <a href="#view" className={classes.skip} onClick={skipToContent}>
        {t('shell.skipToContent')}
      </a>
      <header className={classes.bar}>
        <Burger
          className={classes.burger}
          opened={menuOpen}
          onClick={menu.toggle}
          size="sm"
          aria-label={t('shell.openNavigation')}
        />
        <Link to="/" className={classes.brand} aria-label={t('app.name')}>
          <Logo /> <span>{t('app.name')}</span>
        </Link>
        <NamespaceSwitch session={session} namespace={namespace} />
        <UnstyledButton className={classes.search} onClick={palette.open}>
          <Icon name="search" size={14} />
          <span className={classes.searchText}>{t('shell.search')}</span>
          <Kbd size="xs" aria-hidden="true">
            {IS_MAC ? t('shell.shortcutMac') : t('shell.shortcut')}
          </Kbd>
        </UnstyledButton>
        <div className={classes.right}>
          <LiveIndicator />
          <ZoneSwitch />
          <ThemeSwitch />
          <UserMenu session={session} />
        </div>
      </header>
      <nav className={classes.rail} aria-label={t('shell.mainNavigation')}>
        <NavigationLinks session={session} namespace={namespace} />
        <p className={classes.version}>
          {t(session.read_only ? 'shell.versionReadOnly' : 'shell.version', { version: session.version })}
        </p>
      </nav>
      <Drawer opened={menuOpen} onClose={menu.close} size={240} title={t('app.name')} hiddenFrom="md">
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

function NavigationLinks({
  session,
  namespace,
  onNavigate,
}: {
  session: Session
  namespace: string
  onNavigate?: () => void
}) {
  return NAVIGATION.filter((item) => hasRole(session, item.role, namespace)).map((item) => (
    <Link
      key={item.to}
      to={item.to}
      className={classes.link}
      activeOptions={{ exact: item.to === '/' }}
      activeProps={{ className: classes.active }}
      onClick={onNavigate}
    >
      <Icon name={item.icon} /> {t(item.label)}
    </Link>
  ))
}

const LIVE_LABELS = { live: 'shell.live', connecting: 'shell.connecting', away: 'shell.disconnected' } as const

function LiveIndicator() {
  const state = useLiveState()
  return (
    <>
      {state === 'away' && (
        <Text size="xs" fw={600} visibleFrom="xs">
          {t('shell.offline')}
        </Text>
      )}
      <Tooltip label={t(LIVE_LABELS[state])}>
        <span className={classes.live} data-state={state} role="img" aria-label={t(LIVE_LABELS[state])} />
      </Tooltip>
    </>
  )
}

function zoneChoiceText(choice: ZoneChoice): string {
  if (choice === 'local') return t('shell.timesLocal', { zone: LOCAL_ZONE })
  return choice === 'utc' ? t('shell.timesUtc') : t('shell.timesSchedule')
}

function ZoneSwitch({ isWide = false }: { isWide?: boolean }) {
  const choice = useZoneChoice()
  return (
    <Tooltip label={zoneChoiceText(choice)}>
      <SegmentedRadio
        className={isWide ? classes.zoneWide : classes.zone}
        value={choice}
        onChange={(value) => chooseZone(value as ZoneChoice)}
        aria-label={t('common.timeZone')}
        data={[
          { value: 'local', label: t('shell.zoneLocal') },
          { value: 'schedule', label: t('shell.zoneSchedule') },
          { value: 'utc', label: t('shell.zoneUtc') },
        ]}
      />
    </Tooltip>
  )
}

const THEMES: { name: 'light' | 'dark' | 'auto'; icon: IconName; text: string }[] = [
  { name: 'light', icon: 'sun', text: t('shell.themeLight') },
  { name: 'dark', icon: 'moon', text: t('shell.themeDark') },
  { name: 'auto', icon: 'auto', text: t('shell.themeSystem') },
]

function ThemeSwitch() {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const current = THEMES.find((theme) => theme.name === colorScheme) ?? THEMES[2]!
  return (
    <Menu>
      <Menu.Target>
        <ActionIcon aria-label={t('shell.theme', { theme: current.text })}>
          <Icon name={current.icon} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {THEMES.map((theme) => (
          <Menu.Item
            key={theme.name}
            leftSection={<Icon name={theme.icon} />}
            onClick={() => setColorScheme(theme.name)}
          >
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
  const endSession = async () => {
    try {
      replaceSession(queries, await signOut())
    } catch (error) {
      showError(error)
    }
  }
  return (
    <Menu>
      <Menu.Target>
        <UnstyledButton className={classes.person} aria-label={t('shell.signedInAs', { actor: session.actor ?? '' })}>
          {session.actor?.replace(/^.*\(([^)]+)\)$/, '$1')}
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{session.actor}</Menu.Label>
        <Menu.Label>
          {Object.entries(session.roles as Record<string, string>)
            .map(([name, role]) =>
              t('shell.roleInNamespace', {
                role: codeText('role', role),
                namespace: name === '*' ? t('shell.allNamespaces') : name,
              }),
            )
            .join(', ')}
        </Menu.Label>
        {session.signed_in && (
          <Menu.Item leftSection={<Icon name="out" />} onClick={endSession}>
            {t('shell.signOut')}
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  )
}
