import type { LetterFilter, PatchOperation, PlanBody } from '../api/types.ts'
import { readSpan } from './times.ts'

/** What a person has typed so far, as they typed it. */
export interface PlanForm {
  readonly store: string
  readonly to: string
  readonly change: 'none' | 'patch'
  readonly patch: string
  readonly stages: string
  readonly perSecond: string
  readonly haltPercent: string
  readonly haltOnSame: boolean
  readonly maxAge: string
  readonly allowQuarantined: boolean
  readonly requireSchema: boolean
  readonly needsApproval: boolean
  readonly reason: string
}

export const EMPTY_PLAN: PlanForm = {
  store: '',
  to: '',
  change: 'none',
  patch: '',
  stages: '1, 10, 100, rest',
  perSecond: '50',
  haltPercent: '20',
  haltOnSame: true,
  maxAge: '24h',
  allowQuarantined: false,
  requireSchema: false,
  needsApproval: false,
  reason: '',
}

export type PlanFaults = Readonly<Partial<Record<keyof PlanForm, string>>>
export type PlanSelection = { readonly filter: LetterFilter } | { readonly ids: readonly string[] }
export type Stages = NonNullable<PlanBody['stages']>

/** What would be asked of the server, and what is wrong with what was typed, field by field. */
export function readPlan(form: PlanForm, selection: PlanSelection): { body: PlanBody; faults: PlanFaults } {
  const faults: { -readonly [K in keyof PlanForm]?: string } = {}
  const stages = readStages(form.stages)
  if (stages === undefined)
    faults.stages = "Enter numbers and 'rest', separated by commas, such as 1, 10, 100, rest."
  const perSecond = Number(form.perSecond)
  if (!(perSecond > 0 && perSecond <= 100_000)) faults.perSecond = 'Enter a number above 0, at most 100 000.'
  const haltPercent = Number(form.haltPercent)
  if (form.haltPercent.trim() === '' || !(haltPercent >= 0 && haltPercent <= 100))
    faults.haltPercent = 'Enter a percentage from 0 to 100.'
  const maxAgeMs = readSpan(form.maxAge)
  if (maxAgeMs === undefined || maxAgeMs <= 0) faults.maxAge = 'Enter a duration such as 90s, 15m, 24h or 7d.'
  const { patch, fault } = form.change === 'patch' ? readPatch(form.patch) : {}
  if (fault !== undefined) faults.patch = fault
  if (form.reason.trim() === '') faults.reason = 'Enter a reason.'
  const body: PlanBody = {
    ...('ids' in selection ? { ids: [...selection.ids] } : { filter: selection.filter }),
    ...(form.store === '' ? {} : { store: form.store }),
    ...(form.to.trim() === '' ? {} : { to: form.to.trim() }),
    ...(patch === undefined ? {} : { patch: [...patch] }),
    ...(stages === undefined ? {} : { stages }),
    ...(maxAgeMs === undefined ? {} : { maxAgeMs }),
    perSecond,
    haltRefailRatio: haltPercent / 100,
    haltOnSameFingerprint: form.haltOnSame,
    allowQuarantined: form.allowQuarantined,
    ...(form.requireSchema ? { requireSchema: true } : {}),
    ...(form.needsApproval ? { needsApproval: true } : {}),
    reason: form.reason.trim(),
  }
  return { body, faults }
}

export function readStages(text: string): Stages | undefined {
  const parts = text.split(',').map(part => part.trim())
  if (!parts.every(part => part === 'rest' || /^[1-9]\d{0,8}$/.test(part))) return undefined
  return parts.map(part => (part === 'rest' ? part : Number(part)))
}

const OPERATIONS = new Set(['add', 'remove', 'replace', 'move', 'copy', 'test'])

/** A JSON Patch as it was typed. Whether it fits the payloads, the server says. */
export function readPatch(text: string): { patch?: readonly PatchOperation[]; fault?: string } {
  if (text.trim() === '') return { fault: 'Enter a JSON Patch, or send the payload unchanged.' }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return { fault: `Not valid JSON: ${(error as Error).message}` }
  }
  if (!Array.isArray(value) || value.length === 0)
    return { fault: 'Enter a list of operations: [{ "op": "replace", "path": "/field", "value": … }]' }
  const wrong = value.findIndex(each => !OPERATIONS.has(each?.op) || typeof each?.path !== 'string')
  if (wrong >= 0)
    return {
      fault: `Operation ${wrong + 1} needs an "op" (add, remove, replace, move, copy or test) and a "path".`,
    }
  return { patch: value as readonly PatchOperation[] }
}

/** How many letters each stage sends: [1, 10, 100, rest] of 500 is 1, 10, 100 and 389. */
export function stageSizes(stages: Stages, count: number): readonly number[] {
  const sizes: number[] = []
  let left = count
  for (const stage of [...stages, 'rest' as const]) {
    if (left <= 0) break
    const size = stage === 'rest' ? left : Math.min(stage, left)
    sizes.push(size)
    left -= size
  }
  return sizes
}
