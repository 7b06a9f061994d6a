import type { CommandName } from './parse.js';

/** What `--help` prints: the page of a command, or the overview. At most 80 columns, plain text. */
export function helpPage(command: CommandName | null): string {
  return command === null ? OVERVIEW : `Usage: mcp-supervisor ${PAGES[command]}`;
}

const OVERVIEW = `Usage: mcp-supervisor [COMMAND] [options]

Supervises the MCP servers of your configuration and of a workspace: looks after
their processes, asks before anything of a workspace runs, and finds and calls
their tools.

Look
  status             every server, and what keeps it from starting
  explain NAME       why a server is not ready, or a tool not callable
  search QUERY       find tools by words, with every server down as well
  describe NAME      one tool with its arguments
  audit              what was decided and done on this computer
Use
  test SERVER        connect one server, and say how far it got
  call NAME [ARGS]   call one tool
  serve              be one MCP server in front of all the others; the default
Decide, for good
  trust, untrust     whether this workspace may have any effect
  enable SERVER      switch a server on; those of a workspace begin switched off
  disable SERVER     switch it off
  remote on|off      whether servers on other computers may be used
  remove SERVER      take a server out of its configuration file
Learn
  help COMMAND       more about a command, with an example
  example            real servers under supervision, in a checkout

Options of every command
  --workspace DIR        the workspace; default: the current directory
  --user-config FILE     your configuration, instead of the default file
  --state-dir DIR        where decisions are kept, instead of the default folder
  --json                 one JSON value on stdout
  --timeout MS           the longest wait; answering a question does not count
  --help, --version
For one run only; not with commands that decide for good
  --trust                trust the workspace
  --enable ID            switch a workspace's server on; repeatable
  --approve FINGERPRINT  allow exactly what has this fingerprint; repeatable

A server of a workspace passes three gates: the workspace is trusted, the server
is enabled, and what it would run is approved. On a terminal you are asked for
the approval; elsewhere the question stays open unless --approve answers it.

Files
  $XDG_CONFIG_HOME/mcp-supervisor/mcp.json   yours; ~/.config where it is unset
  DIR/.mcp.json                              the workspace's, for any MCP client
  DIR/.mcp-supervisor/mcp.json               the workspace's, for this one alone
  $XDG_STATE_HOME/mcp-supervisor/            state; ~/.local/state where unset

Begin with: mcp-supervisor status

${exits('0 done · 1 the call failed, was blocked, or you said no · 2 usage', '3 configuration or state refused · 4 server not available')}`;

