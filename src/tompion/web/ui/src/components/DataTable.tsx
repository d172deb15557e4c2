import type { ReactNode } from 'react'

import { Loading, ErrorState } from './states'

export interface Column<T> {
  name: string
  cell: (item: T) => ReactNode
  className?: string
}

interface Props<T> {
  query: { isPending: boolean; isError: boolean; error: unknown; refetch: () => unknown }
  items: T[]
  keyOf: (item: T) => string
  columns: Column<T>[]
  /** What can be done to an item; absent for those who may not. */
  actions?: (item: T) => ReactNode
  empty: ReactNode
  /** What stands below, such as a button for more. */
  children?: ReactNode
}

/** A plain list: waiting, wrong, empty, or a table with its actions on the right. */
export function DataTable<T>({ query, items, keyOf, columns, actions, empty, children }: Props<T>) {
  if (query.isPending) return <Loading />
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  if (items.length === 0) return empty
  return (
    <>
      <div className="panel scroll-x">
        <table className="plain-table stacked">
          <thead>
            <tr>
              {columns.map(({ name }) => (
                <th key={name}>{name}</th>
              ))}
              {actions && <th aria-label="Actions" />}
            </tr>
          </thead>
          <tbody>
            {items.map((item) => (
              <tr key={keyOf(item)}>
                {columns.map(({ name, cell, className }) => (
                  <td key={name} data-name={name} className={className}>
                    {cell(item)}
                  </td>
                ))}
                {actions && <td className="acts">{actions(item)}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {children}
    </>
  )
}
