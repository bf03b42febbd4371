import t from 'tap';
import { butt, buttOpus } from '../kit/butt.js';
import { breakableProxy } from '../kit/encoder-proxy.js';
import { encoderStories } from '../kit/encoder-story.js';
import { keepLines, sourceChanges } from '../kit/log-lines.js';
import { freePorts } from '../kit/process.js';
import { missing } from '../kit/program.js';
import { DEMO_AUDIO, startServer } from '../kit/server.js';
import { until } from '../kit/until.js';

encoderStories([butt, buttOpus]);

t.test(
  'BUTT is back on air when its connection broke on its side only: it took 409 for good',
  { skip: missing(...butt.needs) },
  async (t) => {
    const server = await freePorts(2);
    const { log, lines } = keepLines();
    const yaml = `
addresses: [{ host: 127.0.0.1, port: ${server} }]
stations:
  demo:
    channels:
      air: { sources: [{ type: encoder, password: demo-source }, { type: file, path: ${DEMO_AUDIO} }] }
`;
    await startServer(t, yaml, undefined, log);
    const { port, cut } = await breakableProxy(t, server);
    const admitted = () => lines.filter(({ message }) => message === 'encoder connected').length;
    const isHeard = () => sourceChanges(lines).at(-1) === 'encoder';
    const program = await butt.start(t, { port, mount: '/air', password: 'demo-source', sound: '' });
    for (let times = 1; times <= 3; times++) {
      await program.until(() => admitted() === times && isHeard(), 30_000, `it is not on air, ${times}`);
      // So long that the mount has all that it waits for.
      const startMs = performance.now();
      await until(() => performance.now() - startMs > 3000, 10_000);
      cut();
    }
    await program.until(() => admitted() === 4 && isHeard(), 30_000, 'it is not on air again');
    t.notOk(
      lines.some(({ message }) => message === 'encoder refused'),
      'never refused',
    );
  },
);
