import type { components } from './schema'

type Schemas = components['schemas']

export type Schedule = Schemas['Schedule']
export type ScheduleDocument = Schemas['ScheduleDocument']
export type SchedulePage = Schemas['SchedulePage']
export type ScheduleDescription = Schemas['Description']
export type Run = Schemas['Run']
export type DroppedRange = Schemas['DroppedTicks']
export type Backfill = Schemas['Backfill']
export type Version = Schemas['Version']
export type AuditEntry = Schemas['Change']
export type BulkResult = Schemas['BulkResult']
export type AdaptiveOutlook = Schemas['Outlook']
export type Session = Schemas['WebSession']
export type Stats = Schemas['Stats']
export type StatsBucket = Schemas['StatsBucket']
export type Forecast = Schemas['Forecast']
export type LoadBucket = Schemas['Load']
export type LoadSpike = Schemas['LoadSpike']
export type SpecGroup = Schemas['SpecGroup']
export type SpecPeer = Schemas['SameSpecSchedule']
export type DetectedProblem = Schemas['Problem']
export type UpcomingRuns = Schemas['Upcoming']
export type UpcomingTick = Schemas['UpcomingTick']
export type Preview = Schemas['Preview']
export type ScheduleDiff = Schemas['EditDiff']
export type Instance = Schemas['InstanceInfo']
export type Queue = Schemas['Queue']
export type ApiKey = Schemas['ApiKey']
export type NewKey = Schemas['NewKey']
export type Calendar = Schemas['NamedCalendar']
export type Workflow = Schemas['Workflow']
export type ScheduleSummary = Schemas['ScheduleSummary']

export type Role = 'reader' | 'operator' | 'editor' | 'admin'

export interface ScheduleFilter {
  status?: string
  workflow_id?: string
  user_id?: string
  label?: string
  text?: string
}
