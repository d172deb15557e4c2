import { Modal, TextInput, useMantineColorScheme } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useId, useRef, useState } from 'react'
import { type ScheduleAction, useScheduleMutations } from '../api/mutations'
import { scheduleSearchQuery } from '../api/queries'
import { hasRole, isAllowed } from '../api/session'
import type { Schedule, Session } from '../api/types'
import { useReturnFocus } from '../components/Dialog'
import { Icon, type IconName } from '../components/Icon'
import { PauseDialog } from '../components/PauseDialog'
import { chooseZone } from '../lib/timezones'
import { codeText, t } from '../messages'
import classes from './CommandPalette.module.css'
import { NAVIGATION } from './navigation'

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

/** The actions on a schedule and the statuses in which each applies. `verb` is the word that the user types. */
const ACTIONS = [
  {
    action: 'pause',
    verb: t('palette.verbPause'),
    isApplicable: ({ status }: Schedule) => status === 'active' || status === 'exhausted',
    name: (id: string) => t('palette.pause', { id }),
    start: t('palette.pauseSome'),
  },
  {
    action: 'resume',
    verb: t('palette.verbResume'),
    isApplicable: ({ status }: Schedule) => status === 'paused',
    name: (id: string) => t('palette.resume', { id }),
    start: t('palette.resumeSome'),
  },
  {
    action: 'trigger',
    verb: t('palette.verbRun'),
    isApplicable: () => true,
    name: (id: string) => t('palette.trigger', { id }),
    start: t('palette.triggerSome'),
  },
  {
    action: 'skip',
    verb: t('palette.verbSkip'),
    isApplicable: ({ next_run_at: next }: Schedule) => Boolean(next),
    name: (id: string) => t('palette.skip', { id }),
    start: t('palette.skipSome'),
  },
] as const
const THEMES = [
  { name: 'light', label: t('palette.themeLight'), icon: 'sun' },
  { name: 'dark', label: t('palette.themeDark'), icon: 'moon' },
  { name: 'auto', label: t('palette.themeSystem'), icon: 'auto' },
] as const

/** The command palette: schedules and their actions, views and settings, by keyboard. */
export function CommandPalette({ onClose, session, namespace }: Props) {
  const mutation = useScheduleMutations()
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
        title={t('pause.title', { id: pausingId })}
        onClose={onClose}
        busy={mutation.isPending}
        onPause={(pause) => mutation.mutate({ action: 'pause', id: pausingId, pause }, { onSuccess: onClose })}
      />
    )
  return (
    <Modal.Root opened onClose={onClose} returnFocus={false} padding={0} yOffset="12vh" centered={false} size={560}>
      <Modal.Overlay backgroundOpacity={0.35} />
      <Modal.Content aria-label={t('palette.title')}>
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
  const option = useRef<HTMLDivElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new input or new results select the first command
  useEffect(() => setSelectedIndex(0), [input, matches])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the ref points to the selected option
  useEffect(() => {
    option.current?.scrollIntoView({ block: 'nearest' })
  }, [selectedIndex])

  const staticCommands = useStaticCommands({ onClose, session, namespace }, (verb) => setInput(`${verb} `))
  const actionCommands = isAllowed(session, 'operator', namespace)
    ? actionCommandsFor(verb ? matches : matches.slice(0, 1), verb, onAction)
    : []
  const scheduleCommands = useScheduleCommands(verb && actionCommands.length > 0 ? [] : matches, onClose)
  const commands = [
    ...scheduleCommands,
    ...actionCommands,
    ...staticCommands.filter((command) => command.name.toLowerCase().includes(input.trim().toLowerCase())),
  ]

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
        placeholder={t('palette.placeholder')}
        aria-label={t('palette.input')}
        role="combobox"
        aria-expanded
        aria-controls={list}
        aria-activedescendant={commands[selectedIndex] && `${list}-${selectedIndex}`}
        leftSection={<Icon name="search" />}
        value={input}
        onChange={(event) => setInput(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <div id={list} role="listbox" aria-label={t('palette.results')} className={classes.list}>
        {commands.map((command, at) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the combobox above handles the keys
          <div
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
          </div>
        ))}
        {commands.length === 0 && <div className={classes.none}>{t('palette.noResults')}</div>}
      </div>
    </>
  )
}

/** Split the input into the verb of an action, if it begins with one, and the text to search for. */
function parseInput(input: string): { verb: string; text: string } {
  const trimmed = input.trimStart()
  const space = trimmed.search(/\s/)
  const verb = space > 0 ? trimmed.slice(0, space).toLowerCase() : ''
  const isVerb = ACTIONS.some((item) => item.verb === verb)
  return isVerb ? { verb, text: trimmed.slice(space).trim() } : { verb: '', text: input.trim() }
}

const NO_SCHEDULES: Schedule[] = []

function useMatchingSchedules(input: string): Schedule[] {
  const [text] = useDebouncedValue(input, 150)
  const { data } = useQuery(scheduleSearchQuery(text))
  return (text && input && data?.items) || NO_SCHEDULES
}

function useScheduleCommands(matches: Schedule[], onClose: () => void): Command[] {
  const navigate = useNavigate()
  return matches.map(({ schedule_id: id, status }) => ({
    id: `schedule ${id}`,
    name: id,
    description: codeText('scheduleState', status),
    icon: 'schedules',
    run: () => {
      onClose()
      void navigate({ to: '/schedules/$id', params: { id } })
    },
  }))
}

/** Return the actions on the matching schedules: the one that was typed, or all. */
function actionCommandsFor(
  matches: Schedule[],
  verb: string,
  onAction: (action: ScheduleAction, schedule: Schedule) => void,
): Command[] {
  return matches
    .filter(({ status }) => status !== 'closed' && status !== 'damaged')
    .flatMap((schedule) =>
      ACTIONS.filter((item) => (!verb || item.verb === verb) && item.isApplicable(schedule)).map(
        ({ action, name }) => ({
          id: `${action} ${schedule.schedule_id}`,
          name: name(schedule.schedule_id),
          icon: action,
          run: () => onAction(action, schedule),
        }),
      ),
    )
}

/** Return the commands that do not depend on a schedule. Choosing an action types its verb. */
function useStaticCommands({ onClose, session, namespace }: Props, onStartAction: (verb: string) => void): Command[] {
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
    ...NAVIGATION.filter((item) => hasRole(session, item.role, namespace)).map((item) =>
      command(t(item.label), item.icon, () => void navigate({ to: item.to }), t('palette.goTo')),
    ),
    ...(isAllowed(session, 'editor', namespace)
      ? [command(t('palette.newSchedule'), 'plus', () => void navigate({ to: '/new' }))]
      : []),
    ...(isAllowed(session, 'operator', namespace)
      ? ACTIONS.map(({ action, verb, start }) => ({
          id: `start ${action}`,
          name: start,
          icon: action,
          run: () => onStartAction(verb),
        }))
      : []),
    command(t('palette.timesLocal'), 'clock', () => chooseZone('local')),
    command(t('palette.timesSchedule'), 'clock', () => chooseZone('schedule')),
    command(t('palette.timesUtc'), 'clock', () => chooseZone('utc')),
    ...THEMES.map(({ name, label, icon }) => command(label, icon, () => setColorScheme(name))),
  ]
}
