import { BlockList, isIP } from 'node:net';

/**
 * What kind of machine an address leads to. `loopback`: this one, the unspecified address included. `private`: one that only a
 * network of the user's own can reach. `never`: no server of anybody's, or one that hands credentials to whoever asks.
 */
export type AddressClass = 'public' | 'private' | 'loopback' | 'never';

const LOOPBACK = ['127.0.0.0/8', '0.0.0.0/32', '::1/128', '::/128'];

/** Shared space (RFC 6598) and the benchmark range (RFC 2544) are used by overlay networks; fec0::/10 is the old fc00::/7. */
const PRIVATE = [
  ...['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', '198.18.0.0/15'],
  ...['fc00::/7', 'fec0::/10', '64:ff9b:1::/48'],
];

/** Link-local, multicast, reserved, documentation, tunnels that hide where they lead, and the metadata services of clouds. */
const NEVER = [
  ...['0.0.0.0/8', '169.254.0.0/16', '192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/4', '240.0.0.0/4', '100.100.100.200/32', '168.63.129.16/32'],
  ...['fe80::/10', 'ff00::/8', '100::/64', '2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20', '5f00::/16', 'fd00:ec2::/32'],
];

const loopback = blockList(LOOPBACK);
const never = blockList(NEVER);
const privates = blockList(PRIVATE);
/** An IPv4 address in its last 32 bits: as the system maps it, as it was once written, and as a translator does (RFC 6052). */
const mapped = blockList(['::ffff:0:0/96']);
const translated = blockList(['64:ff9b::/96', '::ffff:0:0:0/96', '::/96']);

/**
 * The class of an address as a resolver gives it or as `URL.hostname` writes it, without brackets. What carries an IPv4 address
 * is judged by that one, and where a translator stands between only a public one passes. What is no address is `never`.
 */
export function classOf(address: string): AddressClass {
  const family = isIP(address);
  if (family === 0 || address.includes('%')) return 'never';
  if (family === 4) return listed(address, 'ipv4');
  if (mapped.check(address, 'ipv6')) return listed(lastFourBytes(address), 'ipv4');
  const own = listed(address, 'ipv6');
  if (own !== 'public' || !translated.check(address, 'ipv6')) return own;
  return listed(lastFourBytes(address), 'ipv4') === 'public' ? 'public' : 'never';
}

function listed(address: string, family: 'ipv4' | 'ipv6'): AddressClass {
  if (loopback.check(address, family)) return 'loopback';
  if (never.check(address, family)) return 'never';
  return privates.check(address, family) ? 'private' : 'public';
}

function blockList(subnets: readonly string[]): BlockList {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [network = '', bits] = subnet.split('/');
    list.addSubnet(network, Number(bits), network.includes(':') ? 'ipv6' : 'ipv4');
  }
  return list;
}

/** The last 32 bits of an IPv6 address in the dotted form. */
function lastFourBytes(address: string): string {
  // The parser of URLs writes every form of it in hexadecimal groups.
  const [high = '0', low = '0'] = new URL(`http://[${address}]`).hostname
    .slice(1, -1)
    .replace('::', ':0:0:')
    .split(':')
    .slice(-2);
  const bits = (Number.parseInt(high || '0', 16) * 0x1_0000 + Number.parseInt(low || '0', 16)) >>> 0;
  return [bits >>> 24, (bits >>> 16) & 0xff, (bits >>> 8) & 0xff, bits & 0xff].join('.');
}
