export const MIN_NODE_VERSION = '22.13'

/** Whether this Node has what Lazaret needs of it, `node:sqlite` above all. */
export function isNodeNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number)
  const [leastMajor = 0, leastMinor = 0] = MIN_NODE_VERSION.split('.').map(Number)
  return major > leastMajor || (major === leastMajor && minor >= leastMinor)
}
