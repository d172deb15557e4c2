import { Modal, TextInput, useMantineColorScheme } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useId, useRef, useState } from 'react'

import { answer, api } from '../api/client'
import { key } from '../api/queries'
import type { Schedule, Visit } from '../api/types'
import { holds, may } from '../api/session'
import { useDeeds, type Deed } from '../api/mutations'
import { useFocusBack } from '../components/Dialog'
import { Icon, type IconName } from '../components/Icon'
import { PauseDialog } from '../components/PauseDialog'
import { chooseZone } from '../lib/timezones'
import { PLACES } from './navigation'
import classes from './CommandPalette.module.css'

interface Command {
  id: string
  name: string
  about?: string
  icon: IconName
  act: () => void
}

interface Props {
  onClose: () => void
  visit: Visit
  namespace: string
}

/** What can be done to a schedule, and when; its first word finds it. */
const DEEDS: { deed: Exclude<Deed, 'unskip'>; fits: (schedule: Schedule) => boolean; name: (id: string) => string }[] = [
  { deed: 'pause', fits: ({ state }) => state === 'active' || state === 'exhausted', name: (id) => `Pause ${id}` },
  { deed: 'resume', fits: ({ state }) => state === 'paused', name: (id) => `Resume ${id}` },
  { deed: 'trigger', fits: () => true, name: (id) => `Trigger ${id} now` },
  { deed: 'skip', fits: ({ next_run_at: next }) => Boolean(next), name: (id) => `Skip the next tick of ${id}` },
]
const SCHEMES = [
  { name: 'light', text: 'Light colours', icon: 'sun' },
  { name: 'dark', text: 'Dark colours', icon: 'moon' },
  { name: 'auto', text: 'Colours as the system has them', icon: 'auto' },
] as const

/** Everything within reach of the keyboard: schedules and what is done to them, places, switches. */
export function Palette({ onClose, visit, namespace }: Props) {
  const deeds = useDeeds()
  const [pausing, setPausing] = useState<string | null>(null)
  useFocusBack()
  const onDo = (deed: Deed, { schedule_id: id, next_run_at: at }: Schedule) => {
    if (deed === 'pause') return setPausing(id)
    onClose()
    deeds.mutate({ deed, id, at })
  }
  if (pausing)
    return (
      <PauseDialog
        title={`Pause ${pausing}`}
        onClose={onClose}
        busy={deeds.isPending}
        onPause={(pause) => deeds.mutate({ deed: 'pause', id: pausing, pause }, { onSuccess: onClose })}
      />
    )
  return (
    <Modal.Root opened onClose={onClose} returnFocus={false} padding={0} yOffset="12vh" centered={false} size={560}>
      <Modal.Overlay backgroundOpacity={0.35} />
      <Modal.Content aria-label="Commands">
        <Inside onClose={onClose} onDo={onDo} visit={visit} namespace={namespace} />
      </Modal.Content>
    </Modal.Root>
  )
}

interface InsideProps extends Props {
  onDo: (deed: Deed, schedule: Schedule) => void
}

function Inside({ onClose, onDo, visit, namespace }: InsideProps) {
  const list = useId()
  const [typed, setTyped] = useState('')
  const [chosen, setChosen] = useState(0)
  const { verb, text } = read(typed)
  const found = useFound(text)
  const option = useRef<HTMLLIElement>(null)
  useEffect(() => setChosen(0), [typed, found])
  useEffect(() => {
    option.current?.scrollIntoView({ block: 'nearest' })
  }, [chosen])

  const places = usePlaces({ onClose, visit, namespace }, (deed) => setTyped(`${deed} `))
  const deeds = may(visit, 'operator', namespace) ? deedsFor(verb ? found : found.slice(0, 1), verb, onDo) : []
  const schedules = useSchedules(verb && deeds.length > 0 ? [] : found, onClose)
  const shown = [...schedules, ...deeds, ...places.filter((each) => each.name.toLowerCase().includes(typed.trim().toLowerCase()))]

  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.key === 'ArrowDown') setChosen((at) => Math.min(at + 1, shown.length - 1))
    else if (event.key === 'ArrowUp') setChosen((at) => Math.max(at - 1, 0))
    else if (event.key === 'Enter') shown[chosen]?.act()
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
            ref={at === chosen ? option : undefined}
            role="option"
            aria-selected={at === chosen}
            className={classes.command}
            onClick={command.act}
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

/** What is typed: the name of something, or a deed and the schedule that it is for. */
function read(typed: string): { verb: string; text: string } {
  const [, verb = '', text = ''] = /^(pause|resume|trigger|skip)\s(.*)$/i.exec(typed.trimStart()) ?? []
  return { verb: verb.toLowerCase(), text: (verb ? text : typed).trim() }
}

const NONE: Schedule[] = []

function useFound(typed: string): Schedule[] {
  const [text] = useDebouncedValue(typed, 150)
  const { data } = useQuery({
    queryKey: key('palette', text),
    queryFn: () => answer(api.GET('/api/v1/schedules', { params: { query: { text, limit: 8 } } })),
    enabled: text.length > 0,
  })
  return (text && typed && data?.items) || NONE
}

function useSchedules(found: Schedule[], onClose: () => void): Command[] {
  const navigate = useNavigate()
  return found.map(({ schedule_id: id, state }) => ({
    id: `schedule ${id}`,
    name: id,
    about: state,
    icon: 'schedules',
    act: () => {
      onClose()
      void navigate({ to: '/schedules/$id', params: { id } })
    },
  }))
}

/** What can be done to the schedules that were found: only what was typed, or everything. */
function deedsFor(found: Schedule[], verb: string, onDo: (deed: Deed, schedule: Schedule) => void): Command[] {
  return found
    .filter(({ state }) => state !== 'closed' && state !== 'damaged')
    .flatMap((schedule) =>
      DEEDS.filter(({ deed, fits }) => (!verb || deed === verb) && fits(schedule)).map(({ deed, name }) => ({
        id: `${deed} ${schedule.schedule_id}`,
        name: name(schedule.schedule_id),
        icon: deed,
        act: () => onDo(deed, schedule),
      })),
    )
}

/** What is there whatever is typed; a deed that still lacks its schedule begins the text. */
function usePlaces({ onClose, visit, namespace }: Props, onBegin: (deed: Deed) => void): Command[] {
  const navigate = useNavigate()
  const { setColorScheme } = useMantineColorScheme()
  const command = (name: string, icon: IconName, act: () => void, about?: string): Command => ({
    id: `command ${name}`,
    name,
    icon,
    about,
    act: () => {
      onClose()
      act()
    },
  })
  return [
    ...PLACES.filter((place) => holds(visit, place.role, namespace)).map((place) => command(place.name, place.icon, () => void navigate({ to: place.to }), 'Go to')),
    ...(may(visit, 'editor', namespace) ? [command('New schedule', 'plus', () => void navigate({ to: '/new' }))] : []),
    ...(may(visit, 'operator', namespace) ? DEEDS.map(({ deed, name }) => ({ id: `begin ${deed}`, name: name('…'), icon: deed, act: () => onBegin(deed) })) : []),
    command('Show times in my zone', 'clock', () => chooseZone('mine')),
    command("Show times in each schedule's zone", 'clock', () => chooseZone('schedule')),
    command('Show times in UTC', 'clock', () => chooseZone('utc')),
    ...SCHEMES.map(({ name, text, icon }) => command(text, icon, () => setColorScheme(name))),
  ]
}
