/** The page that `--help` prints. */
export const USAGE = `Usage: mcp-supervisor COMMAND [options]

Commands
  status               every server, its phase, and what keeps it from starting; starts nothing without --connect
  search QUERY         tools whose name, server or description has every word of QUERY
  describe NAME        one tool with its arguments; NAME is mcp__SERVER__TOOL, as search prints it
  call NAME [ARGS]     calls a tool; ARGS is a JSON object. Typing it approves this one call; a deny still blocks it
  test SERVER          connects one server and reports stage by stage
  explain NAME         why a server is not ready, or a tool not callable; starts nothing
  example [--once]     supervises the servers of examples/workspace in a checkout; --once prints a round and ends

Options
  --workspace DIR          the workspace; default: the current directory
  --user-config FILE       the user's mcp.json; default: $XDG_CONFIG_HOME/mcp-supervisor/mcp.json
  --state-dir DIR          where state is kept; default: $XDG_STATE_HOME/mcp-supervisor
  --trust                  trust the workspace, for this run
  --enable ID              switch a workspace server on, for this run; repeatable
  --approve FINGERPRINT    approve exactly what this fingerprint stands for, for this run; repeatable
  --connect                status: connect every server with open gates and wait until all are settled
  --json                   one JSON value on stdout
  --timeout MS             the longest wait; answering a question does not count
  --help, --version

On a terminal questions are asked; elsewhere they stay open unless --approve names their fingerprint.

Exit codes
  0 done · 1 the call failed or was blocked · 2 usage · 3 configuration rejected · 4 server not available
`;
