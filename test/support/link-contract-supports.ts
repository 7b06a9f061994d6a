import type { Column, Verdict } from './link-contract.js';

type Row = Readonly<Record<Column, Verdict>>;

/** The older line speaks only to servers that know the older era. */
const all: Row = {
  'client on legacy': 'yes',
  'client on dual': 'yes',
  'client on modern': 'yes',
  'sdk on legacy': 'yes',
  'sdk on dual': 'yes',
  'sdk on modern': 'ERA_NEGOTIATION_FAILED',
};

/** In the current era a server puts no questions: the server's own SDK refuses to. */
const askedOnly: Row = { ...all, 'client on dual': 'SERVER_ERROR', 'client on modern': 'SERVER_ERROR' };

/** The server is not one that could be of another era. */
const always: Row = { ...all, 'sdk on modern': 'yes' };

/** What each engine does on each kind of server, by the title of the case. A case without a row, or a row without one, fails. */
export const supports: Readonly<Record<string, Row>> = {
  'the handshake agrees on a revision, names the server and is made once': all,
  'a list is read page by page, with an empty cursor on the way (B085)': all,
  'a call gets the result of the server': all,
  'a result that reports an error of the tool is a result (B110)': all,
  'an error of the protocol fails its call with the words, the code and the data of the server': all,
  'a method the server does not know fails that call alone': all,
  'progress is told to the call it is about and to no other (B036)': all,
  '64 calls at once, answered in another order, each get their own result': all,
  'arguments and results of 900 KB go through whole': all,
  'every character comes back as it was sent (B027)': all,
  'a call that is cancelled reaches the server, which ends it, and its reply is never told (B039)': all,
  'a late answer to a call that was forgotten is told once to who watches, and counted (B044)': all,
  'a late answer that nobody watches for any more is counted and told to nobody': all,
  'answers by ids of nobody, of the SDK and of other calls hurt nobody and are counted (B032)': all,
  'an announced change of a list is told': all,
  'a ping of the server is answered': askedOnly,
  'roots, sampling and elicitation are not declared (S029)': all,
  'roots, sampling and elicitation are refused to a server that asks all the same (S029 S122)': askedOnly,
  'a probe of a server that is there succeeds': all,
  'closing settles once, tells no reply and no loss, and leaves nothing': all,
  'a closed link refuses a request before it returns, and every question after that': all,
  'closing in the middle of a handshake ends it, cancels no initialise, and leaves nothing': always,
  'a server that dies under open calls is told once, or each call is, and no reply comes after the loss (B018)': all,
  'a stream that breaks off under its call fails that call alone, and the link goes on': all,
  'the one stream of everything breaking off loses the link once, and its replies stay untold': all,
};
