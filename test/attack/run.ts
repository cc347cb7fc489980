import { progress, runAsCommand } from '../chaos/campaign/command.ts'
import { findSchemathesis } from '../services/schemathesis.ts'
import { TEMPORARY_ENV } from '../services/temporary.ts'
import { type AttackResult, attack } from './attack.ts'
import { ATTACK_ROLES, type AttackRole } from './roles.ts'

const DEFAULT_MINUTES = 5
const HEADING = '| role | requests | answers by status | operations with success | seed | violations |'

// The stores of an attack need no disk.
process.env['TMPDIR'] = TEMPORARY_ENV.TMPDIR

await runAsCommand({
  name: 'attack:api',
  numbers: { minutes: DEFAULT_MINUTES },
  others: { role: { type: 'string', default: 'all' }, seed: { type: 'string', default: 'new' } },
  async run({ minutes, role, seed }) {
    const found = await findSchemathesis()
    if (!found.found) throw new Error(found.why)
    const results: AttackResult[] = []
    for (const each of rolesOf(role)) {
      progress(`${each}: ${minutes} minutes`)
      const drawn = seed === 'new' ? undefined : String(seed)
      const result = await attack({ python: found.binary, role: each, seconds: minutes * 60, seed: drawn })
      if (result.violations.length > 0) progress(result.output)
      results.push(result)
    }
    return {
      report: [HEADING, '| --- | --- | --- | --- | --- | --- |', ...results.map(row)],
      violations: results.flatMap(({ role: who, violations }) => violations.map(each => `${who}: ${each}`)),
    }
  },
})

function row({ role, requests, statuses, accepted, seed, violations }: AttackResult): string {
  const counts = Object.entries(statuses).toSorted(([a], [b]) => a.localeCompare(b))
  const answers = counts.map(([status, count]) => `${status}: ${count}`).join(', ')
  return `| ${[role, requests, answers, accepted, seed, violations.length].join(' | ')} |`
}

function rolesOf(given: unknown): readonly AttackRole[] {
  if (given === 'all') return ATTACK_ROLES
  const role = ATTACK_ROLES.find(each => each === given)
  if (role === undefined) throw new Error(`--role takes all, ${ATTACK_ROLES.join(', ')}, got '${given}'`)
  return [role]
}
