/** The keys at the top of a config file that `lazaret serve` and the commands read. */
export const SETTING_NAMES = [
  'store',
  'brokerName',
  'spill',
  'journal',
  'masks',
  'sealing',
  'caps',
  'retention',
  'expireUndecidedAfter',
  'replay',
  'automaticReplay',
  'cleanup',
  'brokers',
  'collectors',
  'notify',
  'watch',
  'agents',
  'server',
] as const

/** The keys that services read with `loadPolicies`: `service` holds settings of their own. */
export const SERVICE_SECTIONS = ['policies', 'service'] as const

export function isServiceSection(key: string): boolean {
  return (SERVICE_SECTIONS as readonly string[]).includes(key)
}
