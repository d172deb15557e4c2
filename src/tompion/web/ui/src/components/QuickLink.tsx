import { useRouter } from '@tanstack/react-router'
import { type AnchorHTMLAttributes, type MouseEvent, useMemo } from 'react'

import { currentNamespace } from '../api/client'

type Destination = { to: '/schedules/$id'; params: { id: string } } | { to: '/runs/$runId'; params: { runId: string } }

/** A link for long lists. Unlike the router's own link it does not rerender when the URL changes. */
export function QuickLink({
  to,
  params,
  ...rest
}: Destination & Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href' | 'onClick'>) {
  const router = useRouter()
  const destination = { to, params } as Destination
  const namespace = currentNamespace()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the destination is a new object on every render
  const href = useMemo(() => router.buildLocation(destination).href, [router, namespace, to, ...Object.values(params)])
  const onClick = (event: MouseEvent) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    void router.navigate(destination)
  }
  return <a {...rest} href={href} onClick={onClick} />
}
