/**
 * How far the modern era is let in. `off`: not at all. `observe`: requests are classified and reported. `dry-run`: reported
 * with what the modern answer would have been. `serve`: modern requests get modern answers. `sunset`: only they get any.
 */
export type Mode = (typeof MODES)[number]

export const MODES = ['off', 'observe', 'dry-run', 'serve', 'sunset'] as const
