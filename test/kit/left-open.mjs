/** Names what keeps a process from ending; of a timer, Node only reports that there is one. */

import { Session } from 'node:inspector';

const MAX_SOURCE_CHARACTERS = 200;

/**
 * @param open from `process.getActiveResourcesInfo`
 * @returns the same, with the callbacks of timers
 */
export function leftOpen(open) {
  return open.includes('Timeout') ? [...open.filter((name) => name !== 'Timeout'), ...timers()] : open;
}

function timers() {
  const session = new Session();
  session.connect();
  // In the same thread, the answer arrives before `post` returns.
  const ask = (method, params) => {
    let result;
    session.post(method, params, (error, answer) => {
      result = error ?? answer;
    });
    return result;
  };
  try {
    const own = setTimeout(() => undefined);
    globalThis.timerPrototype = Object.getPrototypeOf(own);
    clearTimeout(own);
    const { result: prototype } = ask('Runtime.evaluate', { expression: 'timerPrototype' });
    const { objects } = ask('Runtime.queryObjects', { prototypeObjectId: prototype.objectId });
    const { result } = ask('Runtime.callFunctionOn', {
      objectId: objects.objectId,
      functionDeclaration: `function () { return this.filter((one) => !one._destroyed && one.hasRef()).map(${said}); }`,
      returnByValue: true,
    });
    return result.value.map((text) => text.replace(/\s+/g, ' ').slice(0, MAX_SOURCE_CHARACTERS));
  } finally {
    session.disconnect();
  }
}

/** The inspector runs it, without access to this module. */
function said({ _onTimeout, _idleTimeout, _repeat }) {
  return `Timeout of ${_idleTimeout} ms${_repeat ? ', again and again' : ''}: ${_onTimeout}`;
}
