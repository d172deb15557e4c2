import { useRouter } from '@tanstack/react-router'
import { useMemo, type AnchorHTMLAttributes, type MouseEvent } from 'react'

import { currentNamespace } from '../api/client'

type Where = { to: '/schedules/$id'; params: { id: string } } | { to: '/runs/$runId'; params: { runId: string } }

/** A link for lists, which have hundreds: unlike the router's own, it is not rendered anew whenever the address changes. */
export function QuickLink({ to, params, ...rest }: Where & Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href' | 'onClick'>) {
  const router = useRouter()
  const where = { to, params } as Where
  const namespace = currentNamespace()
  const href = useMemo(() => router.buildLocation(where).href, [router, namespace, to, ...Object.values(params)])
  const go = (event: MouseEvent) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    void router.navigate(where)
  }
  return <a {...rest} href={href} onClick={go} />
}
