import { Autocomplete, Button, Select, TextInput } from '@mantine/core'
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { memo, useState } from 'react'
import { schedulesQuery, workflowsQuery } from '../../api/queries'
import type { ScheduleFilter } from '../../api/types'
import { Icon } from '../../components/Icon'
import { codeText, t } from '../../messages'
import classes from './Filters.module.css'
import { useFilterInput } from './useFilterInput'

const route = getRouteApi('/schedules')
const STATUSES = ['active', 'paused', 'exhausted', 'closed'].map((value) => ({
  value,
  label: codeText('scheduleState', value),
}))

/** The filters of the list. They are part of the URL, so that a filtered list can be shared. */
export const Filters = memo(function Filters({ filter }: { filter: ScheduleFilter }) {
  const navigate = route.useNavigate()
  const queries = useQueryClient()
  /** Send the request before the navigation, so that both run at the same time. */
  const applyFilter = (changes: ScheduleFilter): Promise<void> => {
    const loaded = queries.prefetchInfiniteQuery(schedulesQuery({ ...filter, ...changes }))
    void navigate({ search: (all) => ({ ...all, ...changes }), replace: true })
    return loaded
  }
  const isFiltered = Object.values(filter).some(Boolean)
  return (
    <div className={classes.filters} role="search">
      <TextFilter
        name="text"
        label={t('common.search')}
        placeholder={t('schedules.search')}
        value={filter.text}
        onChange={(text) => applyFilter({ text })}
        search
      />
      <Select
        aria-label={t('common.state')}
        placeholder={t('common.anyState')}
        data={STATUSES}
        value={filter.status ?? null}
        onChange={(status) => void applyFilter({ status: status ?? undefined })}
        clearable
        w={130}
        withScrollArea={false}
        comboboxProps={{ transitionProps: { duration: 0 } }}
      />
      <WorkflowFilter value={filter.workflow_id} onChange={(workflow_id) => applyFilter({ workflow_id })} />
      <TextFilter
        name="label"
        label={t('schedules.label')}
        placeholder={t('schedules.labelPlaceholder')}
        value={filter.label}
        onChange={(label) => applyFilter({ label })}
        format={{ pattern: /^[^=]+=./, error: t('schedules.labelFormat') }}
      />
      <TextFilter
        name="user_id"
        label={t('schedules.owner')}
        placeholder={t('schedules.ownerPlaceholder')}
        value={filter.user_id}
        onChange={(user_id) => applyFilter({ user_id })}
      />
      {isFiltered && (
        <Button
          variant="subtle"
          color="gray"
          onClick={() => void navigate({ search: (all) => ({ namespace: all.namespace }), replace: true })}
        >
          {t('common.clearFilters')}
        </Button>
      )}
    </div>
  )
})

/** A filter for one workflow, with suggestions. */
function WorkflowFilter({
  value,
  onChange,
}: {
  value: string | undefined
  onChange: (value: string | undefined) => Promise<void>
}) {
  const { input, setInput, send, cancelPending } = useFilterInput(value, onChange)
  const [isOpen, setIsOpen] = useState(false)
  const query = useInfiniteQuery({ ...workflowsQuery(), enabled: isOpen })
  const names = query.data?.pages.flatMap((page) => page.items.map((workflow) => workflow.workflow_id)) ?? []
  const matching = (text: string) => names.filter((name) => name.toLowerCase().includes(text.trim().toLowerCase()))
  return (
    <Autocomplete
      name="workflow_id"
      aria-label={t('common.workflow')}
      placeholder={t('common.workflow')}
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
  /** The pattern that the text must match before it is sent, and the error otherwise. */
  format?: { pattern: RegExp; error: string }
}

/** A text filter. The list follows while the user types. */
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
