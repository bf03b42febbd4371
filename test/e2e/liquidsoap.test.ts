/**
 * The real Liquidsoap in every way in which it can speak to us, all at once from one process: SOURCE over HTTP/1.0, PUT over HTTP/1.0
 * with Expect, PUT in chunks, SHOUTcast v1 at the next port; each with its own title updates, in UTF-8 and in Latin-1.
 */

import { createHash } from 'node:crypto';
import t from 'tap';
import { ChannelProbe, PATIENT } from '../kit/channel-probe.js';
import { startLiquidsoap } from '../kit/liquidsoap.js';
import { freePorts } from '../kit/process.js';
import { missing } from '../kit/program.js';
import { DEMO_AUDIO, demoYaml, startServer } from '../kit/server.js';

const sha256 = (name: string) => createHash('sha256').update(`${name}-source`).digest('hex');
const channel = (name: string) => `
      ${name}:
        bitrateKbps: 128
        sources: [{ type: encoder, password: 'sha256:${sha256(name)}' }, { type: file, path: ${DEMO_AUDIO} }]`;
const WAYS = ['put', 'chunked', 'latin', 'icy'];

t.test('liquidsoap', { skip: missing('liquidsoap') }, async (t) => {
  const port = await freePorts(2);
  const server = await startServer(t, demoYaml(WAYS.map(channel).join('') + PATIENT, port));
  const at = (name: string, password = `${name}-source`) =>
    `port=${port}, mount="${name}", name="Prögramm", password="${password}"`;
  const outputs = [
    at('studio', 'demo-source'),
    `${at('put')}, method="put"`,
    `${at('chunked')}, method="put", chunked=true`,
    `${at('latin')}, encoding="ISO-8859-1"`,
    `${at('icy')}, protocol="icy"`,
  ];
  const probes = ['studio', ...WAYS].map((name) => new ChannelProbe(t, server, name));
  const all = (each: (channelProbe: ChannelProbe) => Promise<void>) => Promise.all(probes.map(each));

  await all((channelProbe) => channelProbe.hearsFile());
  for (const titles of [['Hoppípolla', 'Ahora, ¡ahora! & 100 % más'], ["L'été; «ça va»"]]) {
    const startMs = performance.now();
    const spent = (what: string) => t.comment(`${what} after ${(performance.now() - startMs).toFixed(0)} ms`);
    const program = startLiquidsoap(
      t,
      outputs,
      titles.map((title, i) => ({ afterSeconds: 8 + 6 * i, artist: 'Sigur Rós', title })),
    );
    // The titles come by the program's own clock, and a poll gets only what is in force: it has to be looked at from the beginning.
    const read = all((channelProbe) => channelProbe.reads(program, ...titles.map((title) => `Sigur Rós - ${title}`)));
    await Promise.all([read, all((channelProbe) => channelProbe.hears(program)).then(() => spent('heard by all'))]);
    spent('all titles');
    await program.stop();
    await all((channelProbe) => channelProbe.hearsFileAgain());
    spent('gone');
  }
  for (const channelProbe of probes) channelProbe.isUnharmed();
});
