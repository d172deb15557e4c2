import { Autocomplete, Button, Select, TextInput } from '@mantine/core'
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { memo, useState } from 'react'

import { schedulesQuery, workflowsQuery } from '../../api/queries'
import type { ScheduleFilter } from '../../api/types'
import { Icon } from '../../components/Icon'
import classes from './Filters.module.css'
import { useFilterInput } from './useFilterInput'

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
  const applyFilter = (changes: ScheduleFilter): Promise<void> => {
    const loaded = queries.prefetchInfiniteQuery(schedulesQuery({ ...filter, ...changes }))
    void navigate({ search: (all) => ({ ...all, ...changes }), replace: true })
    return loaded
  }
  const isFiltered = Object.values(filter).some(Boolean)
  return (
    <div className={classes.filters} role="search">
      <TextFilter name="text" label="Search" placeholder="Search ids and descriptions" value={filter.text} onChange={(text) => applyFilter({ text })} search />
      <Select
        aria-label="State"
        placeholder="Any state"
        data={STATES}
        value={filter.state ?? null}
        onChange={(state) => void applyFilter({ state: state ?? undefined })}
        clearable
        w={130}
        withScrollArea={false}
        comboboxProps={{ transitionProps: { duration: 0 } }}
      />
      <WorkflowFilter value={filter.workflow_id} onChange={(workflow_id) => applyFilter({ workflow_id })} />
      <TextFilter name="label" label="Label" placeholder="Label, team=billing" value={filter.label} onChange={(label) => applyFilter({ label })} format={{ pattern: /^[^=]+=./, error: 'As name=value' }} />
      <TextFilter name="user_id" label="User" placeholder="User" value={filter.user_id} onChange={(user_id) => applyFilter({ user_id })} />
      {isFiltered && (
        <Button variant="subtle" color="gray" onClick={() => void navigate({ search: (all) => ({ namespace: all.namespace }), replace: true })}>
          Clear
        </Button>
      )}
    </div>
  )
})

/** A workflow by its whole name, which is suggested. */
function WorkflowFilter({ value, onChange }: { value: string | undefined; onChange: (value: string | undefined) => Promise<void> }) {
  const { input, setInput, send, cancelPending } = useFilterInput(value, onChange)
  const [isOpen, setIsOpen] = useState(false)
  const query = useInfiniteQuery({ ...workflowsQuery(), enabled: isOpen })
  const names = query.data?.pages.flatMap((page) => page.items.map((workflow) => workflow.workflow_id)) ?? []
  const matching = (text: string) => names.filter((name) => name.toLowerCase().includes(text.trim().toLowerCase()))
  return (
    <Autocomplete
      name="workflow_id"
      aria-label="Workflow"
      placeholder="Workflow"
      size="xs"
      className={classes.field}
      data={matching(input)}
      limit={20}
      selectFirstOptionOnChange
      onBlur={() => send(input)}
      value={input}
      onFocus={() => setIsOpen(true)}
      onChange={(text) => {
        setInput(text)
        if (text.trim() === '' || names.includes(text.trim()) || matching(text).length === 0) send(text)
        else cancelPending()
      }}
    />
  )
}

interface TextFilterProps {
  name: string
  label: string
  placeholder: string
  value: string | undefined
  onChange: (value: string | undefined) => Promise<void>
  search?: boolean
  /** What it has to be like before it is asked for, and how to say so. */
  format?: { pattern: RegExp; error: string }
}

/** A filter that is typed: the list follows. */
function TextFilter({ name, label, placeholder, value, onChange, search, format }: TextFilterProps) {
  const { input, setInput, send, cancelPending } = useFilterInput(value, onChange)
  const isInvalid = format && input.trim() !== '' && !format.pattern.test(input.trim())
  return (
    <TextInput
      name={name}
      aria-label={label}
      placeholder={placeholder}
      className={search ? classes.search : classes.field}
      leftSection={search ? <Icon name="search" size={14} /> : undefined}
      data-search={search || undefined}
      value={input}
      error={isInvalid && format.error}
      onChange={(event) => {
        const text = event.currentTarget.value
        setInput(text)
        if (text.trim() === '' || !format || format.pattern.test(text.trim())) send(text)
        else cancelPending()
      }}
    />
  )
}
