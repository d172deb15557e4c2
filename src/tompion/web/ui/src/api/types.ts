import type { components } from './schema'

type Schemas = components['schemas']

export type Schedule = Schemas['Schedule']
export type ScheduleDocument = Schemas['ScheduleDocument']
export type SchedulePage = Schemas['SchedulePage']
export type ScheduleDescription = Schemas['Description']
export type Run = Schemas['Run']
export type DroppedRange = Schemas['SpanRecord']
export type Backfill = Schemas['Backfill']
export type Version = Schemas['Version']
export type AuditEntry = Schemas['Change']
export type BulkResult = Schemas['Touched']
export type AdaptiveOutlook = Schemas['Outlook']
export type Session = Schemas['Visit']
export type Stats = Schemas['Stats']
export type StatsBucket = Schemas['Stretch']
export type Forecast = Schemas['Forecast']
export type LoadBucket = Schemas['Load']
export type LoadSpike = Schemas['Herd']
export type SpecGroup = Schemas['Kin']
export type SpecPeer = Schemas['Sharer']
export type DetectedProblem = Schemas['Concern']
export type UpcomingRuns = Schemas['Coming']
export type UpcomingTick = Schemas['ComingTick']
export type Preview = Schemas['Preview']
export type ScheduleDiff = Schemas['Effect']
export type Instance = Schemas['Instance']
export type Queue = Schemas['Queue']
export type ApiKey = Schemas['ApiKey']
export type NewKey = Schemas['NewKey']
export type Calendar = Schemas['NamedCalendar']
export type Workflow = Schemas['Workflow']
export type ScheduleSummary = Schemas['Glance']

export type Role = 'reader' | 'operator' | 'editor' | 'admin'

export interface ScheduleFilter {
  state?: string
  workflow_id?: string
  user_id?: string
  label?: string
  text?: string
}
