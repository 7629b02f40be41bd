// Copies that are made only where something changes, so that what needs no translation costs no memory.
import { isObject } from '../base/index.ts'
import type { JsonObject } from '../base/index.ts'

/** The object without those members; the same object where it has none of them. */
export function without(object: JsonObject, fields: readonly string[]): JsonObject {
  if (!fields.some((field) => Object.hasOwn(object, field))) return object
  const copy = { ...object }
  for (const field of fields) delete copy[field]
  return copy
}

/** The object with its member translated; the same object where the translation changes nothing or the member is absent. */
export function mapMember(
  object: JsonObject,
  field: string,
  translate: (value: JsonObject) => JsonObject,
): JsonObject {
  const value = object[field]
  if (!isObject(value)) return object
  const translated = translate(value)
  return translated === value ? object : { ...object, [field]: translated }
}

/** The object with each object in its array member translated; the same object where nothing changes. */
export function mapItems(
  object: JsonObject,
  field: string,
  translate: (item: JsonObject) => JsonObject,
): JsonObject {
  const items: unknown = object[field]
  if (!Array.isArray(items)) return object
  let copy: unknown[] | undefined
  for (const [index, item] of items.entries()) {
    if (!isObject(item)) continue
    const translated = translate(item)
    if (translated === item) continue
    copy ??= [...items]
    copy[index] = translated
  }
  return copy === undefined ? object : { ...object, [field]: copy }
}

/** The object without those `_meta` keys, and without `_meta` where none is left. */
export function withoutMeta(object: JsonObject, keys: readonly string[]): JsonObject {
  const meta = object['_meta']
  if (!isObject(meta)) return object
  const rest = without(meta, keys)
  if (rest === meta) return object
  return isEmpty(rest) ? without(object, ['_meta']) : { ...object, _meta: rest }
}

function isEmpty(object: JsonObject): boolean {
  for (const _ in object) return false
  return true
}
