import { Button, Menu, TextInput } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { Session } from '../api/types'
import { Icon } from '../components/Icon'
import { t } from '../messages'

const KEY = 'tompion.namespaces'

function recentNamespaces(): string[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]')
    return Array.isArray(stored) ? stored.filter((name): name is string => typeof name === 'string').slice(0, 8) : []
  } catch {
    return []
  }
}

/** Switches the namespace. A user with a role in all namespaces can type any name. */
export function NamespaceSwitch({ session, namespace }: { session: Session; namespace: string }) {
  const navigate = useNavigate()
  const [typed, setTyped] = useState('')
  const roles = Object.keys(session.roles)
  const hasAllNamespaces = roles.includes('*')
  const namedNamespaces = roles.filter((name) => name !== '*')
  const namespaces = [
    ...new Set([session.home, ...namedNamespaces, ...(hasAllNamespaces ? recentNamespaces() : [])]),
  ].filter((name) => hasAllNamespaces || namedNamespaces.includes(name))
  const current = namespace || session.home
  if (!hasAllNamespaces && namespaces.length < 2) return <span className="dim">{current}</span>
  const switchTo = (name: string) => {
    if (hasAllNamespaces) localStorage.setItem(KEY, JSON.stringify([...new Set([name, ...recentNamespaces()])]))
    setTyped('')
    void navigate({ to: '/schedules', search: { namespace: name === session.home ? undefined : name } })
  }
  return (
    <Menu position="bottom-start" width={220}>
      <Menu.Target>
        <Button
          variant="default"
          rightSection={<Icon name="down" size={12} />}
          aria-label={t('shell.currentNamespace', { name: current })}
        >
          {current}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{t('shell.namespace')}</Menu.Label>
        {namespaces.map((name) => (
          <Menu.Item
            key={name}
            onClick={() => switchTo(name)}
            rightSection={name === current && <Icon name="check" size={14} />}
          >
            {name}
          </Menu.Item>
        ))}
        {hasAllNamespaces && (
          <form
            onSubmit={(event) => {
              event.preventDefault()
              if (typed.trim()) switchTo(typed.trim())
            }}
          >
            <TextInput
              m={4}
              aria-label={t('shell.switchNamespace')}
              placeholder={t('shell.switchNamespace')}
              value={typed}
              onChange={(event) => setTyped(event.currentTarget.value)}
              onKeyDown={(event) => event.stopPropagation()}
            />
          </form>
        )}
      </Menu.Dropdown>
    </Menu>
  )
}
