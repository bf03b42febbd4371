/**
 * libshout as ezstream uses it, in its three ways at once: HTTP after its offer of TLS (libshout's default), HTTP at once, and
 * SHOUTcast v1 with its poke; each with the titles of its files, of which some are in no Latin-1.
 */

import { createHash } from 'node:crypto';
import t from 'tap';
import { ChannelProbe, PATIENT } from '../kit/channel-probe.js';
import { type EzstreamOptions, makeList, startEzstream } from '../kit/ezstream.js';
import { freePorts } from '../kit/process.js';
import { missing, probe } from '../kit/program.js';
import { DEMO_AUDIO, demoYaml, startServer } from '../kit/server.js';
import { Wire } from '../kit/wire.js';

const sha256 = (password: string) => createHash('sha256').update(password).digest('hex');
const channel = (name: string) => `
      ${name}:
        bitrateKbps: 128
        sources: [{ type: encoder, password: 'sha256:${sha256(`${name}-source`)}' }, { type: file, path: ${DEMO_AUDIO} }]`;
const FILES = [
  { artist: 'Björk', title: 'Jóga' },
  { artist: 'Dvořák', title: 'Rusalka: Měsíčku na nebi' },
];

t.test('ezstream', { skip: missing('ezstream', 'ffmpeg', 'ffprobe') }, async (t) => {
  const port = await freePorts(2);
  const server = await startServer(t, demoYaml(channel('plain') + channel('icy') + PATIENT, port));
  const list = makeList(t, FILES, 3);
  const ways: Record<string, EzstreamOptions> = {
    studio: { protocol: 'HTTP', tls: 'May', port, mount: '/studio', password: 'demo-source' },
    plain: { protocol: 'HTTP', tls: 'None', port, mount: '/plain', password: 'plain-source' },
    // No content type; the mount stands in the password, of the audio and of the titles (Liquidsoap's has none: liquidsoap.test.ts).
    icy: { protocol: 'ICY', tls: 'None', port, mount: '/x', password: '/icy:icy-source' },
  };
  const titles = FILES.map(({ artist, title }) => `${artist} - ${title}`);
  await Promise.all(
    Object.entries(ways).map(async ([name, options]) => {
      const channelProbe = new ChannelProbe(t, server, name);
      await channelProbe.hearsFile();
      let program = startEzstream(t, list, options);
      await channelProbe.hears(program);
      await channelProbe.reads(program, ...titles);
      await program.stop();
      await channelProbe.hearsFileAgain();
      program = startEzstream(t, list, options);
      await channelProbe.hears(program);
      await channelProbe.reads(program, titles[1]!);
      const { codec } = await probe(`${server.base}/${name}`);
      t.equal(codec, 'mp3');
      await program.stop('SIGINT');
      await channelProbe.hearsFileAgain();
      channelProbe.isUnharmed();
    }),
  );
});

// Found with the real one: its PUT came on the connection on which OPTIONS was answered, where the HTTP server refused it.
t.test("libshout's offer of TLS is answered, and ends the connection", async (t) => {
  const { port } = await startServer(t, demoYaml());
  const wire = new Wire(t, port).send(
    'OPTIONS * HTTP/1.1\r\nHost: x\r\nUser-Agent: libshout/2.4.6\r\nConnection: Upgrade\r\nUpgrade: TLS/1.0, HTTP/1.1\r\n\r\n',
  );
  const [answer] = await wire.take(1);
  t.equal(answer!.status, 204);
  t.equal(answer!.headers.get('connection'), 'close');
  t.match(answer!.headers.get('allow'), /\bPUT\b.*\bSOURCE\b/);
  await wire.untilClosed();
});
