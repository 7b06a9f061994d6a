const IPV4_HERE = /^(?:127\.\d{1,3}\.\d{1,3}\.\d{1,3}|0\.0\.0\.0)$/;
/** As the URL parser writes them: `::1`, `::`, and 127.0.0.0/8 or 0.0.0.0 mapped into IPv6. */
const IPV6_HERE = /^\[::(?:1|ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4}|ffff:0:0)?\]$/;

/**
 * Whether a host name, as `URL.hostname` gives it, is this machine. Names other than `localhost` are not: what
 * `x.localhost` resolves to is up to a resolver.
 */
export function isLoopbackHost(hostname: string): boolean {
  const host = hostname.toLowerCase().replace(/\.$/, '');
  return host === 'localhost' || IPV4_HERE.test(host) || IPV6_HERE.test(host);
}
