import { Button, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'

import { configQuery } from '../../api/queries'
import { DescriptionList } from '../../components/DescriptionList'
import { durationText } from '../../lib/format'
import { Icon } from '../../components/Icon'
import { EmptyState, Loading, ErrorState } from '../../components/states'
import { PageHeader } from '../../components/PageHeader'
import classes from './SettingsView.module.css'

interface ServiceConfig {
  file: string | null
  values: { name: string; value: unknown; origin: string; default: unknown; meaning: string; unit: string | null }[]
  executors: string[]
  schedules: string[]
  notifications: string[]
  issuers: string[]
  certificates: string[]
}

/** Every setting of this service, and where its value came from. */
export function SettingsView() {
  const query = useQuery(configQuery())
  const [search, setSearch] = useState('')
  const config = query.data as ServiceConfig | undefined
  const settings = (config?.values ?? []).filter((setting) => `${setting.name} ${setting.value} ${setting.origin} ${setting.meaning}`.toLowerCase().includes(search.toLowerCase()))
  return (
    <>
      <PageHeader title="Settings">
        <TextInput
          aria-label="Find a setting"
          placeholder="Find a setting"
          data-search
          leftSection={<Icon name="search" size={14} />}
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
        />
      </PageHeader>
      {query.isPending ? (
        <Loading lines={12} />
      ) : query.isError ? (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      ) : (
        <>
          <p className="dim">
            They are read when the service starts, from a file, the environment and flags; <code>tompion config</code> shows
            the same.
          </p>
          {config?.file && (
            <div className={`panel ${classes.told}`}>
              <DescriptionList
                items={[
                  ['File', config.file],
                  ['Executors', config?.executors.join(', ')],
                  ['Schedules of the file', config?.schedules.join(', ')],
                  ['Notifications', config?.notifications.join(', ')],
                  ['Issuers of tokens', config?.issuers.join(', ')],
                  ['Certificates', config?.certificates.join(', ')],
                ]}
              />
            </div>
          )}
          {settings.length === 0 ? (
            <EmptyState title="No setting matches">
              <Button variant="default" onClick={() => setSearch('')}>
                Show all settings
              </Button>
            </EmptyState>
          ) : (
            <div className="panel scroll-x">
              <table className={`plain-table stacked ${classes.table}`}>
                <thead>
                  <tr>
                    <th>Setting</th>
                    <th>Value</th>
                    <th>From</th>
                  </tr>
                </thead>
                <tbody>
                  {settings.map((setting) => (
                    <tr key={setting.name}>
                      <td>
                        <div>
                          <span className="mono">{setting.name}</span>
                          <p className={classes.meaning}>{formatMeaning(setting.meaning)}</p>
                        </div>
                      </td>
                      <td data-name="Value">
                        <div>
                          <span className="mono">{formatValue(setting.value)}</span>
                          {unitText(setting.value, setting.unit) && <span className={classes.unit}>{unitText(setting.value, setting.unit)}</span>}
                        </div>
                      </td>
                      <td data-name="From">
                        <div>
                          <span className={setting.origin === 'default' ? 'dim' : undefined}>{setting.origin}</span>
                          {setting.origin !== 'default' && <span className={classes.unit}>default: {formatValue(setting.default)}</span>}
                        </div>
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )}
        </>
      )}
    </>
  )
}

function formatValue(value: unknown): string {
  if (value === null || value === '' || (Array.isArray(value) && value.length === 0)) return '–'
  if (Array.isArray(value)) return value.join(', ')
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** What a value comes to: "120000" is "milliseconds: 2m". */
function unitText(value: unknown, unit: string | null): string {
  if (!unit) return ''
  const ms = typeof value !== 'number' ? 0 : unit === 'milliseconds' ? value : unit === 'seconds' ? value * 1_000 : 0
  const bytes = unit === 'bytes' && typeof value === 'number' && value >= 1_024
  if (bytes) return `bytes: ${(value / 1_024).toLocaleString('en-GB')} KiB`
  return ms >= 1_000 ? `${unit}: ${durationText(ms).replace(/\.0 s$/, ' s')}` : unit
}

/** A meaning as a sentence, with what it names in the letters of names. */
function formatMeaning(meaning: string): ReactNode {
  const first = /^\w+[:,]/.test(meaning) ? meaning.charAt(0) : meaning.charAt(0).toUpperCase() // a value stays as it is
  const parts = `${first}${meaning.slice(1)}.`.split('`')
  return parts.map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part))
}
