import { TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'

import { configQuery } from '../../api/queries'
import { Facts } from '../../parts/Facts'
import { Icon } from '../../parts/Icon'
import { Waiting, Wrong } from '../../parts/notes'
import { PageHead } from '../../parts/Page'
import classes from './Settings.module.css'

interface Told {
  file: string | null
  values: { name: string; value: unknown; origin: string }[]
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
  const settings = (told?.values ?? []).filter((each) => `${each.name} ${each.value} ${each.origin}`.toLowerCase().includes(typed.toLowerCase()))
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
            They are read when the service starts, from a file, the environment and flags; <code>foliot config</code> shows
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
          <div className="panel scroll-x">
            <table className="plain-table">
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
                    <td className="mono">{each.name}</td>
                    <td className="mono">{shown(each.value)}</td>
                    <td className={each.origin === 'default' ? 'dim' : undefined}>{each.origin}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
    </>
  )
}

function shown(value: unknown): string {
  if (value === null || value === '') return '–'
  return typeof value === 'string' ? value : JSON.stringify(value)
}
