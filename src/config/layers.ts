// Where each setting's value comes from. Layers, low to high: default, file, environment, flag, runtime.
import { canonicalJson, McpxError } from '../base/index.ts'
import { flagName, SETTING_PATHS, settingPath, SETTINGS, variableName } from './settings.ts'
import type { Setting, SettingPath, SettingValue, SettingValues } from './settings.ts'
import { refusal } from './value-type.ts'

export type SettingSource = 'default' | 'file' | 'environment' | 'flag' | 'runtime'

export interface Sourced<Value> {
  readonly value: Value
  readonly source: SettingSource
  /** The file's path, the variable's or the flag's name; undefined where the source says it all. */
  readonly detail: string | undefined
}

export interface Explanation<Value> extends Sourced<Value> {
  /** What the value hides, highest layer first. */
  readonly displaced: readonly Sourced<Value>[]
}

export interface SettingReport extends Explanation<unknown> {
  readonly path: SettingPath
  /** The value as a person would write it. */
  readonly text: string
  readonly type: string
  readonly hot: boolean
  readonly flag: string
  readonly variable: string
  readonly description: string
}

export interface SettingChange {
  readonly path: SettingPath
  readonly value: unknown
  readonly previous: unknown
}

/** What a configuration file says of settings; `parseConfigFile` makes one. */
export interface FileLayer {
  readonly path: string
  readonly settings: SettingValues
}

export interface SettingsInput {
  readonly file?: FileLayer
  /** The process's environment. A variable that is set to nothing counts as not set. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Flags by the setting's path. Text is read as from a command line, anything else as from a file. */
  readonly flags?: Readonly<Record<string, unknown>>
}

/** The settings in force. Values come out normalised: canonical words, milliseconds, bytes. */
export interface Settings {
  get<Path extends SettingPath>(path: Path): SettingValue<Path>
  explain<Path extends SettingPath>(path: Path): Explanation<SettingValue<Path>>
  /** Sets a hot setting in the runtime layer. Throws CONFIG_INVALID for what is unknown, not allowed or cold. */
  set(path: string, value: unknown): void
  /** Takes a setting out of the runtime layer. Throws CONFIG_INVALID for what is unknown. */
  unset(path: string): void
  /** Replaces the file layer; cold settings keep their values. Returns the cold ones that need a restart to follow. */
  replaceFile(file: FileLayer | undefined): readonly SettingPath[]
  /** Every setting, its values as others may see them. */
  list(): readonly SettingReport[]
  /** Calls back for every value in force that became another one. Returns a function that takes the listener away. */
  onChange(listener: (change: SettingChange) => void): () => void
}

/** Throws CONFIG_INVALID with every variable and flag that is not allowed. */
export function createSettings(input: SettingsInput = {}): Settings {
  return new LayeredSettings(input)
}

/** A setting's value as others may see it: of a secret one, only what `write` makes of it. */
export function shownValue(path: SettingPath, value: unknown): unknown {
  const { type }: Setting<unknown> = SETTINGS[path]
  return type.secret === undefined ? value : type.write(value)
}

interface Entry {
  readonly value: unknown
  readonly detail: string | undefined
}

type Layer = Map<SettingPath, Entry>

class LayeredSettings implements Settings {
  readonly #environment: Layer
  readonly #flags: Layer
  readonly #runtime: Layer = new Map()
  readonly #listeners = new Set<(change: SettingChange) => void>()
  #file: Layer
  #inForce: Map<SettingPath, unknown>

  constructor({ file, env = {}, flags = {} }: SettingsInput) {
    const problems: LayerProblem[] = []
    this.#file = fileLayer(file)
    this.#environment = environmentLayer(env, problems)
    this.#flags = flagLayer(flags, problems)
    if (problems.length > 0) {
      const lines = problems.map(({ from, message }) => `${from}: ${message}`)
      throw new McpxError('CONFIG_INVALID', lines.join('\n'), { data: { problems } })
    }
    this.#inForce = this.#resolveAll()
  }

  get<Path extends SettingPath>(path: Path): SettingValue<Path> {
    return this.#inForce.get(path) as SettingValue<Path>
  }

