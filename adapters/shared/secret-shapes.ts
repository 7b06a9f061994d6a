/** What stands in a text for what was taken out of it. */
export const REDACTED = '[redacted]';

/** Beginnings of tokens by which their issuers make them known; a run of at least eight token characters follows. */
const ISSUED =
  'gh[opsur]_ github_pat_ glpat- gl(?:dt|rt|cbt|ptt|ft|soat|agent)- npm_ pypi- hf_ xox[abeoprs]- xapp- ya29\\. 1\\/\\/0 GOCSPX- AIza ' +
  'dop_v1_ doo_v1_ shp(?:at|ss|ca|pa)_ lin_api_ lin_oauth_ ntn_ secret_ sntry[su]_ SG\\. (?:sk|pk|rk)[-_] whsec_ figd_ dckr_pat_ ' +
  'hv[sbr]\\. AGE-SECRET-KEY-1 sq0(?:atp|csp)- EAA[A-Z] ATATT3 ATCTT3 (?:AKIA|ASIA|AGPA|AROA|AIDA) pat[A-Za-z0-9]{14}\\. rubygems_ dapi ' +
  'xkeysib- key- eyJ sess- tvly- gsk_ r8_ fo1_ glsa_ NRAK- PMAK- sgp_ phc_ phx_ pul- tfp_ bkua_ cio_ ';
const TOKEN = new RegExp(`(?<![A-Za-z0-9])(?:${ISSUED.trim().replaceAll(' ', '|')})[A-Za-z0-9_.=/+~-]{8,}`, 'g');
/** Bots of Telegram, and web hooks whose path is the key. */
const BOT_TOKEN = /(?<![0-9])[0-9]{8,10}:[A-Za-z0-9_-]{35}/g;
const HOOK = /(?<=\/(?:services|api\/webhooks|workflows)\/)[A-Za-z0-9_./-]{16,}/g;

/** RFC 7468; one whose end is cut off runs to the end of the text. */
const PRIVATE_KEY =
  /-----BEGIN [A-Z ]{0,32}PRIVATE KEY[A-Z ]{0,8}-----[^]*?(?:-----END [A-Z ]{0,32}PRIVATE KEY[A-Z ]{0,8}-----|$)/g;

/** RFC 9110 §11.4: a scheme and its credentials. Words follow `basic` too, so they have to look like credentials. */
const SCHEME = /\b(bearer|basic|digest|negotiate|dpop|token|apikey)([ \t]+)([A-Za-z0-9._~+/=-]{8,})/gi;
/** RFC 6265: the whole line of a cookie header. */
const COOKIE = /\b((?:set-)?cookie2?["']?[ \t]{0,4}[:=][ \t]{0,4}["']?)(?=[^=;\s]{1,128}=)[^\r\n"']+/gi;

const SECRET_NAMES =
  'token secret password passwd passphrase pwd api[-_]?key apikey access[-_]?key account[-_]?key private[-_]?key secret[-_]?key ' +
  'auth[-_]?key signing[-_]?key signature sharedaccesskey authorization credential credentials session[-_]?id sessionid jwt assertion ' +
  'code[-_]verifier client[-_]secret';
/** `"name": "value"`, as JSON and most languages print it. */
const QUOTED = new RegExp(
  `((?:${SECRET_NAMES.replaceAll(' ', '|')})\\\\?["']\\s{0,4}[:=]\\s{0,4}\\\\?["'])((?:[^"'\\\\\\r\\n]|\\\\(?!["']).)+)`,
  'gi',
);
/** `name=value`, as in forms, connection strings and environments. */
const ASSIGNED = new RegExp(`((?:${SECRET_NAMES.replaceAll(' ', '|')})=["']?)(?!\\[redacted\\])([^\\s"'&;,<>)\\]}]+)`, 'gi');
/** `name: value`, as in headers and logs; a value that is plain words is taken for a sentence. */
const HEADER = new RegExp(`((?:${SECRET_NAMES.replaceAll(' ', '|')}):[ \\t]{1,4}["']?)([^\\s"'&;,<>)\\]}]{6,})`, 'gi');
/** Values of a query, wherever it begins, that are credentials there though the name is a plain word. */
const IN_QUERY =
  /([?&](?:code|state|sig|key|auth|session|sid|ticket|otp|pin|pass|user_code|device_code)=)(?!\[redacted\])([^\s"'&#<>]+)/gi;
/** From the scheme's end on; what stands before it is nobody's secret. */
const URL_REST = /(:\/\/)([^\s"'<>`\\]+)/g;

/**
 * Takes out of a text what looks like a credential, whoever's it is: tokens of known issuers, JWTs, private keys, credentials
 * of HTTP, cookies, values of names that tell, user and query of every URL. Linear: no pattern begins with a run it could begin
 * again inside of.
 */
export function withoutSecretShapes(text: string): string {
  return text
    .replace(PRIVATE_KEY, REDACTED)
    .replace(URL_REST, (_match, scheme: string, rest: string) => scheme + plainUrl(rest))
    .replace(COOKIE, `$1${REDACTED}`)
    .replace(SCHEME, (match, scheme: string, gap: string, value: string) =>
      looksRandom(value) ? `${scheme}${gap}${REDACTED}` : match,
    )
    .replace(TOKEN, (match) => (/\d/.test(match) || match.length >= 24 ? REDACTED : match))
    .replace(BOT_TOKEN, REDACTED)
    .replace(HOOK, REDACTED)
    .replace(QUOTED, `$1${REDACTED}`)
    .replace(ASSIGNED, `$1${REDACTED}`)
    .replace(HEADER, (match, name: string, value: string) => (looksRandom(value) ? name + REDACTED : match))
    .replace(IN_QUERY, `$1${REDACTED}`);
}

/** A URL without its scheme, and without its user and the values of its query (RFC 3986 §3). */
function plainUrl(rest: string): string {
  const authorityEnd = rest.search(/[/?#]/);
  const authority = authorityEnd === -1 ? rest : rest.slice(0, authorityEnd);
  const behind = rest.slice(authority.length);
  const at = authority.lastIndexOf('@');
  const host = at === -1 ? authority : `${REDACTED}${authority.slice(at)}`;
  return host + behind.replace(/([?&#][^=&#?]*=)[^&#]+/g, `$1${REDACTED}`);
}

/** No word of a sentence has a digit, a capital inside, or this many letters. */
const looksRandom = (value: string): boolean => /\d|[a-z][A-Z]|[=~+]/.test(value) || value.length >= 24;
