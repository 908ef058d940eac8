/** The behavior of a host, by the second number of its address (127.KIND.x.y). */
export const HOST_KINDS = { healthy: 1, slow: 2, dead: 3 } as const;
