import { ROLES, type Role } from '../../core/options/sign-in.ts'

export const RANK: Readonly<Record<Role, number>> = { viewer: 0, operator: 1, admin: 2 }

/** Which groups of a provider or proxy have which role. */
export interface RoleMap {
  readonly roles: Readonly<Record<string, Role>>
  readonly defaultRole?: Role | undefined
}

/** With a name of 200 characters and the times of a session this makes a cookie below 4 096 bytes, the most that browsers store. */
const MAX_KEPT_BYTES = 1_800

/**
 * The groups that a session keeps: for each role one, the highest role first, and then others that have a role, as far as
 * the cookie has room. A person may be in hundreds of groups.
 */
export function keptGroups(map: RoleMap, groups: readonly string[]): string[] {
  const known = knownGroups(map, groups).sort((a, b) => a.length - b.length)
  const ofEachRole = ROLES.toReversed().flatMap(role => known.find(group => map.roles[group] === role) ?? [])
  let bytes = 0
  return [...new Set([...ofEachRole, ...known])].filter(group => {
    bytes += Buffer.byteLength(JSON.stringify(group)) + 1
    return bytes <= MAX_KEPT_BYTES
  })
}

function knownGroups({ roles }: RoleMap, groups: readonly string[]): string[] {
  // Any name may be the name of a group, also one of an object's prototype.
  return [...new Set(groups)].filter(group => Object.hasOwn(roles, group))
}

/** The highest role of these groups; undefined if the person has none. */
export function roleOf(map: RoleMap, groups: readonly string[]): Role | undefined {
  const given = knownGroups(map, groups).map(group => map.roles[group]!)
  const [highest] = given.sort((a, b) => RANK[b] - RANK[a])
  return highest ?? map.defaultRole
}
