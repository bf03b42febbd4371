import t from 'tap';
import { loadConfig } from '../../src/config/load.js';
import { advice } from '../../src/setup/advice.js';
import { draftOf, readReach, readSources } from '../../src/setup/answers.js';
import { draftText } from '../../src/setup/draft-text.js';
import { secretOf } from '../../src/setup/made-secret.js';
import { equip, SERVICE_CONFIG } from '../../src/setup/service-defaults.js';

const made = (path: string, reach = '8000') => {
  const answers = {
    station: 'Wave',
    channels: [{ key: 'live', name: 'Live' }],
    reach: readReach(reach),
    sources: readSources('encoder', '/'),
  };
  const { draft, adminPassword } = equip(draftOf(answers, path), path);
  const config = loadConfig(path, {}, draftText(draft, 'Title', '/s.json', '/e.yaml'));
  return { draft, adminPassword, config };
};

t.test("the service's configuration has workers, so that an upgrade cuts nobody; another has not", async (t) => {
  const { config } = made(SERVICE_CONFIG);
  t.equal(config.workers, 'auto');
  t.ok(config.streams.hls.enabled);
  t.equal(config.data.folder, '/var/lib/airsplice');
  t.equal(made('/srv/airsplice.yaml').config.workers, 0);
  t.ok(made('/srv/airsplice.yaml').config.streams.hls.enabled);
});

t.test('a user of the admin interface, and where it is reached', async (t) => {
  const { draft, adminPassword, config } = made(SERVICE_CONFIG);
  t.equal(`sha256:${config.admin.users['admin']?.password?.sha256.toString('hex')}`, secretOf(adminPassword).option);
  t.strictSame(config.admin.users['admin']?.rights, ['read', 'titles', 'operate']);
  const service = advice(draft, SERVICE_CONFIG, adminPassword, true, 'airsplice');
  t.match(service, `manage  http://127.0.0.1:8000/admin on this machine, user admin, password ${adminPassword}\n`);
  t.match(service, '  start   systemctl restart airsplice\n');
  t.match(service, `  change  airsplice check --diff ${SERVICE_CONFIG} && systemctl reload airsplice\n`);

  const proxied = made('/srv/a.yaml', 'https://radio.example');
  t.match(proxied.config.addresses[1]?.roles, ['ops', 'admin']);
  t.notOk(proxied.config.addresses[0]?.roles?.includes('admin'), 'what the proxy leads to has no admin interface');
  const other = advice(proxied.draft, 'a.yaml', proxied.adminPassword, false, 'airsplice');
  t.match(other, /manage {2}http:\/\/127\.0\.0\.1:8002\/admin on this machine/);
  t.match(
    other,
    /start {3}airsplice start a\.yaml\n(.*\n)* {2}change {2}airsplice check --diff a\.yaml && airsplice reload a\.yaml\n/,
  );
  const inClone = advice(proxied.draft, 'a.yaml', proxied.adminPassword, false, 'node dist/main.js');
  t.equal(inClone, other.replace(/airsplice (?=start|check|reload)/g, 'node dist/main.js '), 'as it was run');
});
