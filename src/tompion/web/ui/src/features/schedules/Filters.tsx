import { Autocomplete, Button, Select, TextInput } from '@mantine/core'
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { memo, useState } from 'react'

import { schedulesQuery, workflowsQuery } from '../../api/queries'
import type { ScheduleFilter } from '../../api/types'
import { Icon } from '../../components/Icon'
import classes from './Filters.module.css'
import { useTyped } from './useFilterInput'

const route = getRouteApi('/schedules')
const STATES = [
  { value: 'active', label: 'Active' },
  { value: 'paused', label: 'Paused' },
  { value: 'exhausted', label: 'Exhausted' },
  { value: 'closed', label: 'Deleted' },
]

/** What narrows the list down; it stands in the address, so that it can be sent to somebody. */
export const Filters = memo(function Filters({ filter }: { filter: ScheduleFilter }) {
  const navigate = route.useNavigate()
  const queries = useQueryClient()
  /** Ask first, so that the answer is under way while the address changes. */
  const change = (changed: ScheduleFilter): Promise<void> => {
    const answered = queries.prefetchInfiniteQuery(schedulesQuery({ ...filter, ...changed }))
    void navigate({ search: (all) => ({ ...all, ...changed }), replace: true })
    return answered
  }
  const some = Object.values(filter).some(Boolean)
  return (
    <div className={classes.filters} role="search">
      <Typed name="text" label="Search" placeholder="Search ids and descriptions" value={filter.text} onChange={(text) => change({ text })} search />
      <Select
        aria-label="State"
        placeholder="Any state"
        data={STATES}
        value={filter.state ?? null}
        onChange={(state) => void change({ state: state ?? undefined })}
        clearable
        w={130}
        withScrollArea={false}
        comboboxProps={{ transitionProps: { duration: 0 } }}
      />
      <Workflow value={filter.workflow_id} onChange={(workflow_id) => change({ workflow_id })} />
      <Typed name="label" label="Label" placeholder="Label, team=billing" value={filter.label} onChange={(label) => change({ label })} form={{ fits: /^[^=]+=./, says: 'As name=value' }} />
      <Typed name="user_id" label="User" placeholder="User" value={filter.user_id} onChange={(user_id) => change({ user_id })} />
      {some && (
        <Button variant="subtle" color="gray" onClick={() => void navigate({ search: (all) => ({ namespace: all.namespace }), replace: true })}>
          Clear
        </Button>
      )}
    </div>
  )
})

/** A workflow by its whole name, which is suggested. */
function Workflow({ value, onChange }: { value: string | undefined; onChange: (value: string | undefined) => Promise<void> }) {
  const { typed, type, tell, withhold } = useTyped(value, onChange)
  const [wanted, setWanted] = useState(false)
  const found = useInfiniteQuery({ ...workflowsQuery(), enabled: wanted })
  const names = found.data?.pages.flatMap((page) => page.items.map((each) => each.workflow_id)) ?? []
  const like = (text: string) => names.filter((name) => name.toLowerCase().includes(text.trim().toLowerCase()))
  return (
    <Autocomplete
      name="workflow_id"
      aria-label="Workflow"
      placeholder="Workflow"
      size="xs"
      className={classes.field}
      data={like(typed)}
      limit={20}
      selectFirstOptionOnChange
      onBlur={() => tell(typed)}
      value={typed}
      onFocus={() => setWanted(true)}
      onChange={(text) => {
        type(text)
        if (text.trim() === '' || names.includes(text.trim()) || like(text).length === 0) tell(text)
        else withhold()
      }}
    />
  )
}

interface TypedProps {
  name: string
  label: string
  placeholder: string
  value: string | undefined
  onChange: (value: string | undefined) => Promise<void>
  search?: boolean
  /** What it has to be like before it is asked for, and how to say so. */
  form?: { fits: RegExp; says: string }
}

/** A filter that is typed: the list follows. */
function Typed({ name, label, placeholder, value, onChange, search, form }: TypedProps) {
  const { typed, type, tell, withhold } = useTyped(value, onChange)
  const unfit = form && typed.trim() !== '' && !form.fits.test(typed.trim())
  return (
    <TextInput
      name={name}
      aria-label={label}
      placeholder={placeholder}
      className={search ? classes.search : classes.field}
      leftSection={search ? <Icon name="search" size={14} /> : undefined}
      data-search={search || undefined}
      value={typed}
      error={unfit && form.says}
      onChange={(event) => {
        const text = event.currentTarget.value
        type(text)
        if (text.trim() === '' || !form || form.fits.test(text.trim())) tell(text)
        else withhold()
      }}
    />
  )
}
