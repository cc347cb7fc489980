import { group } from './resolve.ts'
import {
  integer,
  list,
  milliseconds,
  number,
  oneOf,
  optional,
  type Rule,
  text,
  withDefault,
} from './rules.ts'

// The server and its config file accept the same settings for agents by the same rules, so both state them here.

/** What a person can allow agents to do, beside reading. */
export const AGENT_RIGHTS = ['replay', 'triage', 'discard'] as const

/** A right that a person can give agents. */
export type AgentRight = (typeof AGENT_RIGHTS)[number]

/** The names of agents in the audit log begin with it. No token may have such a name. */
export const AGENT_PREFIX = 'agent:'

/** Whether an agent of this token or person is the actor. */
export function isAgentOf(actor: string, name: string): boolean {
  return actor.startsWith(AGENT_PREFIX) && actor.endsWith(` for ${name}`)
}

/** Replays that agents may start without a person. All letters of the replay have to fit. */
export interface BoundedReplay {
  /** The channel of the letters. */
  readonly channel: string
  /** The largest number of letters that agents may send in an hour without a person, over all such replays. */
  readonly maxLetters: number
  /** The largest age of a letter, since its first failure. */
  readonly maxAgeMs: number
}

/** What agents may do through the Model Context Protocol. */
export interface AgentOptions {
  /** The rights of agents, beside reading [none]. The role of their token has to allow it too. */
  readonly allow?: readonly AgentRight[] | undefined
  /** The replays that agents may start without a person [none]. */
  readonly withoutApproval?: readonly BoundedReplay[] | undefined
  /** The number of calls per second of each token [10 per second, burst 40]. */
  readonly rateLimit?:
    | {
        /** Calls per second. */
        readonly perSecond: number
        /** Calls that may come at once after a quiet time [one second's worth]. */
        readonly burst?: number | undefined
      }
    | undefined
}

const DEFAULT_RATE = Object.freeze({ perSecond: 10, burst: 40 })

/** The parts whose values the config file may write as texts: durations, and numbers from the environment. */
interface Reading {
  readonly numeric: (rule: Rule<number>) => Rule<number>
}

export const agentRightsRule: Rule<readonly AgentRight[]> = withDefault(list(oneOf(...AGENT_RIGHTS)), [])

export const maxLettersRule = integer({ min: 1, max: 10_000 })

export function agentRateRule({ numeric }: Reading) {
  return withDefault(
    group({
      perSecond: numeric(number({ min: 0, above: true, max: 1_000_000 })),
      burst: optional(numeric(integer({ min: 1, max: 1_000_000 }))),
    }),
    DEFAULT_RATE,
  )
}

/** The options of a server that is made in code. */
export const agentsRule = group({
  allow: agentRightsRule,
  withoutApproval: withDefault(
    list(
      group({
        channel: text({ maxLength: 500 }),
        maxLetters: maxLettersRule,
        maxAgeMs: milliseconds({ min: 1 }),
      }),
    ),
    [],
  ),
  rateLimit: agentRateRule({ numeric: rule => rule }),
})
