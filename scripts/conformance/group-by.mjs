/**
 * Map.groupBy, which Node 20 does not have.
 * @template K, V
 * @param {Iterable<V>} values @param {(value: V) => K} keyOf @returns {Map<K, V[]>}
 */
export function groupBy(values, keyOf) {
  /** @type {Map<K, V[]>} */
  const groups = new Map()
  for (const value of values) {
    const key = keyOf(value)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [value])
    else group.push(value)
  }
  return groups
}