/** Everything after "Usage: mcp-supervisor ". */
const PAGES: Readonly<Record<CommandName, string>> = {
  serve: `[serve] [--direct] [--http PORT]

Be one MCP server that stands in front of all the others: give it to any MCP
client as a server. It offers one tool, "mcp", which searches, describes and
calls the tools of all servers. On stdin and stdout it speaks nothing but the
protocol.

  --direct      offer the allowed tools themselves, under their full names
  --http PORT   serve on http://127.0.0.1:PORT/mcp instead; 0 takes a free port

Example, as an entry in the configuration of a client
  { "command": "mcp-supervisor", "args": ["serve", "--workspace", "/repo"] }
`,
  status: `status [--connect] [--json]

Show the workspace, every server with its phase and what keeps it from starting,
and the questions that wait for an answer. Starts nothing by itself.

  --connect   connect every server with open gates; done when all have settled

Example
  mcp-supervisor status --connect

${exits('0 shown, whatever the servers do · 3 a configuration file is refused')}`,
  search: `search QUERY [--json]

Find tools whose name, server or description has every word of QUERY, among
those that were listed before: starts nothing, and says which servers it knows
nothing of. "status --connect" lists them all, "test" one.

Example
  mcp-supervisor search read file

${exits('0 searched, found or not · 3 a configuration file is refused', '4 nothing is known of any server')}`,
  describe: `describe NAME [--json]

Show one tool with its arguments, as its server listed it last; starts nothing.
NAME is mcp__SERVER__TOOL, as search prints it.

Example
  mcp-supervisor describe mcp__files__read_file

${exits('0 shown · 1 no such tool · 4 nothing is known of its server')}`,
  call: `call NAME [ARGS] [--json]

Call one tool. ARGS is a JSON object. Typing the call approves this one call; a
policy that denies the tool still blocks it.

Example
  mcp-supervisor call mcp__files__read_file '{"path": "README.md"}'

With --json: { "ok": true, "result", "spilled" }, or
{ "ok": false, "error": { "code", "stage", "message", "hint", "retryable" } }.

${exits('0 the tool answered · 1 it failed or was blocked', '4 its server is not available')}`,
  test: `test SERVER [--json]

Connect one server through the same gates as a call, say stage by stage how far
it got, and end it again. On a terminal you are shown what would run and asked.

Example
  mcp-supervisor test files

${exits('0 it became ready · 4 it did not')}`,
  explain: `explain NAME [--json]

Say why a server is not ready or a tool not callable: every gate with what opens
it, the layers that define it, the rule that decides and where it stands, the
last error, the next try, and what a call would meet now. Starts nothing.
NAME is a server, a tool as its server or as search calls it, SERVER.TOOL,
SERVER.resources/read or SERVER.prompts/get.

Example
  mcp-supervisor explain files.read_file

With --json: one object, or an array where NAME fits several servers.

${exits('0 explained · 3 explained, but a configuration file is refused', '4 nothing has such a name')}`,
  enable: `enable SERVER [--json]

Switch a server on, for good. Those of a workspace begin switched off on every
computer; their switch counts for this workspace only. Enabling starts nothing,
but where the workspace is trusted it opens the question whether what the server
would run is approved. On a terminal you are asked at once. A yes counts for
that run alone: the server is started, its tools are listed, and it is ended.

Example
  mcp-supervisor enable files

With --json: { "ok": true, "server", "questions" }.

${exits('0 switched on, even if you said no', '4 no such server, or you said yes and it did not start')}`,
  disable: `disable SERVER [--json]

Switch a server off, for good. Running hosts on this computer close it at once.

Example
  mcp-supervisor disable files

With --json: { "ok": true, "server", "questions" }.

${exits('0 switched off · 4 no such server')}`,
  trust: `trust [--json]

Trust the workspace, for good. Look at its files and at "status" before.
Trusting starts nothing by itself: each of its servers still has to be enabled
and approved.

Example
  mcp-supervisor trust --workspace /repo

With --json: { "ok": true, "workspace", "servers", "questions" }.

${exits('0 trusted · 3 trusted, but a configuration file is refused')}`,
  untrust: `untrust [--json]

Trust the workspace no more. Running hosts on this computer close its servers at
once, unless the host itself says that it is trusted.

Example
  mcp-supervisor untrust --workspace /repo

With --json: { "ok": true, "workspace", "servers", "questions" }.

${exits('0 done')}`,
  remote: `remote on|off [--json]

Switch the use of servers on other computers on or off, for good, by writing
"remote": { "enabled": … } into your configuration file. "on" lists where calls
would go. "off" closes those servers in running hosts at once.

Example
  mcp-supervisor remote on

With --json: { "ok": true, "remoteEnabled", "servers": [{ "id", "layer",
"origin" }], "notice" }.

${exits('0 done · 3 the file cannot be read or written')}`,
  remove: `remove SERVER [--yes] [--json]

Take a server out of the file that its entry stands in; comments stay. You are
asked on a terminal, and told which file it is.

  --yes   do not ask; needed where nobody can be asked

Example
  mcp-supervisor remove files --yes

With --json: { "ok": true, "server", "layer", "file" }.

${exits('0 removed · 1 you said no · 2 nobody could be asked, and no --yes', '3 the file cannot be read or written · 4 no such server')}`,
  audit: `audit [--json]

Check the record of what was started, asked, answered, allowed and denied on
this computer, and show its newest 100 entries. It holds names and digests only:
no arguments, results or secrets. A line that was changed, removed or moved is
named; whoever can write to the folder could still write all of it anew.

Example
  mcp-supervisor audit

With --json: { "ok", "directory", "logs", "records", "newest", "problems",
"unfinished" }.

${exits('0 as it was written · 1 a part of it was changed', '3 it cannot be read')}`,
  example: `example [--once]

In a checkout: supervise the servers of examples/workspace and show what they do
until you press Ctrl-C. State goes to a folder that is gone afterwards.

  --once   print one round (status, search, describe, call) and end

Example, which also opens the gate that is shut
  mcp-supervisor example --trust --enable project
`,
};

function exits(...lines: readonly string[]): string {
  return `Exit codes\n${lines.map((line) => `  ${line}\n`).join('')}`;
}
