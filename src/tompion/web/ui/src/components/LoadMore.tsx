import { Button } from '@mantine/core'

interface PagedQuery {
  hasNextPage: boolean
  isFetchingNextPage: boolean
  fetchNextPage: () => unknown
}

/** The way to the next page of a list, if there is one. */
export function LoadMore({ query, children }: { query: PagedQuery; children: string }) {
  if (!query.hasNextPage) return null
  return (
    <Button mt="sm" variant="default" loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
      {children}
    </Button>
  )
}
