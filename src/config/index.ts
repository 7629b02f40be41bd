// Configuration: the registry of settings and their layers, the configuration file, and what it says of servers.
export type { AuthDefinition } from './auth.ts'
export { formatApiKey, isKeyName, parseApiKey } from './api-key.ts'
export type { ApiKey } from './api-key.ts'
export { formatDuration, formatSize, parseDuration, parseSize } from './duration.ts'
export { expandServer } from './expand.ts'
export type { Expansion, ExpansionContext, ReadyTarget } from './expand.ts'
export { configJsonSchema } from './json-schema.ts'
export { createSettings, shownValue } from './layers.ts'
export type {
  Explanation,
  FileLayer,
  SettingChange,
  SettingReport,
  Settings,
  SettingsInput,
  SettingSource,
  Sourced,
} from './layers.ts'
export { configMarkdown } from './markdown.ts'
export { CONFIG_FILE_NAMES, parseConfigFile } from './parse-file.ts'
export type { ConfigFile, ConfigProblem } from './parse-file.ts'
export { normalisePreference, PREFERENCES } from './preference.ts'
export type { Preference } from './preference.ts'
export { canonicalDefinition } from './servers.ts'
export type {
  HttpDefinition,
  ProcessDefinition,
  ServerDefinition,
  StdioDefinition,
  ToolFilter,
  TransportHint,
} from './servers.ts'
export { flagName, SETTING_PATHS, SETTINGS, settingPath, variableName } from './settings.ts'
export type { Setting, SettingPath, SettingValue, SettingValues } from './settings.ts'
