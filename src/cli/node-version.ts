export const LEAST_NODE = '22.13'

/** Whether this Node has what Lazaret needs of it, `node:sqlite` above all. */
export function isNodeNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number)
  const [leastMajor = 0, leastMinor = 0] = LEAST_NODE.split('.').map(Number)
  return major > leastMajor || (major === leastMajor && minor >= leastMinor)
}
