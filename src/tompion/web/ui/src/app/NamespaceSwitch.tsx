import { Button, Menu, TextInput } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'

import type { Visit } from '../api/types'
import { Icon } from '../components/Icon'

const KEY = 'tompion.namespaces'

function visited(): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]')
    return Array.isArray(kept) ? kept.filter((each): each is string => typeof each === 'string').slice(0, 8) : []
  } catch {
    return []
  }
}

/** Which namespace is shown; whoever may look at all of them names one. */
export function NamespaceSwitch({ visit, namespace }: { visit: Visit; namespace: string }) {
  const navigate = useNavigate()
  const [typed, setTyped] = useState('')
  const roles = Object.keys(visit.roles)
  const anywhere = roles.includes('*')
  const named = roles.filter((each) => each !== '*')
  const choices = [...new Set([visit.home, ...named, ...(anywhere ? visited() : [])])].filter((each) => anywhere || named.includes(each))
  const current = namespace || visit.home
  if (!anywhere && choices.length < 2) return <span className="dim">{current}</span>
  const go = (name: string) => {
    if (anywhere) localStorage.setItem(KEY, JSON.stringify([...new Set([name, ...visited()])]))
    setTyped('')
    void navigate({ to: '/schedules', search: { namespace: name === visit.home ? undefined : name } })
  }
  return (
    <Menu position="bottom-start" width={220}>
      <Menu.Target>
        <Button variant="default" rightSection={<Icon name="down" size={12} />} aria-label={`Namespace ${current}`}>
          {current}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Namespace</Menu.Label>
        {choices.map((each) => (
          <Menu.Item key={each} onClick={() => go(each)} rightSection={each === current && <Icon name="check" size={14} />}>
            {each}
          </Menu.Item>
        ))}
        {anywhere && (
          <form
            onSubmit={(event) => {
              event.preventDefault()
              if (typed.trim()) go(typed.trim())
            }}
          >
            <TextInput
              m={4}
              aria-label="Another namespace"
              placeholder="Another namespace"
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
