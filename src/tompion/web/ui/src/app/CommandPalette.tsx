import { Modal, TextInput, useMantineColorScheme } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useId, useRef, useState } from 'react'

import { unwrap, api } from '../api/client'
import { queryKey } from '../api/queries'
import type { Schedule, Session } from '../api/types'
import { hasRole, isAllowed } from '../api/session'
import { useScheduleMutation, type ScheduleAction } from '../api/mutations'
import { useReturnFocus } from '../components/Dialog'
import { Icon, type IconName } from '../components/Icon'
import { PauseDialog } from '../components/PauseDialog'
import { chooseZone } from '../lib/timezones'
import { NAVIGATION } from './navigation'
import classes from './CommandPalette.module.css'

interface Command {
  id: string
  name: string
  description?: string
  icon: IconName
  run: () => void
}

interface Props {
  onClose: () => void
  session: Session
  namespace: string
}

/** What can be done to a schedule, and when; its first word finds it. */
const ACTIONS: { action: Exclude<ScheduleAction, 'unskip'>; isApplicable: (schedule: Schedule) => boolean; name: (id: string) => string }[] = [
  { action: 'pause', isApplicable: ({ state }) => state === 'active' || state === 'exhausted', name: (id) => `Pause ${id}` },
  { action: 'resume', isApplicable: ({ state }) => state === 'paused', name: (id) => `Resume ${id}` },
  { action: 'trigger', isApplicable: () => true, name: (id) => `Trigger ${id} now` },
  { action: 'skip', isApplicable: ({ next_run_at: next }) => Boolean(next), name: (id) => `Skip the next tick of ${id}` },
]
const THEMES = [
  { name: 'light', label: 'Light colours', icon: 'sun' },
  { name: 'dark', label: 'Dark colours', icon: 'moon' },
  { name: 'auto', label: 'Colours as the system has them', icon: 'auto' },
] as const

/** Everything within reach of the keyboard: schedules and what is done to them, places, switches. */
export function CommandPalette({ onClose, session, namespace }: Props) {
  const mutation = useScheduleMutation()
  const [pausingId, setPausing] = useState<string | null>(null)
  useReturnFocus()
  const onAction = (action: ScheduleAction, { schedule_id: id, next_run_at: at }: Schedule) => {
    if (action === 'pause') return setPausing(id)
    onClose()
    mutation.mutate({ action, id, at })
  }
  if (pausingId)
    return (
      <PauseDialog
        title={`Pause ${pausingId}`}
        onClose={onClose}
        busy={mutation.isPending}
        onPause={(pause) => mutation.mutate({ action: 'pause', id: pausingId, pause }, { onSuccess: onClose })}
      />
    )
  return (
    <Modal.Root opened onClose={onClose} returnFocus={false} padding={0} yOffset="12vh" centered={false} size={560}>
      <Modal.Overlay backgroundOpacity={0.35} />
      <Modal.Content aria-label="Commands">
        <PaletteContent onClose={onClose} onAction={onAction} session={session} namespace={namespace} />
      </Modal.Content>
    </Modal.Root>
  )
}

interface PaletteContentProps extends Props {
  onAction: (action: ScheduleAction, schedule: Schedule) => void
}

function PaletteContent({ onClose, onAction, session, namespace }: PaletteContentProps) {
  const list = useId()
  const [input, setInput] = useState('')
  const [selectedIndex, setSelectedIndex] = useState(0)
  const { verb, text } = parseInput(input)
  const matches = useMatchingSchedules(text)
  const option = useRef<HTMLLIElement>(null)
  useEffect(() => setSelectedIndex(0), [input, matches])
  useEffect(() => {
    option.current?.scrollIntoView({ block: 'nearest' })
  }, [selectedIndex])

  const staticCommands = useStaticCommands({ onClose, session, namespace }, (action) => setInput(`${action} `))
  const actionCommands = isAllowed(session, 'operator', namespace) ? actionCommandsFor(verb ? matches : matches.slice(0, 1), verb, onAction) : []
  const scheduleCommands = useScheduleCommands(verb && actionCommands.length > 0 ? [] : matches, onClose)
  const commands = [...scheduleCommands, ...actionCommands, ...staticCommands.filter((command) => command.name.toLowerCase().includes(input.trim().toLowerCase()))]

  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.key === 'ArrowDown') setSelectedIndex((at) => Math.min(at + 1, commands.length - 1))
    else if (event.key === 'ArrowUp') setSelectedIndex((at) => Math.max(at - 1, 0))
    else if (event.key === 'Enter') commands[selectedIndex]?.run()
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
        aria-activedescendant={commands[selectedIndex] && `${list}-${selectedIndex}`}
        leftSection={<Icon name="search" />}
        value={input}
        onChange={(event) => setInput(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <ul id={list} role="listbox" aria-label="Found" className={classes.list}>
        {commands.map((command, at) => (
          <li
            key={command.id}
            id={`${list}-${at}`}
            ref={at === selectedIndex ? option : undefined}
            role="option"
            aria-selected={at === selectedIndex}
            className={classes.command}
            onClick={command.run}
            onMouseMove={() => setSelectedIndex(at)}
          >
            <Icon name={command.icon} />
            <span className={classes.name}>{command.name}</span>
            <span className="dim">{command.description}</span>
          </li>
        ))}
        {commands.length === 0 && <li className={classes.none}>Nothing is called that.</li>}
      </ul>
    </>
  )
}

