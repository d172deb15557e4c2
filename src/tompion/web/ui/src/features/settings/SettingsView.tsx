import { Button, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'

import { configQuery } from '../../api/queries'
import { Facts } from '../../components/DescriptionList'
import { durationText } from '../../lib/format'
import { Icon } from '../../components/Icon'
import { Empty, Waiting, Wrong } from '../../components/states'
import { PageHead } from '../../components/PageHeader'
import classes from './SettingsView.module.css'

interface Told {
  file: string | null
  values: { name: string; value: unknown; origin: string; default: unknown; meaning: string; unit: string | null }[]
  executors: string[]
  schedules: string[]
  notifications: string[]
  issuers: string[]
  certificates: string[]
}

/** Every setting of this service, and where its value came from. */
export function Settings() {
  const found = useQuery(configQuery())
  const [typed, setTyped] = useState('')
  const told = found.data as Told | undefined
  const settings = (told?.values ?? []).filter((each) => `${each.name} ${each.value} ${each.origin} ${each.meaning}`.toLowerCase().includes(typed.toLowerCase()))
  return (
    <>
      <PageHead title="Settings">
        <TextInput
          aria-label="Find a setting"
          placeholder="Find a setting"
          data-search
          leftSection={<Icon name="search" size={14} />}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
      </PageHead>
      {found.isPending ? (
        <Waiting lines={12} />
      ) : found.isError ? (
        <Wrong error={found.error} onRetry={() => void found.refetch()} />
      ) : (
        <>
          <p className="dim">
            They are read when the service starts, from a file, the environment and flags; <code>tompion config</code> shows
            the same.
          </p>
          {told?.file && (
            <div className={`panel ${classes.told}`}>
              <Facts
                facts={[
                  ['File', told.file],
                  ['Executors', told?.executors.join(', ')],
                  ['Schedules of the file', told?.schedules.join(', ')],
                  ['Notifications', told?.notifications.join(', ')],
                  ['Issuers of tokens', told?.issuers.join(', ')],
                  ['Certificates', told?.certificates.join(', ')],
                ]}
              />
            </div>
          )}
          {settings.length === 0 ? (
            <Empty title="No setting matches">
              <Button variant="default" onClick={() => setTyped('')}>
                Show all settings
              </Button>
            </Empty>
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
                  {settings.map((each) => (
                    <tr key={each.name}>
                      <td>
                        <div>
                          <span className="mono">{each.name}</span>
                          <p className={classes.meaning}>{explained(each.meaning)}</p>
                        </div>
                      </td>
                      <td data-name="Value">
                        <div>
                          <span className="mono">{shown(each.value)}</span>
                          {inWords(each.value, each.unit) && <span className={classes.unit}>{inWords(each.value, each.unit)}</span>}
                        </div>
                      </td>
                      <td data-name="From">
                        <div>
                          <span className={each.origin === 'default' ? 'dim' : undefined}>{each.origin}</span>
                          {each.origin !== 'default' && <span className={classes.unit}>default: {shown(each.default)}</span>}
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

function shown(value: unknown): string {
  if (value === null || value === '' || (Array.isArray(value) && value.length === 0)) return '–'
  if (Array.isArray(value)) return value.join(', ')
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** What a value comes to: "120000" is "milliseconds: 2m". */
function inWords(value: unknown, unit: string | null): string {
  if (!unit) return ''
  const ms = typeof value !== 'number' ? 0 : unit === 'milliseconds' ? value : unit === 'seconds' ? value * 1_000 : 0
  const bytes = unit === 'bytes' && typeof value === 'number' && value >= 1_024
  if (bytes) return `bytes: ${(value / 1_024).toLocaleString('en-GB')} KiB`
  return ms >= 1_000 ? `${unit}: ${durationText(ms).replace(/\.0 s$/, ' s')}` : unit
}

/** A meaning as a sentence, with what it names in the letters of names. */
function explained(meaning: string): ReactNode {
  const first = /^\w+[:,]/.test(meaning) ? meaning.charAt(0) : meaning.charAt(0).toUpperCase() // a value stays as it is
  const parts = `${first}${meaning.slice(1)}.`.split('`')
  return parts.map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part))
}
