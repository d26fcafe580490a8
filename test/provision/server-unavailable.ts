/**
 * A real server cannot be had on this machine, and why. Anything else that goes wrong while one is
 * started is a fault, and is thrown as a plain error.
 */
export class ServerUnavailable extends Error {
  override readonly name = 'ServerUnavailable'
}