  explain<Path extends SettingPath>(path: Path): Explanation<SettingValue<Path>> {
    const [top, ...displaced] = this.#stack(path) as [
      Sourced<SettingValue<Path>>,
      ...Sourced<SettingValue<Path>>[],
    ]
    return { ...top, displaced }
  }

  set(path: string, value: unknown): void {
    const known = settingPath(path)
    const declared: Setting<unknown> = SETTINGS[known]
    const read = declared.type.read(value)
    if (read === undefined)
      throw new McpxError('CONFIG_INVALID', `${known}: ${refusal(declared.type, value)}`)
    if (!declared.hot) {
      const elsewhere = `the configuration file, ${variableName(known)} or ${flagName(known)}`
      throw new McpxError(
        'CONFIG_INVALID',
        `${known} is read at the start only: set it in ${elsewhere} and restart`,
      )
    }
    this.#runtime.set(known, { value: read, detail: undefined })
    this.#announce()
  }

  unset(path: string): void {
    if (this.#runtime.delete(settingPath(path))) this.#announce()
  }

  replaceFile(file: FileLayer | undefined): readonly SettingPath[] {
    const running = this.#file
    const saved = fileLayer(file)
    this.#file = saved
    const waiting = SETTING_PATHS.filter(
      (path) => !SETTINGS[path].hot && !equal(this.#resolve(path), this.get(path)),
    )
    this.#file = new Map(SETTING_PATHS.flatMap((path) => pick(SETTINGS[path].hot ? saved : running, path)))
    this.#announce()
    return waiting
  }

  list(): readonly SettingReport[] {
    return SETTING_PATHS.map((path) => {
      const { type, hot, description }: Setting<unknown> = SETTINGS[path]
      const explanation = this.explain(path)
      const shown = <T extends Sourced<unknown>>(entry: T): T => ({
        ...entry,
        value: shownValue(path, entry.value),
      })
      return {
        path,
        ...shown(explanation),
        displaced: explanation.displaced.map(shown),
        text: type.write(explanation.value),
        type: type.name,
        hot,
        flag: flagName(path),
        variable: variableName(path),
        description,
      }
    })
  }

  onChange(listener: (change: SettingChange) => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  #announce(): void {
    const before = this.#inForce
    this.#inForce = this.#resolveAll()
    for (const [path, value] of this.#inForce) {
      const previous = before.get(path)
      if (equal(value, previous)) continue
      for (const listener of this.#listeners) listener({ path, value, previous })
    }
  }

  #resolveAll(): Map<SettingPath, unknown> {
    return new Map(SETTING_PATHS.map((path) => [path, this.#resolve(path)]))
  }

  #resolve(path: SettingPath): unknown {
    return this.#stack(path)[0]?.value
  }

  #stack(path: SettingPath): Sourced<unknown>[] {
    const layers: readonly (readonly [SettingSource, Layer])[] = [
      ['runtime', this.#runtime],
      ['flag', this.#flags],
      ['environment', this.#environment],
      ['file', this.#file],
    ]
    const given = layers.flatMap(([source, layer]) => {
      const entry = layer.get(path)
      return entry === undefined ? [] : [{ value: entry.value, source, detail: entry.detail }]
    })
    return [...given, { value: SETTINGS[path].default, source: 'default', detail: undefined }]
  }
}

interface LayerProblem {
  /** The variable's or the flag's name. */
  readonly from: string
  readonly path: string
  readonly message: string
}

function fileLayer(file: FileLayer | undefined): Layer {
  const layer: Layer = new Map()
  if (file === undefined) return layer
  for (const path of SETTING_PATHS) {
    const value = file.settings[path]
    if (value !== undefined) layer.set(path, { value, detail: file.path })
  }
  return layer
}

function environmentLayer(
  env: Readonly<Record<string, string | undefined>>,
  problems: LayerProblem[],
): Layer {
  const layer: Layer = new Map()
  for (const path of SETTING_PATHS) {
    const name = variableName(path)
    const text = env[name]
    if (text === undefined || text === '') continue
    const type: Setting<unknown>['type'] = SETTINGS[path].type
    const value = type.readText(text)
    if (value === undefined) problems.push({ from: name, path, message: refusal(type, text) })
    else layer.set(path, { value, detail: name })
  }
  return layer
}

function flagLayer(flags: Readonly<Record<string, unknown>>, problems: LayerProblem[]): Layer {
  const layer: Layer = new Map()
  for (const [key, given] of Object.entries(flags)) {
    if (given === undefined) continue
    const path = settingPath(key)
    const name = flagName(path)
    const type: Setting<unknown>['type'] = SETTINGS[path].type
    const value = typeof given === 'string' ? type.readText(given) : type.read(given)
    if (value === undefined) problems.push({ from: name, path, message: refusal(type, given) })
    else layer.set(path, { value, detail: name })
  }
  return layer
}

function pick(layer: Layer, path: SettingPath): [SettingPath, Entry][] {
  const entry = layer.get(path)
  return entry === undefined ? [] : [[path, entry]]
}

function equal(a: unknown, b: unknown): boolean {
  return canonicalJson(a) === canonicalJson(b)
}
