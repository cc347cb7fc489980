import type { Role } from '../../core/options/sign-in.ts'

export const RANK: Readonly<Record<Role, number>> = { viewer: 0, operator: 1, admin: 2 }

/** Which groups of a provider or proxy have which role. */
export interface RoleMap {
  readonly roles: Readonly<Record<string, Role>>
  readonly defaultRole?: Role | undefined
}

/** The groups that have a role. The rest is dropped, because a person may be in hundreds of groups. */
export function knownGroups({ roles }: RoleMap, groups: readonly string[]): string[] {
  // Any name may be the name of a group, also one of an object's prototype.
  return [...new Set(groups)].filter(group => Object.hasOwn(roles, group))
}

/** The highest role of these groups; undefined if the person has none. */
export function roleOf(map: RoleMap, groups: readonly string[]): Role | undefined {
  const given = knownGroups(map, groups).map(group => map.roles[group]!)
  const [highest] = given.sort((a, b) => RANK[b] - RANK[a])
  return highest ?? map.defaultRole
}
