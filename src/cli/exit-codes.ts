export const EXIT_DONE = 0
export const EXIT_FAILED = 1
/** Distinct, so that a supervisor knows not to try again before somebody has changed something. */
export const EXIT_REFUSED = 2
