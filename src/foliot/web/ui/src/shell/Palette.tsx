import { Modal, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useId, useState } from 'react'

import { answer, api } from '../api/client'
import { key } from '../api/queries'
import type { Visit } from '../api/types'
import { may } from '../api/visit'
import { Icon, type IconName } from '../parts/Icon'
import { chooseZone } from '../parts/zones'
import { PLACES } from './places'
import classes from './Palette.module.css'

interface Command {
  id: string
  name: string
  about?: string
  icon: IconName
  act: () => void
}

interface Props {
  opened: boolean
  onClose: () => void
  visit: Visit
  namespace: string
}

/** Everything within reach of the keyboard: places, schedules, switches. */
export function Palette({ opened, onClose, visit, namespace }: Props) {
  return (
    <Modal.Root opened={opened} onClose={onClose} padding={0} yOffset="12vh" centered={false} size={560}>
      <Modal.Overlay backgroundOpacity={0.35} />
      <Modal.Content aria-label="Commands">
        <Inside onClose={onClose} visit={visit} namespace={namespace} />
      </Modal.Content>
    </Modal.Root>
  )
}

function Inside({ onClose, visit, namespace }: Omit<Props, 'opened'>) {
  const navigate = useNavigate()
  const list = useId()
  const [typed, setTyped] = useState('')
  const [chosen, setChosen] = useState(0)
  const [text] = useDebouncedValue(typed.trim(), 150)
  const found = useQuery({
    queryKey: key('palette', text),
    queryFn: () => answer(api.GET('/api/v1/schedules', { params: { query: { text, limit: 8 } } })),
    enabled: text.length > 0,
  })
  useEffect(() => setChosen(0), [typed, found.data])

  const commands: Command[] = [
    ...PLACES.filter((place) => may(visit, place.role, namespace)).map((place) => ({
      id: place.to,
      name: place.name,
      about: 'Go to',
      icon: place.icon,
      act: () => void navigate({ to: place.to }),
    })),
    { id: 'zone-mine', name: 'Show times in my zone', icon: 'clock', act: () => chooseZone('mine') },
    { id: 'zone-schedule', name: "Show times in each schedule's zone", icon: 'clock', act: () => chooseZone('schedule') },
    { id: 'zone-utc', name: 'Show times in UTC', icon: 'clock', act: () => chooseZone('utc') },
  ]
  const schedules: Command[] = (text ? (found.data?.items ?? []) : []).map((each) => ({
    id: `schedule ${each.schedule_id}`,
    name: each.schedule_id,
    about: each.state,
    icon: 'schedules',
    act: () => void navigate({ to: '/schedules/$id', params: { id: each.schedule_id } }),
  }))
  const shown = [...schedules, ...commands.filter((each) => each.name.toLowerCase().includes(typed.trim().toLowerCase()))]

  const act = (command: Command | undefined) => {
    if (!command) return
    onClose()
    command.act()
  }
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.key === 'ArrowDown') setChosen((at) => Math.min(at + 1, shown.length - 1))
    else if (event.key === 'ArrowUp') setChosen((at) => Math.max(at - 1, 0))
    else if (event.key === 'Enter') act(shown[chosen])
    else return
    event.preventDefault()
  }
  return (
    <>
      <TextInput
        data-autofocus
        autoFocus
        classNames={{ input: classes.input }}
        variant="unstyled"
        size="md"
        px="md"
        py={6}
        placeholder="A schedule, a place, something to do"
        aria-label="Search and commands"
        role="combobox"
        aria-expanded
        aria-controls={list}
        aria-activedescendant={shown[chosen] && `${list}-${chosen}`}
        leftSection={<Icon name="search" />}
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <ul id={list} role="listbox" aria-label="Found" className={classes.list}>
        {shown.map((command, at) => (
          <li
            key={command.id}
            id={`${list}-${at}`}
            role="option"
            aria-selected={at === chosen}
            className={classes.command}
            onClick={() => act(command)}
            onMouseMove={() => setChosen(at)}
          >
            <Icon name={command.icon} />
            <span className={classes.name}>{command.name}</span>
            <span className="dim">{command.about}</span>
          </li>
        ))}
        {shown.length === 0 && <li className={classes.none}>Nothing is called that.</li>}
      </ul>
    </>
  )
}
