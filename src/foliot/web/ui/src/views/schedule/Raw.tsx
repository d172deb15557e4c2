export function Raw() { return null }
