import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { ROOT } from '../support/source.ts'

const FOLDER = join(ROOT, 'examples/profile-service')
const read = (name: string) => readFileSync(join(FOLDER, name), 'utf8')

// Tests have no container engine; what can be wrong without one is looked for.
it('F7: the compose file of the example starts what is there, and sets variables that its config reads', () => {
  const { services } = parse(read('compose.yaml'))
  const service = services['profile-service']
  const [mount] = service.volumes[0].split(':')
  expect(existsSync(join(FOLDER, mount, service.command[1]))).toBe(true)
  for (const name of Object.keys(service.environment))
    expect(read('profile-service.yaml')).toMatch(new RegExp(`\\$\\{${name}\\b`))
  for (const [name, { condition }] of Object.entries<{ condition: string }>(service.depends_on)) {
    expect(condition).toBe('service_healthy')
    expect(services[name].healthcheck.test[0]).toBe('CMD')
  }
})
