import { describe, expect, it } from 'vitest'
import { OptionsError } from '../core/options/faults.ts'
import type { Instance, InstanceState } from '../ports/fleet.ts'
import { type InstanceFilter, pageOfInstances } from './list-instances.ts'

function instance(id: string, service: string, startedAt: number, state: InstanceState = 'alive'): Instance {
  const report = { v: 1, id, service, host: 'web', pid: 1, startedAt, consumers: [], sinks: [] } as const
  return { report, state, seenAt: startedAt + 100, silentMs: 0 }
}

const ALL = [
  instance('s1', 'shop', 9),
  instance('m2', 'mailer', 5),
  instance('m1', 'mailer', 5),
  instance('g1', 'shop', 1, 'gone'),
  instance('g2', 'shop', 3, 'gone'),
  instance('l1', 'mailer', 2, 'left'),
  instance('s2', 'shop', 10),
]

/** The ids of each page. */
function pages(filter: InstanceFilter, limit: number, all = ALL): string[][] {
  const read: string[][] = []
  let cursor: string | undefined
  do {
    const page = pageOfInstances(all, filter, { limit, cursor })
    read.push(page.instances.map(({ report }) => report.id))
    cursor = page.cursor
  } while (cursor !== undefined)
  return read
}

describe('pageOfInstances', () => {
  it.each([1, 2, 3, 7, 8])('B17: has every process once, by service, start and id, on pages of %d', limit => {
    const read = pages({}, limit)
    expect(read.flat()).toEqual(['l1', 'm1', 'm2', 'g1', 'g2', 's1', 's2'])
    expect(read).toHaveLength(Math.ceil(ALL.length / limit))
  })

  it('B17: has only those of a service or a state, and the last seen first of those that ended', () => {
    expect(pages({ service: 'mailer' }, 2)).toEqual([['l1', 'm1'], ['m2']])
    expect(pages({ service: 'shop', state: 'alive' }, 1)).toEqual([['s1'], ['s2']])
    expect(pages({ state: 'gone' }, 1)).toEqual([['g2'], ['g1']])
    expect(pages({ service: 'nobody' }, 1)).toEqual([[]])
  })

  it('B17: goes on behind a process that is no longer there', () => {
    const { cursor } = pageOfInstances(ALL, {}, { limit: 2, cursor: undefined })
    const left = ALL.filter(({ report }) => report.id !== 'm1')
    const next = pageOfInstances(left, {}, { limit: 2, cursor })
    expect(next.instances.map(({ report }) => report.id)).toEqual(['m2', 'g1'])
  })

  it('E9: refuses the cursor of another filter', () => {
    const { cursor } = pageOfInstances(ALL, {}, { limit: 2, cursor: undefined })
    expect(() => pageOfInstances(ALL, { state: 'alive' }, { limit: 2, cursor })).toThrow(OptionsError)
  })
})
