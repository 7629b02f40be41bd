// Tasks: the extension of the modern era and the core tasks of 2025-11-25, in each other's place.
export { carryTasks, withTaskSupport } from './declared.ts'
export { TaskIds } from './ids.ts'
export { follow, watchTasks } from './listen.ts'
export { aboutTasks } from './methods.ts'
export type { TaskRequest } from './party.ts'
export { formOfCaller, formOfServer, missingTasks, retold, supportOf, takingTasks } from './shape.ts'
export type { TaskForm, TaskSupport } from './shape.ts'
export { Tasks } from './tasks.ts'