/** What is typed: the name of something, or a deed and the schedule that it is for. */
function parseInput(input: string): { verb: string; text: string } {
  const [, verb = '', text = ''] = /^(pause|resume|trigger|skip)\s(.*)$/i.exec(input.trimStart()) ?? []
  return { verb: verb.toLowerCase(), text: (verb ? text : input).trim() }
}

const NO_SCHEDULES: Schedule[] = []

function useMatchingSchedules(input: string): Schedule[] {
  const [text] = useDebouncedValue(input, 150)
  const { data } = useQuery({
    queryKey: queryKey('palette', text),
    queryFn: () => unwrap(api.GET('/api/v1/schedules', { params: { query: { text, limit: 8 } } })),
    enabled: text.length > 0,
  })
  return (text && input && data?.items) || NO_SCHEDULES
}

function useScheduleCommands(matches: Schedule[], onClose: () => void): Command[] {
  const navigate = useNavigate()
  return matches.map(({ schedule_id: id, state }) => ({
    id: `schedule ${id}`,
    name: id,
    description: state,
    icon: 'schedules',
    run: () => {
      onClose()
      void navigate({ to: '/schedules/$id', params: { id } })
    },
  }))
}

/** What can be done to the schedules that were found: only what was typed, or everything. */
function actionCommandsFor(matches: Schedule[], verb: string, onAction: (action: ScheduleAction, schedule: Schedule) => void): Command[] {
  return matches
    .filter(({ state }) => state !== 'closed' && state !== 'damaged')
    .flatMap((schedule) =>
      ACTIONS.filter(({ action, isApplicable }) => (!verb || action === verb) && isApplicable(schedule)).map(({ action, name }) => ({
        id: `${action} ${schedule.schedule_id}`,
        name: name(schedule.schedule_id),
        icon: action,
        run: () => onAction(action, schedule),
      })),
    )
}

/** What is there whatever is typed; a deed that still lacks its schedule begins the text. */
function useStaticCommands({ onClose, session, namespace }: Props, onStartAction: (action: ScheduleAction) => void): Command[] {
  const navigate = useNavigate()
  const { setColorScheme } = useMantineColorScheme()
  const command = (name: string, icon: IconName, run: () => void, description?: string): Command => ({
    id: `command ${name}`,
    name,
    icon,
    description,
    run: () => {
      onClose()
      run()
    },
  })
  return [
    ...NAVIGATION.filter((item) => hasRole(session, item.role, namespace)).map((item) => command(item.label, item.icon, () => void navigate({ to: item.to }), 'Go to')),
    ...(isAllowed(session, 'editor', namespace) ? [command('New schedule', 'plus', () => void navigate({ to: '/new' }))] : []),
    ...(isAllowed(session, 'operator', namespace) ? ACTIONS.map(({ action, name }) => ({ id: `begin ${action}`, name: name('…'), icon: action, run: () => onStartAction(action) })) : []),
    command('Show times in my zone', 'clock', () => chooseZone('mine')),
    command("Show times in each schedule's zone", 'clock', () => chooseZone('schedule')),
    command('Show times in UTC', 'clock', () => chooseZone('utc')),
    ...THEMES.map(({ name, label, icon }) => command(label, icon, () => setColorScheme(name))),
  ]
}
