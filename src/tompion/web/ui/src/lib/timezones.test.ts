import { describe, expect, it } from 'vitest'

import { displayZone, isSupportedZone, LOCAL_ZONE, zoneLabel } from './timezones'

describe('displayZone', () => {
  it('follows the choice of the user', () => {
    expect(LOCAL_ZONE).toBe('Europe/Berlin')
    expect(displayZone('local', 'Asia/Tokyo')).toBe('Europe/Berlin')
    expect(displayZone('schedule', 'Asia/Tokyo')).toBe('Asia/Tokyo')
    expect(displayZone('utc', 'Asia/Tokyo')).toBe('UTC')
  })

  it('falls back to UTC for a missing or unknown zone', () => {
    expect(displayZone('schedule')).toBe('UTC')
    expect(displayZone('schedule', 'Mars/Olympus')).toBe('UTC')
    expect(isSupportedZone('Mars/Olympus')).toBe(false)
  })
})

it('names the local zone', () => {
  expect(zoneLabel('Europe/Berlin')).toBe('your time zone (Europe/Berlin)')
  expect(zoneLabel('UTC')).toBe('UTC')
})
