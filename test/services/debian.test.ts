import { afterEach, expect, it, vi } from 'vitest'
import { findPackage } from './debian.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

const absent = async () => false
const failToInstall = async () => 'no package of that name'

it('E21: without a server its tests are skipped with the reason', async () => {
  vi.stubEnv('CI', '')
  const found = await findPackage('some-server', absent, failToInstall)
  expect(found).toEqual({ found: false, why: 'no package of that name' })
})

it('E21: in CI a server that is not available is a failure', async () => {
  vi.stubEnv('CI', 'true')
  const finding = findPackage('some-server', absent, failToInstall)
  await expect(finding).rejects.toThrow('some-server is needed in CI: no package of that name')
})

it('E21: a server that the setup installs is used', async () => {
  let isInstalled = false
  const install = async () => {
    isInstalled = true
    return ''
  }
  expect(await findPackage('some-server', async () => isInstalled, install)).toEqual({ found: true })
})
