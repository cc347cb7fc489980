/** The named fields of an object, as they are. A view names every field that it shows: new fields stay inside. */
export function pick<T, K extends keyof T>(from: T, ...names: readonly K[]): Pick<T, K> {
  return Object.fromEntries(names.map(name => [name, from[name]])) as Pick<T, K>
}
